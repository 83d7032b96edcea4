// What every fuzzer of a reader asks: an answer, or an Error of one line.
#pragma once

#include <string>

#include "kvplan/error.h"

namespace kvplan::fuzz {

// Errors are answers; whatever else is thrown ends the fuzzer.
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
