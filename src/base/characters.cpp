
#include <algorithm>
#include <array>
#include <cstdio>

#include "kvplan/strings.h"

namespace kvplan {

Character character_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  if (first < 0x80) return {first, 1};
  const std::size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || at + bytes > text.size()) return {};
  char32_t code = first & (0x7FU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(at + i) & 0xC0U) != 0x80U) return {};
    code = code << 6 | (byte(at + i) & 0x3FU);
  }
  const char32_t least = bytes == 4 ? 0x10000 : bytes == 3 ? 0x800 : 0x80;
  const bool is_surrogate = code >= 0xD800 && code <= 0xDFFF;
  return code < least || code > 0x10FFFF || is_surrogate ? Character{} : Character{code, bytes};
}

void append_utf8(char32_t code, std::string& out) {
  const unsigned tails = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  constexpr unsigned kFirst[] = {0, 0xC0, 0xE0, 0xF0};
  out += static_cast<char>(kFirst[tails] | (code >> (6 * tails)));
  for (unsigned tail = tails; tail > 0; --tail) out += static_cast<char>(0x80U | ((code >> (6 * (tail - 1))) & 0x3FU));
}

bool is_hidden(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c <= 0x9F) || c == 0x61C || (c >= 0x200B && c <= 0x200F) ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF || (c >= 0xE0000 && c <= 0xE007F);
}

std::size_t token_bytes(std::string_view text) {
  // A token begins with these letters; 34 letters and digits follow.
  constexpr std::string_view kMark = "hf_";
  constexpr std::size_t kLeastLetters = 20;
  if (!text.starts_with(kMark)) return 0;
  const auto end = std::find_if_not(text.begin() + kMark.size(), text.end(), is_letter_or_digit);
  const auto bytes = static_cast<std::size_t>(end - text.begin());
  return bytes >= kMark.size() + kLeastLetters ? bytes : 0;
}

// Appends the character at `at` of a JSON string, escaped if it is hidden; returns its length in bytes.
static std::size_t add_character(std::string& out, std::string_view text, std::size_t at) {
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
  constexpr char32_t kLastOfFourDigits = 0xFFFF;
  const Character next = character_at(text, at);
  if (next.bytes == 0 || (is_hidden(next.code) && next.code > kLastOfFourDigits)) {
    out += kReplacement;
  } else if (is_hidden(next.code)) {
    std::array<char, 8> escape{};
    std::snprintf(escape.data(), escape.size(), "\\u%04x", static_cast<unsigned>(next.code));
    out += escape.data();
  } else {
    // "##[" is a command to a CI runner at any position.
    out += next.code == '[' && out.ends_with("##") ? "\\u005b" : text.substr(at, next.bytes);
  }
  return next.bytes == 0 ? 1 : next.bytes;
}

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '"' || text[at] == '\\') out += '\\';
    at += add_character(out, text, at);
  }
  return out + "\"";
}

std::string printable_json(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (std::size_t at = 0; at < json.size();) {
    const char c = json[at];
    if (const std::size_t token = c == 'h' ? token_bytes(json.substr(at)) : 0; token > 0) {
      out += kHiddenToken;
      at += token;
    } else if (c == '\n' || (c >= ' ' && c < '\x7f' && c != '[')) {
      out += json[at++];
    } else {
      at += add_character(out, json, at);
    }
  }
  return out;
}

}  // namespace kvplan
