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
  std::string_view rest = text;
  rest.remove_prefix(1);
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

constexpr std::array<bool, 256> kBeginsEscape = [] {
  std::array<bool, 256> out{};
  for (const char c : std::string_view("\\%&")) out[static_cast<unsigned char>(c)] = true;
  return out;
}();

std::size_t next_escape(std::string_view text, std::size_t at) {
  while (at < text.size() && !kBeginsEscape[static_cast<unsigned char>(text[at])]) ++at;
  return at;
}

std::string unescaped(std::string_view text) {
  std::string out(text.size(), '\0');
  std::size_t size = 0;
  while (!text.empty()) {
    const char c = text.front();
    const auto letter = kBeginsEscape[static_cast<unsigned char>(c)] ? take_escape(text) : std::nullopt;
    if (!letter) text.remove_prefix(1);
    out[size++] = letter.value_or(c);
  }
  out.resize(size);
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

// The first letters of a word, as a number. Words are longer.
std::uint64_t beginning_of(std::string_view word) {
  std::uint64_t out = 0;
  for (const char c : word.substr(0, kLeastFolded)) out = out << 8 | static_cast<unsigned char>(c);
  return out;
}

bool goes_on(std::string_view text, std::string_view word, const Letters& letters) {
  for (const char c : text) {
    if (word.empty()) return true;
    const char letter = letters[static_cast<unsigned char>(c)];
    if (letter == '\0') continue;
    if (letter != word.front()) return false;
    word.remove_prefix(1);
  }
  return word.empty();
}

// Whether one of the words is in the text, where only letters count. One pass: a server may send a text of which every
// second letter begins a word.
bool holds_one_of(std::string_view text, const std::vector<std::string>& words, const Letters& letters) {
  constexpr std::size_t kMostWords = 3;
  std::array<std::uint64_t, kMostWords> beginnings{};  // 0 is none: it has no letter
  for (std::size_t i = 0; i < words.size() && i < kMostWords; ++i) beginnings[i] = beginning_of(words[i]);
  std::uint64_t last = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char letter = letters[static_cast<unsigned char>(text[at])];
    if (letter == '\0') continue;
    last = last << 8 | static_cast<unsigned char>(letter);
    if (last != beginnings[0] && last != beginnings[1] && last != beginnings[2]) continue;
    for (std::size_t i = 0; i < words.size(); ++i)
      if (last == beginnings[i] &&
          goes_on(text.substr(at + 1), std::string_view(words[i]).substr(kLeastFolded), letters))
        return true;
  }
  return false;
}

}  // namespace

TokenEcho::TokenEcho(const std::string& token) : token_(token) {
  const std::string letters = letters_of(token, kFolded);
  if (letters.size() < kLeastFolded) return;
  folded_ = {letters, hexadecimal(token)};
  for (std::size_t shift = 0; shift < 3; ++shift) base64_.push_back(base64_core(token, shift));
}

bool TokenEcho::is_spelled_in(std::string_view text) const {
  return holds_one_of(text, folded_, kFolded) || holds_one_of(text, base64_, kBase64Letters);
}

bool TokenEcho::is_escaped_in(std::string_view text) const {
  std::string layer;
  for (int i = 0; i < kMostLayers; ++i) {
    if (next_escape(text, 0) == text.size()) return false;
    std::string next = unescaped(text);
    if (next.size() == text.size()) return false;  // no escape was replaced: each is longer than its character
    layer = std::move(next);
    text = layer;
    if (is_spelled_in(text)) return true;
  }
  return false;
}

bool TokenEcho::is_in(std::string_view text) const {
  if (token_.empty()) return false;
  if (folded_.empty()) return text.find(token_) != std::string_view::npos;
  if (is_spelled_in(text)) return true;
  const std::size_t overlap = token_.size() * kLongestLetter;
  for (std::size_t at = 0; at < text.size(); at += kWindow)
    if (is_escaped_in(text.substr(at, kWindow + overlap))) return true;
  return false;
}

}  // namespace kvplan
