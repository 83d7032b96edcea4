// Numbers as text.
#ifndef KVPLAN_NUMBERS_H_
#define KVPLAN_NUMBERS_H_

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace kvplan {

// The whole number that a text begins with; nothing where it begins with none, or with one beyond 2^64.
std::optional<std::uint64_t> whole_number(std::string_view text, int base = 10);

// The decimal number that a text begins with, read as std::from_chars would (libc++ 14 has none for doubles), except
// that infinity and NaN are not accepted.
std::from_chars_result parse_real(std::string_view text, double& value,
                                  std::chars_format format = std::chars_format::general);

}  // namespace kvplan

#endif  // KVPLAN_NUMBERS_H_
