#include "kvplan/error.h"

#include <string>

namespace kvplan {

namespace {
constexpr std::size_t kLongestWhat = 800;  // whatever a message quotes, its remedy is still to be read
}

std::string one_line(std::string_view text, std::size_t max_length) {
  std::string out;
  out.reserve(text.size() < max_length ? text.size() : max_length);
  for (const char c : text) {
    if (out.size() >= max_length) {
      // No character is cut in two.
      const auto byte_at_end = [&] { return static_cast<unsigned char>(out.back()); };
      if ((static_cast<unsigned char>(c) & 0xc0U) == 0x80) {
        while (!out.empty() && (byte_at_end() & 0xc0U) == 0x80) out.pop_back();
        if (!out.empty() && byte_at_end() >= 0xc0) out.pop_back();
      }
      out += "...";
      break;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += byte < 0x20 || byte == 0x7f ? '?' : c;
  }
  return out;
}

Error::Error(Exit code, std::string_view what, std::string_view remedy, ErrorKind kind)
    : std::runtime_error(one_line(what, kLongestWhat) + "; " + std::string(remedy)), code_(code), kind_(kind) {}

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

void refuse(std::string_view what, std::string_view remedy) {
  throw Error(Exit::kBadInput, what, remedy, ErrorKind::kRefused);
}

void overflow(std::string_view what, std::string_view remedy) {
  throw Error(Exit::kBadInput, what, remedy, ErrorKind::kOverflow);
}

void take_as_misfit(const Error& error) {
  if (error.kind() == ErrorKind::kBadInput) throw error;  // NOLINT: the same error goes on
}

}  // namespace kvplan
