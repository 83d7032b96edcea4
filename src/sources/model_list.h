// A file that lists models, one on each line; empty lines and text after a # are ignored.
#pragma once

#include <string>
#include <vector>

namespace kvplan {

// The most models of one command line, whether lists, directories or words name them.
inline constexpr std::size_t kMostModels = 10'000;

// "@FILE". No other name is taken for a list: its lines appear in errors and are looked up on the Hub.
bool is_model_list(const std::string& argument);

// The models that "@FILE" lists. A path that does not exist is also looked for next to the list. Throws
// Error(kBadInput) for an empty list, and for one that contains another list.
std::vector<std::string> read_model_list(const std::string& argument);

}  // namespace kvplan
