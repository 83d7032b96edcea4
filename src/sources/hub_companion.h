// Adapters and projectors by a Hub id or an address: they become a local path, for the readers of local files. A draft
// is a model and needs none of this: load_model takes its name.
#pragma once

#include <cstdint>
#include <string>

#include "sources/load.h"

namespace kvplan {

enum class Companion {
  kAdapter,    // adapter_config.json and adapter_model.safetensors, or a *.gguf by its address
  kProjector,  // mmproj*.gguf, by its address or as the repository's only kind of projector
};

// A file, or an adapter's folder. `file_bytes`: the length of the weights' file where kvplan's cache only has its
// header; 0 for a whole file.
struct CompanionFile {
  std::string path;
  std::uint64_t file_bytes = 0;
};

// `argument` itself if it is a path; for a Hub id or address the folder (safetensors) or file (GGUF) in a cache.
// Throws Error with the source set: kBadInput for an invalid name, kHub where fetching failed.
CompanionFile local_companion(const std::string& argument, Companion what, const SourceOptions& options);

}  // namespace kvplan
