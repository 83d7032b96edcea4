#ifndef KVPLAN_SHA256_H_
#define KVPLAN_SHA256_H_

#include <string>
#include <string_view>

namespace kvplan {

// The digest as 64 hexadecimal digits (FIPS 180-4).
std::string sha256(std::string_view text);

}  // namespace kvplan

#endif  // KVPLAN_SHA256_H_
