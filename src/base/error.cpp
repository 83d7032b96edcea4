#include "kvplan/error.h"

#include <string>

#include "kvplan/strings.h"

namespace kvplan {

// The only place where a string from a file, a name or a server is made printable.
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
    // If a Hub token was given where something else belongs, it is not printed.
    if (const std::size_t token = next.code == 'h' ? token_bytes(text.substr(at)) : 0; token > 0) {
      out += kHiddenToken;
      at += token;
      continue;
    }
    // A CI runner treats "##[" anywhere, and "::" at the start of a line, as commands. Three colons never follow each
    // other: if a line wrapped between them, the next line would begin with two.
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

constexpr std::size_t kLongestWhat = 800;  // leaves space for the remedy, whatever the message quotes

Error::Error(Exit code, std::string_view what, std::string_view remedy, ErrorKind kind)
    : std::runtime_error(one_line(what, kLongestWhat) + (remedy.empty() ? "" : "; ") + std::string(remedy)),
      code_(code),
      kind_(kind) {}

void Error::set_source(std::string_view source) {
  if (source_.empty()) source_ = source;
}

std::string Error::line() const {
  std::string out = "kvplan: ";
  if (!source_.empty()) out += one_line(source_, 300) + ": ";
  return out + one_line(what(), 1500);
}

void fail(std::string_view what, std::string_view remedy) {
  throw Error(Exit::kBadInput, what, remedy);
}

void fail(Exit code, std::string_view what, std::string_view remedy) {
  throw Error(code, what, remedy);
}

void fail_in(std::string_view source, Exit code, std::string_view what, std::string_view remedy) {
  Error error(code, what, remedy);
  error.set_source(source);
  throw error;
}

void usage_error(std::string_view what, std::string_view remedy) {
  fail_in("command line", Exit::kBadInput, what, remedy);
}

void refuse(std::string_view what, std::string_view remedy) {
  throw Error(Exit::kBadInput, what, remedy, ErrorKind::kRefused);
}

void overflow(std::string_view what, std::string_view remedy) {
  throw Error(Exit::kBadInput, what, remedy, ErrorKind::kOverflow);
}

void take_as_misfit(const Error& error) {
  if (error.kind() == ErrorKind::kBadInput) throw error;  // NOLINT: rethrows the same error
}

}  // namespace kvplan
