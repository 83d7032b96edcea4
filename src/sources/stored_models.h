// The models in the local stores, by the names that kvplan accepts for them. Only folders are listed, no file is
// opened.
#pragma once

#include <string>
#include <vector>

namespace kvplan {

// "org/name" in the Hugging Face tools' cache, "ollama:name:tag", "lmstudio:publisher/model@FILE", sorted. Names that
// no tool would give, and folders that cannot be read, are left out.
std::vector<std::string> stored_models();

}  // namespace kvplan
