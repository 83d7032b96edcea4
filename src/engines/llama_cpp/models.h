// What llama.cpp does for each architecture.
#ifndef KVPLAN_ENGINES_LLAMA_CPP_MODELS_H_
#define KVPLAN_ENGINES_LLAMA_CPP_MODELS_H_

#include <span>
#include <string_view>

#include "engines/engine.h"

namespace kvplan {

// The lines of classes.txt: the release, then "class NAME" and "arch NAME".
std::span<const std::string_view> llama_cpp_class_lines();

// Whether llama.cpp has a converter for the class that a config names, or the architecture that a GGUF names. True
// where neither is named.
bool llama_cpp_runs(const ModelShape& model);
// Whether windows and chunks have smaller caches. For other architectures llama.cpp reads the window and caches every
// token.
bool llama_cpp_keeps_windows(const ModelShape& model);
// Whether latent attention is cached as full keys and values.
bool llama_cpp_expands_latents(const ModelShape& model);
// Whether attention without keys and values (Nemotron-NAS) counts as a layer of the cache.
bool llama_cpp_keeps_empty_layers(const ModelShape& model);
// Whether the cache of index keys has values too.
bool llama_cpp_index_has_values(const ModelShape& model);
// Whether an index row holds its own key and that of its pool (v0.5.0 stores one, b11739 both).
bool llama_cpp_keeps_pooled_keys(const ModelShape& model);
// Whether recurrent states have rows to roll rejected drafts back to.
bool llama_cpp_rolls_back(const ModelShape& model);
// Copies of the residual stream in a layer: hyper-connections, AltUp.
std::uint64_t llama_cpp_residual_streams(const ModelShape& model);
// Whether flash attention is refused for the architecture.
bool llama_cpp_forbids_flash_attention(const ModelShape& model);

}  // namespace kvplan

#endif  // KVPLAN_ENGINES_LLAMA_CPP_MODELS_H_
