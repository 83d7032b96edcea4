#include "kvplan/error.h"

#include <string>

namespace kvplan {

namespace {
constexpr std::size_t kLongestWhat = 800;  // so that the remedy still gets printed, whatever a message quotes
}

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

void usage_error(std::string_view what, std::string_view remedy) {
  Error error(Exit::kBadInput, what, remedy);
  error.set_source("command line");
  throw error;
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
