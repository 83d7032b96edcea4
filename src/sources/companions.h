// What is loaded beside a model: a draft that guesses tokens, LoRA adapters, an image projector.
#ifndef KVPLAN_SOURCES_COMPANIONS_H_
#define KVPLAN_SOURCES_COMPANIONS_H_

#include <string>
#include <string_view>

#include "formats/gguf.h"
#include "sources/load.h"

namespace kvplan {

// --draft: MODEL as anywhere else; EAGLE and Medusa heads too, which are no model of their own. Throws Error with the
// source set.
ModelSpec load_draft(const std::string& argument, const SourceOptions& options, std::optional<DraftMethod> method,
                     const ModelSpec& target);

// --lora: a directory with adapter_config.json and its safetensors, that *.safetensors, a GGUF adapter, or the Hub's
// name or address of one.
AdapterFile load_adapter(const std::string& argument, const SourceOptions& options);

// --mmproj: llama.cpp's GGUF of an image encoder and its projector, or the Hub's name or address of one.
ProjectorFile load_projector(const std::string& argument, const SourceOptions& options);

// --speculative-config: vLLM's JSON object.
SpeculativeConfig parse_speculative_config(std::string_view text);

// The same of a file that is open already: what tests and fuzzers call.
AdapterFile read_gguf_adapter(const Gguf& file);

}  // namespace kvplan

#endif  // KVPLAN_SOURCES_COMPANIONS_H_
