// What tests of command lines share.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "support/program.h"
#include "support/words.h"

namespace kvplan {

inline const std::string kLlamaConfig = "testdata/configs/llama-3.1-8b.json";

// One line on standard error, with `part` in it, and nothing on standard output.
inline void check_refused(const Run& run, const std::string& part) {
  CAPTURE(run.err);
  CAPTURE(part);
  CHECK(run.exit == 2);
  CHECK(run.out.empty());
  CHECK(run.err.starts_with("kvplan: "));
  CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
  CHECK(has(run.err, part));
}
inline void check_refuses(const Words& arguments, const std::string& part) {
  check_refused(run_program(arguments), part);
}

}  // namespace kvplan
