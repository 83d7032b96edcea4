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

// The default of `key` in the class of `model_type`, as JSON text; nullopt where the class or the key has none.
std::optional<std::string_view> class_default(std::string_view model_type, std::string_view key);
bool has_class(std::string_view model_type);

}  // namespace kvplan

#endif  // KVPLAN_INPUT_ALIASES_H_
