// What is loaded in addition to a model: a draft model, LoRA adapters, an image projector.
#pragma once

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

}  // namespace kvplan
