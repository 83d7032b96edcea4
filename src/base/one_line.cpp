// The one place where a string from a file, a name or a server becomes one that may be printed.
#include <cstdint>
#include <string>

#include "kvplan/error.h"

namespace kvplan {

namespace {

struct Character {
  char32_t code = 0;
  std::size_t bytes = 0;  // 0: no valid UTF-8 begins here
};

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

// Controls, and what changes the order or the look of the text beside it.
bool is_hidden(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c <= 0x9F) || c == 0x61C || (c >= 0x200B && c <= 0x200F) ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF || (c >= 0xE0000 && c <= 0xE007F);
}

}  // namespace

std::string one_line(std::string_view text, std::size_t max_length) {
  std::string out;
  out.reserve(text.size() < max_length ? text.size() : max_length);
  for (std::size_t at = 0; at < text.size();) {
    const Character next = character_at(text, at);
    const std::size_t bytes = next.bytes == 0 ? 1 : next.bytes;
    if (out.size() + bytes > max_length) {
      out += "...";
      break;
    }
    // A workflow's runner takes "##[" anywhere and "::" at the start of a line for commands; a line may be wrapped.
    if (next.code == '[' && out.ends_with("##")) out += ' ';
    if (next.code == ':' && (out == ":" || out.ends_with(" :"))) out += ' ';
    if (next.bytes == 0 || is_hidden(next.code))
      out += '?';
    else
      out += text.substr(at, bytes);
    at += bytes;
  }
  return out;
}

}  // namespace kvplan
