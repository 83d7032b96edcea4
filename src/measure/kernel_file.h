// Files below /proc and /sys, which have no size until they are read. Where one cannot be read there is nothing in it:
// every caller has an answer for a machine without.
#ifndef KVPLAN_MEASURE_KERNEL_FILE_H_
#define KVPLAN_MEASURE_KERNEL_FILE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kvplan {

std::string kernel_file(const std::string& path);
// The next line of `rest`, without its end, which is taken off; nullopt where there is none left.
std::optional<std::string_view> next_line(std::string_view& rest);
// The first line of a file.
std::string first_line_in(const std::string& path);
// A whole number at the start of `text`; nullopt where there is none, or one beyond 2^64.
std::optional<std::uint64_t> number_at(std::string_view text, int base = 10);
// The number that a file holds. "max" is none.
std::optional<std::uint64_t> number_in(const std::string& path);

}  // namespace kvplan

#endif  // KVPLAN_MEASURE_KERNEL_FILE_H_
