// A file that names models, a line each; empty lines and what follows a # are left out.
#ifndef KVPLAN_SOURCES_MODEL_LIST_H_
#define KVPLAN_SOURCES_MODEL_LIST_H_

#include <string>
#include <vector>

namespace kvplan {

// Of one command line, whether a list, a directory or the words themselves name them.
inline constexpr std::size_t kMostModels = 10'000;

// "@FILE", or a file that ends in .txt.
bool is_model_list(const std::string& argument);

// What it names. A path that is not there is looked for beside the list. Throws Error(kBadInput) for a list with
// nothing, and for one that names a further list.
std::vector<std::string> read_model_list(const std::string& argument);

}  // namespace kvplan

#endif  // KVPLAN_SOURCES_MODEL_LIST_H_
