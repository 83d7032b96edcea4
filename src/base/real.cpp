#include "kvplan/real.h"

#include <cstdlib>
#include <string>

namespace kvplan {

namespace {

const char* skip_digits(const char* at, const char* end) {
  while (at != end && *at >= '0' && *at <= '9') ++at;
  return at;
}

// Behind "-12.5": where there is no digit, at the beginning.
const char* skip_decimal(const char* begin, const char* end) {
  const char* const first = begin != end && *begin == '-' ? begin + 1 : begin;
  const char* at = skip_digits(first, end);
  bool has_digit = at != first;
  if (at != end && *at == '.') {
    const char* const fraction = at + 1;
    const char* const after = skip_digits(fraction, end);
    has_digit = has_digit || after != fraction;
    at = after;
  }
  return has_digit ? at : begin;
}

// Behind "e-7"; where there is none, at the beginning.
const char* skip_exponent(const char* begin, const char* end) {
  if (begin == end || (*begin != 'e' && *begin != 'E')) return begin;
  const char* at = begin + 1;
  if (at != end && (*at == '-' || *at == '+')) ++at;
  const char* const after = skip_digits(at, end);
  return after == at ? begin : after;
}

}  // namespace

std::from_chars_result read_real(const char* begin, const char* end, double& value, std::chars_format format) {
  const char* after = skip_decimal(begin, end);
  if (after == begin) return {begin, std::errc::invalid_argument};
  if (format != std::chars_format::fixed) after = skip_exponent(after, end);
  // The program never sets a locale, so the point is a point.
  const double read = std::strtod(std::string(begin, after).c_str(), nullptr);
  constexpr double kMost = 1.7976931348623157e308;
  if (!(read >= -kMost && read <= kMost)) return {after, std::errc::result_out_of_range};
  value = read;
  return {after, std::errc()};
}

}  // namespace kvplan
