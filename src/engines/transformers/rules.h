// What changed in transformers from release to release, and which of its classes cache differently.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engines/engine.h"

namespace kvplan {

// The rows in rules.cpp say what each member means.
struct TransformersRules {
  bool expands_latents = false;
  bool expands_sparse_latents = false;
  bool widens_mimo_windows = false;
  bool has_fp8_cache = false;
  bool float32_gates = false;
  bool fuses_experts = false;
  bool loads_float32 = false;
  bool typed_mamba_states = false;
  bool packs_gguf = false;
  bool lacks_hqq = false;
  bool caps_eagerly = false;
};
TransformersRules transformers_rules(const Request& request);
std::vector<RuleRow> transformers_rule_rows();

struct TransformersClass {
  bool no_cache = false;
  bool learned_prompt = false;        // tokens of a fixed prompt that precedes every text
  bool compressed = false;            // DeepSeek-V4's compressors
  bool float32_index_keys = false;    // its indexers receive float32 embeddings
  bool repeats_heads = false;         // K and V of a group are copied to each of its query heads before they are stored
  bool whole_windows = false;         // its config does not give the cache a window
  bool float32_convolutions = false;  // float32 whatever the model's type
  bool states_of_its_type = false;    // recurrent states in the type that its kernels return
  bool is_mamba = false;              // by TransformersRules::typed_mamba_states
  bool copied_states = false;         // its own cache converts states to the model's type, and stores the length
  bool past_columns = false;          // convolution states are only the past inputs, one column fewer
  bool widens_windows = false;        // by TransformersRules::widens_mimo_windows
  bool caches_images = false;         // cross attention to images, which not every prompt has
  bool fused_experts = false;         // one tensor for all experts of a layer, even before 5.0
  bool keeps_down_proj = false;       // _keep_in_fp32_modules has "wo", which no quantizer but torchao's packs then
  bool lacks_sdpa = false;            // attention is eager unless flash_attention_2 is requested (_supports_sdpa)
  bool caps_scores = false;           // by TransformersRules::caps_eagerly
  bool runs_all_experts = false;      // every token passes through every expert
  bool has_streams = false;           // several residual streams (AltUp)
};
TransformersClass transformers_class(Arch arch, std::string_view architecture);
inline TransformersClass transformers_class(const ModelShape& model) {
  return transformers_class(model.arch, model.architecture);
}

// A checkpoint's tensors as from_pretrained loads them (Engine::make_tensors).
void transformers_tensors(EngineTensors& model);
std::string transformers_makes_by(const Request& request);
inline bool grouped(Dtype type) {
  return type == Dtype::kInt4 || type == Dtype::kInt8;
}
inline bool quantized(Dtype type) {
  return grouped(type) || type == Dtype::kFp8E4m3;
}
std::optional<Refusal> transformers_refusal(const EngineInput& input, const Load& load);

}  // namespace kvplan
