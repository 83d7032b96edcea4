#include "kvplan/numbers.h"

#ifndef __cpp_lib_to_chars
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <string>
#endif

namespace kvplan {

std::optional<std::uint64_t> whole_number(std::string_view text, int base) {
  std::uint64_t out = 0;
  const auto [after, error] = std::from_chars(text.data(), text.data() + text.size(), out, base);
  return error == std::errc() ? std::optional(out) : std::nullopt;
}

std::from_chars_result parse_real(std::string_view text, double& value, std::chars_format format) {
  constexpr std::string_view kDigits = "0123456789.";
  const std::string_view unsigned_text = text.substr(text.starts_with('-') ? 1 : 0);
  if (unsigned_text.empty() || kDigits.find(unsigned_text.front()) == std::string_view::npos)
    return {text.data(), std::errc::invalid_argument};
#ifdef __cpp_lib_to_chars
  return std::from_chars(text.data(), text.data() + text.size(), value, format);
#else
  // libc++ 14 has no std::from_chars for doubles. std::strtod also reads hexadecimal and needs a terminated string, so
  // it gets a copy of the characters that a decimal number may have. The program sets no locale: the decimal point is a
  // point.
  const char* const letters = format == std::chars_format::fixed ? "-.0123456789" : "-+.eE0123456789";
  const std::string number(text.substr(0, text.find_first_not_of(letters)));
  char* end = nullptr;
  errno = 0;
  const double read = std::strtod(number.c_str(), &end);
  const char* const after = text.data() + (end - number.c_str());
  if (after == text.data()) return {after, std::errc::invalid_argument};
  if (errno == ERANGE && (read == 0 || std::isinf(read))) return {after, std::errc::result_out_of_range};
  value = read;
  return {after, std::errc()};
#endif
}

}  // namespace kvplan
