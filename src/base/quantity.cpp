#include "kvplan/quantity.h"

#include <string>

#include "kvplan/error.h"

namespace kvplan {

[[noreturn]] static void too_large(std::string_view what) {
  overflow(std::string(what) + " does not fit in 64 bits", "check the sizes in the config and in the request");
}

std::uint64_t checked_mul(std::uint64_t a, std::uint64_t b, std::string_view what) {
  std::uint64_t out = 0;
  if (__builtin_mul_overflow(a, b, &out)) too_large(what);
  return out;
}

std::int64_t signed_difference(std::uint64_t a, std::uint64_t b) {
  std::int64_t out = 0;
  if (__builtin_sub_overflow(a, b, &out)) too_large("a difference of bytes");
  return out;
}

std::uint64_t checked_add(std::uint64_t a, std::uint64_t b, std::string_view what) {
  std::uint64_t out = 0;
  if (__builtin_add_overflow(a, b, &out)) too_large(what);
  return out;
}

std::uint64_t checked_scale(std::uint64_t value, double factor, std::string_view what) {
  constexpr double kBeyond = 18446744073709551616.0;  // 2^64
  const double out = static_cast<double>(value) * factor;
  if (!(out >= 0 && out < kBeyond)) too_large(what);
  return static_cast<std::uint64_t>(out);
}

std::uint64_t checked_sub(std::uint64_t a, std::uint64_t b, std::string_view what) {
  if (b > a) overflow(std::string(what) + " would be negative", "check the sizes in the config and in the request");
  return a - b;
}

std::uint64_t round_up(std::uint64_t a, std::uint64_t b, std::string_view what) {
  return checked_mul(ceil_div(a, b), b, what);
}

}  // namespace kvplan
