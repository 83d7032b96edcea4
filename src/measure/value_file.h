// Files of /proc and /sys that hold one value. A file that cannot be read gives nothing: no caller depends on it.
#pragma once

#include <cstdint>
#include <fstream>
#include <optional>
#include <string>

#include "kvplan/numbers.h"

namespace kvplan {

inline std::string first_line(const std::string& path) {
  std::string line;
  std::ifstream file(path);
  std::getline(file, line);
  return line;
}

// "max" in a control group is not a number.
inline std::optional<std::uint64_t> number_in(const std::string& path) {
  return whole_number(first_line(path));
}

}  // namespace kvplan
