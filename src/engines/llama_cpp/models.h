// What llama.cpp knows of each architecture.
#ifndef KVPLAN_ENGINES_LLAMA_CPP_MODELS_H_
#define KVPLAN_ENGINES_LLAMA_CPP_MODELS_H_

#include <span>
#include <string_view>

#include "engines/engine.h"

namespace kvplan {

// The lines of classes.txt: the release, then "class NAME" and "arch NAME".
std::span<const std::string_view> llama_cpp_class_lines();

// llama.cpp has a converter for the class that a config names, or an architecture of the name that a GGUF gives. True
// where nothing is named.
bool llama_cpp_runs(const ModelShape& model);
// Windows and chunks get caches of their own size. Elsewhere llama.cpp reads the window and keeps everything.
bool llama_cpp_keeps_windows(const ModelShape& model);
// Latent attention is stored as full keys and values.
bool llama_cpp_expands_latents(const ModelShape& model);
// Attention without keys and values (Nemotron-NAS) counts as a layer of the cache.
bool llama_cpp_keeps_empty_layers(const ModelShape& model);
// The cache of index keys has values too.
bool llama_cpp_index_has_values(const ModelShape& model);
// An index row holds its key and the key of its pool (v0.5.0 has the one alone, b11739 both).
bool llama_cpp_keeps_pooled_keys(const ModelShape& model);
// Recurrent states have rows to roll back rejected drafts into.
bool llama_cpp_rolls_back(const ModelShape& model);
// Copies of the residual stream that a layer works on: hyper-connections, AltUp.
std::uint64_t llama_cpp_residual_streams(const ModelShape& model);
// Flash attention is refused for the architecture.
bool llama_cpp_forbids_flash_attention(const ModelShape& model);

}  // namespace kvplan

#endif  // KVPLAN_ENGINES_LLAMA_CPP_MODELS_H_
