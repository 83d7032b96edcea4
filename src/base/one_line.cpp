// The one place where a string from a file, a name or a server becomes one that may be printed.
#include <algorithm>
#include <string>

#include "kvplan/characters.h"
#include "kvplan/error.h"
#include "kvplan/strings.h"

namespace kvplan {

namespace {

// A token of the Hub begins with these letters; 34 letters and digits follow.
constexpr std::string_view kTokenMark = "hf_";
constexpr std::size_t kLeastTokenLetters = 20;

// How many letters of a token follow here behind its mark; 0 where this is none.
std::size_t token_letters(std::string_view text) {
  if (!text.starts_with(kTokenMark)) return 0;
  text.remove_prefix(kTokenMark.size());
  const auto end = std::find_if_not(text.begin(), text.end(), is_letter_or_digit);
  const auto letters = static_cast<std::size_t>(end - text.begin());
  return letters >= kLeastTokenLetters ? letters : 0;
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
    // A token that stands in the place of something else is not repeated.
    if (const std::size_t letters = next.code == 'h' ? token_letters(text.substr(at)) : 0; letters > 0) {
      out += "hf_***";
      at += kTokenMark.size() + letters;
      continue;
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
