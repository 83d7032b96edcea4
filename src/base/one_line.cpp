// The one place where a string from a file, a name or a server becomes printable.
#include <string>

#include "kvplan/characters.h"
#include "kvplan/error.h"

namespace kvplan {

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
    // A Hub token that was given in place of something else is not printed.
    if (const std::size_t token = next.code == 'h' ? token_bytes(text.substr(at)) : 0; token > 0) {
      out += kHiddenToken;
      at += token;
      continue;
    }
    // A CI runner takes "##[" anywhere and "::" at the start of a line for commands. Three colons never follow each
    // other: if a line wraps between them, the next line must not begin with two.
    if (next.code == '[' && out.ends_with("##")) out += ' ';
    if (next.code == ':' && (out == ":" || out.ends_with(" :") || out.ends_with("::"))) out += ' ';
    if (next.bytes == 0 || is_hidden(next.code))
      out += '?';
    else
      out += text.substr(at, bytes);
    at += bytes;
  }
  return out;
}

}  // namespace kvplan
