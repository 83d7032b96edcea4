#include "sources/token_echo.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

namespace kvplan {

namespace {

// A shorter token is only compared as it is: its letters may occur in any text.
constexpr std::size_t kLeastFolded = 8;
// The text is searched in overlapping pieces, so that the copies stay small; a token written with escapes fits in the
// overlap.
constexpr std::size_t kWindow = std::size_t{1} << 20;
constexpr std::size_t kLongestLetter = 24;
constexpr int kMostLayers = 3;
constexpr std::string_view kEscapes = "\\%&";
constexpr std::string_view kBase64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::optional<unsigned> digit_of(char c, unsigned base) {
  const unsigned value = c >= '0' && c <= '9'   ? static_cast<unsigned>(c - '0')
                         : c >= 'a' && c <= 'f' ? static_cast<unsigned>(c - 'a') + 10
                         : c >= 'A' && c <= 'F' ? static_cast<unsigned>(c - 'A') + 10
                                                : 16;
  return value < base ? std::optional(value) : std::nullopt;
}

// Takes the character that at most `most` digits at the front of `text` stand for. Only ASCII, as in a token.
std::optional<char> take_number(std::string_view& text, std::size_t least, std::size_t most, unsigned base) {
  std::uint64_t value = 0;
  std::size_t length = 0;
  for (; length < std::min(most, text.size()); ++length) {
    const auto digit = digit_of(text[length], base);
    if (!digit) break;
    value = std::min<std::uint64_t>(value * base + *digit, 0x80);
  }
  if (length < least || value >= 0x80) return std::nullopt;
  text.remove_prefix(length);
  return static_cast<char>(value);
}

// Takes the character of an escape at the front of `text`: \u0068 \x68 \150 \/ %68 &#104; &#x68;
std::optional<char> take_escape(std::string_view& text) {
  std::string_view rest = text.substr(1);
  std::optional<char> out;
  if (text.front() == '%') {
    out = take_number(rest, 2, 2, 16);
  } else if (text.front() == '&') {
    if (!rest.starts_with('#')) return std::nullopt;
    rest.remove_prefix(1);
    const bool is_hexadecimal = rest.starts_with('x') || rest.starts_with('X');
    if (is_hexadecimal) rest.remove_prefix(1);
    out = take_number(rest, 1, 7, is_hexadecimal ? 16 : 10);
    if (rest.starts_with(';')) rest.remove_prefix(1);
  } else if (text.front() == '\\' && !rest.empty()) {
    const char kind = rest.front();
    if (kind == 'u' || kind == 'x' || kind == 'U') {
      rest.remove_prefix(1);
      const std::size_t digits = kind == 'u' ? 4 : kind == 'x' ? 2 : 8;
      out = take_number(rest, digits, digits, 16);
    } else if (digit_of(kind, 8)) {
      out = take_number(rest, 1, 3, 8);
    } else {
      out = kind;
      rest.remove_prefix(1);
    }
  }
  if (out) text = rest;
  return out;
}

bool may_hold_escapes(std::string_view text) {
  return std::any_of(kEscapes.begin(), kEscapes.end(), [&](char c) { return text.find(c) != std::string_view::npos; });
}

std::string unescaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const char c = text.front();
    const auto letter = kEscapes.find(c) != std::string_view::npos ? take_escape(text) : std::nullopt;
    if (!letter) text.remove_prefix(1);
    out += letter.value_or(c);
  }
  return out;
}

// The base64 letters that depend only on these bytes, where these are `shift` bytes after the start of a group.
std::string base64_core(std::string_view bytes, std::size_t shift) {
  std::string out;
  const std::size_t bits = bytes.size() * 8;
  for (std::size_t bit = (6 - shift * 8 % 6) % 6; bit + 6 <= bits; bit += 6) {
    const auto byte = [&](std::size_t i) {
      return i < bytes.size() ? static_cast<unsigned>(static_cast<unsigned char>(bytes[i])) : 0U;
    };
    const unsigned pair = byte(bit / 8) << 8 | byte(bit / 8 + 1);
    out += kBase64[pair >> (10 - bit % 8) & 0x3F];
  }
  return out;
}

// Maps each byte; to 0 where it is left out.
using Letters = std::array<char, 256>;

// Letters and digits only, in lower case.
constexpr Letters kFolded = [] {
  Letters out{};
  for (const char c : kBase64.substr(0, 62)) out[static_cast<unsigned char>(c)] = c;
  for (char c = 'A'; c <= 'Z'; ++c) out[static_cast<unsigned char>(c)] = static_cast<char>(c - 'A' + 'a');
  return out;
}();

// The letters of base64 in the usual alphabet, whichever alphabet the text uses.
constexpr Letters kBase64Letters = [] {
  Letters out{};
  for (const char c : kBase64) out[static_cast<unsigned char>(c)] = c;
  out['-'] = '+';
  out['_'] = '/';
  return out;
}();

std::string letters_of(std::string_view text, const Letters& letters) {
  std::string out(text.size(), '\0');
  std::size_t size = 0;
  for (const char c : text) {
    out[size] = letters[static_cast<unsigned char>(c)];
    if (out[size] != '\0') ++size;
  }
  out.resize(size);
  return out;
}

std::string hexadecimal(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    out += kDigits[static_cast<unsigned char>(c) >> 4];
    out += kDigits[static_cast<unsigned char>(c) & 0xF];
  }
  return out;
}

bool holds_one_of(const std::string& text, const std::vector<std::string>& parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](const std::string& part) { return text.find(part) != std::string::npos; });
}

}  // namespace

TokenEcho::TokenEcho(const std::string& token) : token_(token) {
  const std::string letters = letters_of(token, kFolded);
  if (letters.size() < kLeastFolded) return;
  folded_ = {letters, hexadecimal(token)};
  for (std::size_t shift = 0; shift < 3; ++shift) base64_.push_back(base64_core(token, shift));
}

bool TokenEcho::is_in_window(std::string_view text) const {
  std::string layer(text);
  for (int i = 0;; ++i) {
    if (holds_one_of(letters_of(layer, kFolded), folded_) || holds_one_of(letters_of(layer, kBase64Letters), base64_))
      return true;
    if (i == kMostLayers || !may_hold_escapes(layer)) return false;
    std::string next = unescaped(layer);
    if (next.size() == layer.size()) return false;  // no escape was replaced: each is longer than its character
    layer = std::move(next);
  }
}

bool TokenEcho::is_in(std::string_view text) const {
  if (token_.empty()) return false;
  if (text.find(token_) != std::string_view::npos) return true;
  if (folded_.empty()) return false;
  const std::size_t overlap = token_.size() * kLongestLetter;
  for (std::size_t at = 0; at < text.size(); at += kWindow)
    if (is_in_window(text.substr(at, kWindow + overlap))) return true;
  return false;
}

}  // namespace kvplan
