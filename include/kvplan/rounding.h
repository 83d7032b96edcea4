// Rounding and whole powers of numbers that are not negative. They need no libm: a process starts a tenth sooner where
// that library need not be loaded.
#ifndef KVPLAN_ROUNDING_H_
#define KVPLAN_ROUNDING_H_

#include <cstdint>

namespace kvplan {

constexpr std::uint64_t rounded_down(double value) {
  return static_cast<std::uint64_t>(value);
}

constexpr std::uint64_t rounded_up(double value) {
  const std::uint64_t whole = rounded_down(value);
  return static_cast<double>(whole) < value ? whole + 1 : whole;
}

constexpr std::uint64_t rounded(double value) {
  const std::uint64_t whole = rounded_down(value);
  return value - static_cast<double>(whole) >= 0.5 ? whole + 1 : whole;
}

// By squaring.
constexpr double power(double base, std::uint64_t exponent) {
  double out = 1;
  for (; exponent > 0; exponent /= 2, base *= base)
    if (exponent % 2 == 1) out *= base;
  return out;
}

// The root of a number from 1 on, by Newton's steps from above.
constexpr double root(double value, std::uint64_t degree) {
  const double n = static_cast<double>(degree);
  double out = value;
  for (double next = 0;; out = next) {
    next = ((n - 1) * out + value / power(out, degree - 1)) / n;
    if (!(next < out)) return out;
  }
}

}  // namespace kvplan

#endif  // KVPLAN_ROUNDING_H_
