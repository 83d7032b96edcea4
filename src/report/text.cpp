#include "report/words.h"

#include <fmt/format.h>

#include <algorithm>

#include "kvplan/strings.h"

namespace kvplan {

static bool begins_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;  // otherwise it continues a UTF-8 character
}

std::string gib_number(Bytes bytes) {
  return fmt::format("{:.2f}", static_cast<double>(bytes.count()) / kGiB);
}

std::string gib(Bytes bytes) {
  return gib_number(bytes) + " GiB";
}

std::string human_bytes(Bytes bytes) {
  const auto count = static_cast<double>(bytes.count());
  if (bytes.count() < 100000) return grouped(bytes.count()) + " B";
  if (count < kMiB) return fmt::format("{:.1f} KiB", count / kKiB);
  if (count < kGiB) return fmt::format("{:.1f} MiB", count / kMiB);
  return gib(bytes);
}

std::string grouped(std::uint64_t n) {
  std::string digits = std::to_string(n);
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return digits;
}

std::string tokens_text(std::uint64_t tokens) {
  if (tokens >= (1U << 20) && tokens % (1U << 20) == 0) return std::to_string(tokens >> 20) + "M";
  if (tokens >= 1024 && tokens % 1024 == 0) return std::to_string(tokens >> 10) + "k";
  return grouped(tokens);
}

std::string plural(std::uint64_t n, std::string_view word) {
  return fmt::format("{} {}{}", grouped(n), word, n == 1 ? "" : "s");
}

std::string or_dash(std::string_view text) {
  return std::string(text.empty() ? "-" : text);
}

std::size_t first_characters(std::string_view text, std::size_t count) {
  std::size_t bytes = 0;
  while (bytes < text.size() && (!begins_character(text[bytes]) || count-- > 0)) ++bytes;
  return bytes;
}

std::size_t text_width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_character));
}

std::string end_of(std::string_view text, std::size_t width) {
  if (text_width(text) <= width || width < 8) return std::string(text);
  return "..." + std::string(text.substr(first_characters(text, text_width(text) - (width - 3))));
}

// Characters with a meaning for a terminal or a CI runner are written by number in $'...' quotes, which bash, zsh and
// ksh read. File names may contain such characters.
static bool must_be_escaped(std::string_view word) {
  for (std::size_t at = 0; at < word.size();) {
    const Character next = character_at(word, at);
    if (next.bytes == 0 || is_hidden(next.code)) return true;
    at += next.bytes;
  }
  return word.find("##[") != std::string_view::npos;
}

std::string shell_word(const std::string& word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,@%+";
  // In zsh "=name" is the path of a program.
  if (!word.empty() && word.front() != '=' && word.find_first_not_of(kPlain) == std::string::npos) return word;
  if (must_be_escaped(word)) {
    std::string out = "$'";
    for (const char c : word) {
      const auto byte = static_cast<unsigned char>(c);
      out += byte < 0x20 || byte >= 0x7F || c == '#' ? fmt::format("\\x{:02x}", byte)
             : c == '\'' || c == '\\'                ? std::string("\\") + c
                                                     : std::string(1, c);
    }
    return out + "'";
  }
  return "'" + replaced(word, {{'\'', "'\\''"}}) + "'";
}

}  // namespace kvplan
