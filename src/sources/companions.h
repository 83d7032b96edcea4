// What is loaded in addition to a model: a draft model, LoRA adapters, an image projector.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "formats/gguf.h"
#include "sources/load.h"

namespace kvplan {

// --draft: a MODEL, or EAGLE or Medusa heads, which are not a whole model. Throws Error with the source set.
ModelSpec load_draft(const std::string& argument, const SourceOptions& options, std::optional<DraftMethod> method,
                     const ModelSpec& target);

// --lora: a directory with adapter_config.json and its safetensors, the *.safetensors file, a GGUF adapter, or a Hub id
// or address of one.
AdapterFile load_adapter(const std::string& argument, const SourceOptions& options);

// --mmproj: llama.cpp's GGUF of an image encoder and its projector, or a Hub id or address of one.
ProjectorFile load_projector(const std::string& argument, const SourceOptions& options);

// --speculative-config: vLLM's JSON object.
SpeculativeConfig parse_speculative_config(std::string_view text);

// The same for a file that is already open, for tests and fuzzers.
AdapterFile read_gguf_adapter(const Gguf& file);

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
