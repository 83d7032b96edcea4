// What the tests of limits share.
#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <string>

#include "kvplan/error.h"
#include "support/words.h"

namespace kvplan {

inline std::string error_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    CHECK(error.code() == Exit::kBadInput);
    return error.what();
  }
  return "";
}

inline std::string repeated(const std::string& unit, std::size_t count, const std::string& between = ",") {
  std::string out;
  out.reserve((unit.size() + between.size()) * count);
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) out += between;
    out += unit;
  }
  return out;
}

}  // namespace kvplan
