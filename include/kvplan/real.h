// Numbers with a fraction, as text: std::from_chars of libstdc++ 12 asks libm for the rounding mode, and a process
// starts sooner without libm (kvplan/rounding.h).
#ifndef KVPLAN_REAL_H_
#define KVPLAN_REAL_H_

#include <charconv>

namespace kvplan {

// As std::from_chars does, but for infinity and NaN, which are no numbers here.
std::from_chars_result read_real(const char* begin, const char* end, double& value,
                                 std::chars_format format = std::chars_format::general);

}  // namespace kvplan

#endif  // KVPLAN_REAL_H_
