// Which models lie in the local stores, by the names that kvplan takes for them. Nothing is opened but folders.
#ifndef KVPLAN_SOURCES_STORED_MODELS_H_
#define KVPLAN_SOURCES_STORED_MODELS_H_

#include <string>
#include <vector>

namespace kvplan {

// "org/name" of the HF tools' cache, "ollama:name:tag", "lmstudio:publisher/model@FILE", sorted. Names that no tool
// gives, and folders that cannot be read, are left out.
std::vector<std::string> stored_models();

}  // namespace kvplan

#endif  // KVPLAN_SOURCES_STORED_MODELS_H_
