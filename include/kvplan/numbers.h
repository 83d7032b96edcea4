// Numbers as text.
#ifndef KVPLAN_NUMBERS_H_
#define KVPLAN_NUMBERS_H_

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace kvplan {

// The whole number that a text begins with; nothing where there is none, or one beyond 2^64.
std::optional<std::uint64_t> whole_number(std::string_view text, int base = 10);

// The decimal number that a text begins with, as std::from_chars reads it (libc++ 14 cannot), but for infinity and NaN,
// which are no numbers here.
std::from_chars_result parse_real(std::string_view text, double& value,
                                  std::chars_format format = std::chars_format::general);

}  // namespace kvplan

#endif  // KVPLAN_NUMBERS_H_
