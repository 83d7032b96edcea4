// What is loaded beside a model, an adapter or a projector, by a Hub id or an address: made a local path, so that the
// readers of local files serve. A draft is a model of its own and needs none of this: load_model takes its name.
#ifndef KVPLAN_SOURCES_HUB_COMPANION_H_
#define KVPLAN_SOURCES_HUB_COMPANION_H_

#include <cstdint>
#include <string>

#include "sources/load.h"

namespace kvplan {

enum class Companion {
  kAdapter,    // adapter_config.json and adapter_model.safetensors, or a *.gguf by its address
  kProjector,  // mmproj*.gguf; by its address, or the only sort of projector in the repository
};

// A file, or an adapter's folder. `file_bytes`: how long the file of weights is where kvplan's cache has its header
// alone; 0 for a whole one.
struct CompanionFile {
  std::string path;
  std::uint64_t file_bytes = 0;
};

// `argument` itself where it is a path; for a Hub id or address the folder (safetensors) or file (GGUF) in a cache.
// Throws Error with the source set: kBadInput for what is no name, kHub for what could not be had.
CompanionFile local_companion(const std::string& argument, Companion what, const SourceOptions& options);

}  // namespace kvplan

#endif  // KVPLAN_SOURCES_HUB_COMPANION_H_
