// One table of field aliases and one of class defaults: what a key is called elsewhere, and what it is where a file
// leaves it out because it equals the default of its class.
#ifndef KVPLAN_INPUT_ALIASES_H_
#define KVPLAN_INPUT_ALIASES_H_

#include <optional>
#include <span>
#include <string_view>

namespace kvplan {

// Other spellings of a key, in order of preference, separated by spaces; "" where there are none.
std::string_view aliases_of(std::string_view key);

// The key that `key` is another spelling of; "" where no row lists it. A row's first key is of its own group.
std::string_view alias_group(std::string_view key);

// The defaults of the class of `model_type`: "key=value key=value", values as JSON; "" where it has none.
std::string_view class_defaults(std::string_view model_type);
// One of them.
std::optional<std::string_view> default_of(std::string_view defaults, std::string_view key);
bool has_class(std::string_view model_type);

}  // namespace kvplan

#endif  // KVPLAN_INPUT_ALIASES_H_
