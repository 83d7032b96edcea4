#include "kvplan/quantity.h"

#include <cmath>
#include <cstdio>

namespace kvplan {

static std::string with_unit(double value, int digits, const char* unit) {
  char text[48];
  std::snprintf(text, sizeof text, "%.*f %s", digits, value, unit);
  return text;
}

std::string format_gib(Bytes bytes) {
  return with_unit(static_cast<double>(bytes.count()) / kGiB, 2, "GiB");
}

std::string format_bytes(Bytes bytes) {
  const auto count = static_cast<double>(bytes.count());
  if (count < kKiB) return counted(bytes.count(), "byte");
  if (count < kMiB) return with_unit(count / kKiB, 1, "KiB");
  return count < kGiB ? with_unit(count / kMiB, 1, "MiB") : format_gib(bytes);
}

std::string format_bytes_up(Bytes bytes) {
  const auto count = static_cast<double>(bytes.count());
  return count < kGiB ? with_unit(std::ceil(count / kMiB * 10) / 10, 1, "MiB")
                      : with_unit(std::ceil(count / kGiB * 100) / 100, 2, "GiB");
}

std::string counted(std::uint64_t n, std::string_view word) {
  return std::to_string(n) + " " + std::string(word) + (n == 1 ? "" : "s");
}

}  // namespace kvplan
