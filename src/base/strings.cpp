#include "kvplan/strings.h"

#include <algorithm>

#ifndef __cpp_lib_to_chars
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <string>
#endif

namespace kvplan {

// Not std::tolower, which depends on the locale.
static char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (end > 0) out.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::vector<std::string_view> parts_of(std::string_view text, char separator) {
  std::vector<std::string_view> out;
  for (std::size_t end = text.find(separator); end != std::string_view::npos; end = text.find(separator)) {
    out.push_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  out.push_back(text);
  return out;
}

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\v\f";
  const auto first = text.find_first_not_of(kSpace);
  return first == std::string_view::npos ? "" : text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

bool has_word(std::string_view words, std::string_view word) {
  if (word.empty() || word.find(' ') != std::string_view::npos) return false;
  for (std::size_t at = words.find(word); at != std::string_view::npos; at = words.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || words[at - 1] == ' ') && (end == words.size() || words[end] == ' ')) return true;
  }
  return false;
}

std::vector<SectionRow> section_rows(std::span<const std::string_view> lines) {
  std::vector<SectionRow> out;
  SectionRow row;
  for (const std::string_view line : lines) {
    const std::size_t indent = line.find_first_not_of(' ');
    if (indent == std::string_view::npos || line.front() == '#') continue;
    row.text = "";
    if (line.front() == '[') {
      row.section = line.substr(1, line.find(']') - 1);
      row.word = "";
      continue;
    }
    if (indent == 0)
      row.word = line;
    else
      row.text = line.substr(indent);
    row.belongs = indent > 2;
    out.push_back(row);
  }
  return out;
}

std::string_view nth_word(std::size_t n, std::string_view words, char separator) {
  for (; n > 0 && !words.empty(); --n) words.remove_prefix(std::min(words.find(separator), words.size() - 1) + 1);
  return words.substr(0, words.find(separator));
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = lower(c);
  return out;
}

std::string folded(std::string_view text) {
  std::string out = lower(text);
  std::erase_if(out, [](char c) { return !is_letter_or_digit(c); });
  return out;
}

std::string replaced(std::string_view text, std::initializer_list<std::pair<char, std::string_view>> replacements) {
  std::string out;
  for (const char c : text) {
    const auto found = std::find_if(replacements.begin(), replacements.end(),
                                    [&](const auto& replacement) { return replacement.first == c; });
    found == replacements.end() ? out += c : out += found->second;
  }
  return out;
}

std::optional<std::uint64_t> whole_number(std::string_view text, int base) {
  std::uint64_t out = 0;
  const auto [after, error] = std::from_chars(text.data(), text.data() + text.size(), out, base);
  return error == std::errc() ? std::optional(out) : std::nullopt;
}

std::from_chars_result parse_real(std::string_view text, double& value, std::chars_format format) {
  constexpr std::string_view kDigits = "0123456789.";
  const std::string_view unsigned_text = text.substr(text.starts_with('-') ? 1 : 0);
  if (unsigned_text.empty() || kDigits.find(unsigned_text.front()) == std::string_view::npos)
    return {text.data(), std::errc::invalid_argument};
#ifdef __cpp_lib_to_chars
  return std::from_chars(text.data(), text.data() + text.size(), value, format);
#else
  // libc++ 14 has no std::from_chars for doubles. std::strtod also reads hexadecimal and needs a terminated string, so
  // it gets a copy of the characters that a decimal number may have. The program sets no locale, so the decimal
  // separator is a point.
  const char* const letters = format == std::chars_format::fixed ? "-.0123456789" : "-+.eE0123456789";
  const std::string number(text.substr(0, text.find_first_not_of(letters)));
  char* end = nullptr;
  errno = 0;
  const double read = std::strtod(number.c_str(), &end);
  const char* const after = text.data() + (end - number.c_str());
  if (after == text.data()) return {after, std::errc::invalid_argument};
  if (errno == ERANGE && (read == 0 || std::isinf(read))) return {after, std::errc::result_out_of_range};
  value = read;
  return {after, std::errc()};
#endif
}

}  // namespace kvplan
