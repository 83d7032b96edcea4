// Errors that a user can act on: what is wrong, what to do, and an exit code for the kind of error. There is one type,
// thrown where the error is found and caught in main.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace kvplan {

// The process's exit codes (part of the command-line contract).
enum class Exit {
  kAnswered = 0,             // answered; if a GPU or a limit was given, it fits
  kDoesNotFit = 1,           // answered: it does not fit, exceeds a limit, or a measurement disagrees
  kBadInput = 2,             // bad usage, or an input that cannot be read or is not valid
  kUnknownArchitecture = 3,  // needs --assume; or a log that shows neither a start nor a failure
  kHub = 4,                  // the Hub could not be reached, or refused
  kNoDevice = 5,             // there is no device to measure on
};

// The kind of error. A search treats the first two as "does not fit", but not the last.
enum class ErrorKind : std::uint8_t {
  kOverflow,  // a figure that does not fit in 64 bits
  kRefused,   // the engine refuses this model or request
  kBadInput,  // anything else
};

class Error : public std::runtime_error {
 public:
  // `what`: the finding, naming the key or option; `remedy`: what to do about it.
  Error(Exit code, std::string_view what, std::string_view remedy, ErrorKind kind = ErrorKind::kBadInput);

  Exit code() const { return code_; }
  ErrorKind kind() const { return kind_; }
  // The file, model or option that the error is about; empty until a caller that knows it sets it.
  const std::string& source() const { return source_; }
  // Names the source, unless an inner frame has named one.
  void set_source(std::string_view source);
  // "kvplan: SOURCE: what; what to do", one line without control characters.
  std::string line() const;

 private:
  Exit code_;
  ErrorKind kind_;
  std::string source_;
};

// Functions that throw, so that call sites stay short.
[[noreturn]] void fail(std::string_view what, std::string_view remedy);  // Exit::kBadInput
[[noreturn]] void fail(Exit code, std::string_view what, std::string_view remedy);
[[noreturn]] void usage_error(std::string_view what, std::string_view remedy);  // of the command line
[[noreturn]] void refuse(std::string_view what, std::string_view remedy);       // ErrorKind::kRefused
[[noreturn]] void overflow(std::string_view what, std::string_view remedy);     // ErrorKind::kOverflow

// For a search: returns if the error means that a request is impossible, and rethrows it if the input is bad.
void take_as_misfit(const Error& error);

// The result of `work`; false or nothing if the request is impossible.
template <class Work>
auto unless_misfit(const Work& work) -> decltype(work()) {
  try {
    return work();
  } catch (const Error& error) {
    take_as_misfit(error);
    return {};
  }
}

[[noreturn]] void fail_in(std::string_view source, Exit code, std::string_view what, std::string_view remedy);

// Returns the result of `work`. If it throws an error without a source, the error gets `source`.
template <class Work>
auto with_source(std::string_view source, const Work& work) {
  try {
    return work();
  } catch (Error& error) {
    error.set_source(source);
    throw;
  }
}

// Text from outside, made safe for one terminal line: control bytes become '?', and long text is cut.
std::string one_line(std::string_view text, std::size_t max_length = 400);

}  // namespace kvplan
