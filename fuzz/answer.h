// What every fuzzer of a reader tests: the result is an answer, or an Error of one line.
#pragma once

#include <string>

#include "kvplan/error.h"

namespace kvplan::fuzz {

// Errors are answers. Any other exception ends the fuzzer.
template <class Function>
void answer(const Function& function) {
  try {
    function();
  } catch (const Error& error) {
    const std::string line = error.line();
    if (line.find('\n') != std::string::npos || !line.starts_with("kvplan: ")) __builtin_trap();
  }
}

}  // namespace kvplan::fuzz
