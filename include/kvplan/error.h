// Errors that a user can act on: what is wrong and what to do, with the exit code that says which sort it is.
// One type, thrown where the trouble is seen and caught once, in main.
#ifndef KVPLAN_ERROR_H_
#define KVPLAN_ERROR_H_

#include <stdexcept>
#include <string>
#include <string_view>

namespace kvplan {

// The process's exit codes (part of the command-line contract).
enum class Exit {
  kAnswered = 0,             // answered; it fits where a GPU or a limit was given
  kDoesNotFit = 1,           // answered: does not fit, breaks a limit, or a measurement disagrees
  kBadInput = 2,             // bad usage, or an input that cannot be read or is not valid
  kUnknownArchitecture = 3,  // needs --assume
  kHub = 4,                  // the Hub could not be reached, or refused
  kNoDevice = 5,             // nothing to measure on
};

class Error : public std::runtime_error {
 public:
  // `what`: the finding, naming the key or option; `remedy`: what to do about it.
  Error(Exit code, std::string_view what, std::string_view remedy);

  Exit code() const { return code_; }
  // The file, model or option the error is about; empty until somebody who knows it says so.
  const std::string& source() const { return source_; }
  // Names the source unless an inner frame already did.
  void set_source(std::string_view source);
  // "kvplan: SOURCE: what; what to do", one line without control characters.
  std::string line() const;

 private:
  Exit code_;
  std::string source_;
};

// Throw out of line: the call sites stay small.
[[noreturn]] void fail(std::string_view what, std::string_view remedy);  // Exit::kBadInput
[[noreturn]] void fail(Exit code, std::string_view what, std::string_view remedy);

// Text from outside made fit for one terminal line: control bytes become '?', long text is cut.
std::string one_line(std::string_view text, std::size_t max_length = 400);

}  // namespace kvplan

#endif  // KVPLAN_ERROR_H_
