#include "engines/transformers/rules.h"

#include "engines/class_rows.h"

namespace kvplan {

// 5.16.1 and 5.23.0 were executed, the new classes of 5.24.0, and twelve configs with 4.57.6.
// clang-format off
constexpr Rule<TransformersRules> kRules[] = {
    {.sets = &TransformersRules::expands_latents, .until = {5, 0},
     .what = "K and V of MLA are cached for every head, not the latent", .evidence = "MLA's modules of 4.57 and 5.0"},
    {.sets = &TransformersRules::expands_sparse_latents, .until = {5, 18},
     .what = "K and V of sparse MLA are cached for every head, not the latent and the index keys",
     .evidence = "cache_utils.py of 5.18: indexed_attention, DynamicIndexedLayer", .basis = RuleBasis::kExecuted},
    {.sets = &TransformersRules::widens_mimo_windows, .since = {5, 20},
     .what = "MiMo-V2's windows have sliding_window_size + 1 tokens",
     .evidence = "configuration_mimo_v2_flash.py", .basis = RuleBasis::kExecuted},
    {.sets = &TransformersRules::fuses_experts, .since = {5, 0},
     .what = "the experts of a layer are one tensor, which only the FP8 quantizer packs",
     .evidence = "integrations/bitsandbytes.py: type(module) is nn.Linear"},
    {.sets = &TransformersRules::lacks_hqq, .since = {5, 0},
     .what = "HQQ quantizes no model while loading it",
     .evidence = "HqqHfQuantizer of 5.8.1 to 5.24.0 has no get_quantize_ops, and 4.57.6 needs none"},
    {.sets = &TransformersRules::loads_float32, .until = {5, 0},
     .what = "from_pretrained loads float32 unless dtype is given", .evidence = "modeling_utils.py of 4.57 and 5.0"},
    {.sets = &TransformersRules::typed_mamba_states, .until = {5, 0},
     .what = "the states of Mamba and Falcon Mamba have the model's type, later float32", .evidence = "MambaCache of 4.57",
     .basis = RuleBasis::kExecuted},
    {.sets = &TransformersRules::packs_gguf, .since = {5, 17},
     .what = "the tensors of a GGUF stay packed where the package kernels has a kernel",
     .evidence = "quantizers/quantizer_gguf.py; not in 5.16.1"},
    {.sets = &TransformersRules::has_fp8_cache, .since = {5, 21},
     .what = "a quantized cache may be FP8", .evidence = "cache_utils.py: Fp8QuantizedLayer"},
    {.sets = &TransformersRules::caps_eagerly, .since = {5, 21},
     .what = "classes that cap their scores have no sdpa, so their attention is eager",
     .evidence = "modeling_gemma2.py: _supports_sdpa, of 5.20.2 and 5.21.0", .basis = RuleBasis::kExecuted},
    {.sets = &TransformersRules::float32_gates, .since = {5, 24},
     .what = "DeepSeek-V4's compressors keep a gate in float32", .evidence = "default/deepseek_v4 of 5.24.0",
     .basis = RuleBasis::kExecuted},
};

static std::span<const ClassRow<TransformersClass>> classes() {
  using C = TransformersClass;
  using enum Arch;
  static constexpr ClassRow<C> kRows[] = {
    {&C::no_cache, {kOpenaiGpt}},
    {&C::learned_prompt, {kCpmant}},
    {&C::compressed, {kDeepseekV4}},
    {&C::float32_index_keys, {kDots3Note}},               // modeling_dots3_note.py
    {&C::repeats_heads, {}, "FalconForCausalLM"},  // _split_heads; the first decoder has one KV head
    {&C::whole_windows, {kGptNeo}},
    {&C::float32_convolutions, {kInkling, kInkling2}},    // modeling_inkling.py
    {&C::states_of_its_type, {kMinimax, kBailingLinear, kBailingHybrid}},
    {&C::is_mamba, {kMamba}},
    {&C::copied_states, {kXlstm}},                        // xLSTMCache
    {&C::past_columns, {kRecurrentGemma, kZaya}},
    {&C::widens_windows, {kMimoV2}},
    {&C::caches_images, {kMllama}},
    {&C::fused_experts, {kLlama4, kGptOss},
     "Qwen3VLMoeForConditionalGeneration DbrxForCausalLM JetMoeForCausalLM AriaForConditionalGeneration "
     "GraniteMoeForCausalLM GraniteMoeSharedForCausalLM GraniteMoeHybridForCausalLM"},
    {&C::keeps_down_proj, {kT5}},
    // As transformers 5.17.0 and 5.24.0 report it.
    {&C::lacks_sdpa, {kGptOss, kGptNeo, kOpenaiGpt, kMimoV2, kCpmant, kGraniteSwa},
     "BloomForCausalLM CodeGenForCausalLM GPTJForCausalLM GPTNeoXJapaneseForCausalLM MptForCausalLM XGLMForCausalLM"},
    {&C::caps_scores, {kGemma2, kT5Gemma}, "VaultGemmaForCausalLM"},
    {&C::runs_all_experts, {kLlama4}},                    // modeling_llama4.py: Llama4TextExperts
    {&C::has_streams, {kGemma3n}},
  };
  return kRows;
}
// clang-format on

TransformersRules transformers_rules(const Request& request) {
  return resolve_rules(kRules, release_of(request), request.turned_rule);
}

std::vector<RuleRow> transformers_rule_rows() {
  return rule_rows(kRules);
}

TransformersClass transformers_class(Arch arch, std::string_view architecture) {
  return resolve_class(classes(), arch, architecture);
}

}  // namespace kvplan
