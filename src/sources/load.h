// Loads a ModelSpec from what a user names: a file, a directory, standard input, a model of the Hub or of a store.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/gguf.h"
#include "formats/safetensors.h"
#include "formulas/model.h"
#include "models/read.h"

namespace kvplan {

// The command line's settings for the Hub; the environment has others (hub_settings.h).
struct HubOptions {
  bool offline = false;  // only the caches
  std::string revision;  // for Hub ids that give none; "" is main
  std::string token;     // "" for the environment's
};

struct SourceOptions {
  ReadOptions read{};
  HubOptions hub{};
};

// Loads a MODEL of the command line: a config.json, a directory with one, a *.gguf, "-", a Hub id, a model of a local
// store or of the built-in catalogue. Throws Error with the source set.
ModelSpec load_model(const std::string& name, const SourceOptions& options);

// Reads the header of `path` (any file of a split set means the set). Throws Error.
ModelSpec load_gguf(const std::string& path, const ReadOptions& options);

// Loads a directory of a cache, where missing weight files are not an error: their sizes then come from the index,
// else from the config.
ModelSpec load_snapshot(const std::string& directory, const std::string& source, const SourceOptions& options);

// Expands MODEL arguments: a directory that has no model becomes the configs in it, by name; a list (@FILE)
// becomes the MODELs on its lines. `is_fleet` is set if the answer is a list even if it has one entry. Throws
// Error for an empty directory or list.
std::vector<std::string> expand_models(const std::vector<std::string>& arguments, bool& is_fleet);

// A model by its name on the Hub. It comes from the Hugging Face tools' cache, or from kvplan's own cache, or it is
// fetched. Fetching takes two or three requests: for config.json, and for the sizes of the weights.
// `argument` is org/name[@revision] or the address of a model's page. Throws Error: kBadInput for an invalid name, kHub
// if fetching fails.
ModelSpec load_from_hub(const std::string& argument, const SourceOptions& options);

// What is loaded in addition to a model: a draft model, LoRA adapters, an image projector.

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

// Reads a file that is already open, for tests and fuzzers.
AdapterFile read_gguf_adapter(const Gguf& file);

enum class Companion {
  kAdapter,    // adapter_config.json and adapter_model.safetensors, or a *.gguf by its address
  kProjector,  // mmproj*.gguf, by its address or as the repository's only kind of projector
};

// A file, or an adapter's folder. `file_bytes` is the length of the weights' file if kvplan's cache only has its
// header; 0 for a whole file.
struct CompanionFile {
  std::string path;
  std::uint64_t file_bytes = 0;
};

// `argument` itself if it is a path. For a Hub id or address, the folder (safetensors) or file (GGUF) in a cache.
// Throws Error with the source set: kBadInput for an invalid name, kHub if fetching fails.
CompanionFile local_companion(const std::string& argument, Companion what, const SourceOptions& options);

// What a checkpoint's directory has besides its config: headers of safetensors, adapters, and layouts with several
// models.

// The component that a tensor belongs to, by its name.
Component component_of(std::string_view tensor, std::uint64_t num_layers);

// Reads the headers of the directory's safetensors into model.stored. Does nothing if there are none. Throws Error.
void read_stored(const std::string& directory, ModelSpec& model);
// Reads the sum in the directory's index, even if the shards are missing. Does nothing without a valid index.
void read_stored_index(const std::string& directory, ModelSpec& model);
// Adds tensors from elsewhere. `each` calls its argument once for every tensor.
void add_stored(const std::function<void(const TensorVisitor&)>& each, ModelSpec& model);

// For a directory without a decoder (a LoRA adapter, a diffusers pipeline), throws an Error that says what it contains
// and how much. Otherwise returns.
void refuse_layout(const std::string& directory);
// Whether refuse_layout would throw.
bool is_other_layout(const std::string& directory);

}  // namespace kvplan
