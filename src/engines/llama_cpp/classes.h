// What llama.cpp does differently for an architecture.
#pragma once

#include <span>
#include <string_view>

#include "engines/engine.h"

namespace kvplan {

struct LlamaClass {
  // Cache.
  bool keeps_windows = false;    // windows and chunks have smaller caches; otherwise every token is cached
  bool expands_latents = false;  // latent attention is cached as full keys and values
  bool keeps_empty_layers =
      false;                       // a layer with attention but no keys and values still counts as a layer of the cache
  bool index_has_values = false;   // the cache of index keys also has values
  bool keeps_pooled_keys = false;  // an index row may also contain the key of its pool
  std::uint64_t index_parts = 1;   // an index row has keys, gates and pooled keys
  bool rolls_back = false;         // recurrent states have rows for rolling back rejected drafts
  bool whole_values = false;       // the positional part of a latent is also a value
  bool forbids_flash_attention = false;
  bool whole_tensors = false;  // no --split-mode tensor (llm_arch_supports_sm_tensor)
  // Graph.
  std::uint64_t residual_streams = 1;  // copies of the residual stream: hyper-connections, AltUp
  bool chooses_late = false;           // rows without logits are dropped after the last layer
  bool chooses_before_norm = false;    // and they are dropped before the last norm
  bool adds_to_residual = false;       // the block's output is the first operand of the addition to the residual
  bool adds_to_last_residual = false;  // as adds_to_residual, for the MLP only
  bool adds_residual_first = false;    // parallel blocks: MLP and residual are added before the attention's output
  bool norms_values = false;
  bool weighs_experts_first = false;  // the inputs of the chosen experts are weighted, not their outputs
  bool scales_unrotated = false;      // layers without rotation scale their queries by position
  bool fuses_gates = false;           // beta and alpha of a delta net are one matrix
};
LlamaClass llama_class(const ModelShape& model);

// The lines of classes.txt: the release, then "class NAME" and "arch NAME".
std::span<const std::string_view> llama_cpp_class_lines();
// Whether llama.cpp has a converter for the class that a config names, or the architecture that a GGUF names. True if
// neither is named.
bool llama_cpp_runs(const ModelShape& model);
// If this build is known to lack the model's architecture.
std::optional<Refusal> llama_cpp_lacks(const EngineInput& input);

}  // namespace kvplan
