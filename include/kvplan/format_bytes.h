// Quantities in sentences: reasons, notes, errors. Tables and JSON format theirs elsewhere.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kvplan/quantity.h"

namespace kvplan {

// "24.00 GiB", always GiB.
std::string format_gib(Bytes bytes);
// "24.00 GiB", "1.5 MiB", "17.0 KiB", "12 bytes": in the unit that shows small differences.
std::string format_bytes(Bytes bytes);
// The same in GiB or MiB, rounded up, for a size that a user passes as an option.
std::string format_bytes_up(Bytes bytes);
// "1 sequence", "8 sequences".
std::string counted(std::uint64_t n, std::string_view word);

}  // namespace kvplan
