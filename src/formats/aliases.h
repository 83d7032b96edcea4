// Other names of a key.
#pragma once

#include <string_view>

namespace kvplan {

// Other spellings of a key, in order of preference, separated by spaces; "" if there are none.
std::string_view aliases_of(std::string_view key);

// The key for which `key` is another spelling; "" if no row lists it. A row's first key belongs to its own group.
std::string_view alias_group(std::string_view key);

}  // namespace kvplan
