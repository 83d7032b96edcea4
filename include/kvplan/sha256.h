#pragma once

#include <string>
#include <string_view>

namespace kvplan {

// The digest as 64 hexadecimal digits (FIPS 180-4).
std::string sha256(std::string_view text);

}  // namespace kvplan
