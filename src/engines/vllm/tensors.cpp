// What vLLM keeps beside a model's own tensors: tables of angles, scales, buffers of indexers; and how it pads.
#include "engines/vllm/tensors.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include "engines/tensor_edits.h"
#include "engines/vllm/card.h"
#include "engines/vllm/rules.h"

namespace kvplan {

namespace {

// In each attention layer: scales of Q, K, V and of the probabilities, and those of K and V again for the host.
constexpr std::uint64_t kScales = 24;
constexpr std::uint64_t kScalesWithRanges = 36;
// Parameters for the scales of K and V, where the checkpoint's method may set them (BaseKVCacheMethod).
constexpr std::uint64_t kLoadedScales = 8;

// Classes that run with transformers' own code.
struct LibraryClasses {
  Models models;
  When<> when;
  std::string_view source = "registry.py, _TRANSFORMERS_SUPPORTED_MODELS: classes that run with transformers' code";
};
constexpr LibraryClasses kLibraryClasses[] = {
    {"SmolLM3ForCausalLM", {.since = {0, 20}}},
    {"GPTBigCodeForCausalLM Starcoder2ForCausalLM", {.since = {0, 25}}},
    {"MllamaForConditionalGeneration OlmoForCausalLM Olmo2ForCausalLM", {.since = {0, 26}}},
    {"VaultGemmaForCausalLM", {.since = {0, 27}}},
    {"FlexOlmoForCausalLM HunYuanDenseV1ForCausalLM HunYuanMoEV1ForCausalLM Olmo3ForCausalLM", {.since = {0, 29}}},
    {"NanbeigeForCausalLM", {.since = {0, 30}}},
    {"ArceeForCausalLM CwmForCausalLM GlmForCausalLM GPTNeoXForCausalLM Jais2ForCausalLM MellumForCausalLM "
     "PhiForCausalLM SeedOssForCausalLM",
     {.since = {0, 32}}},
    {"Kolibri1ForCausalLM", {.since = {0, 33}}},
};
bool runs_library_class(const SideTensorsInput& input) {
  return std::any_of(std::begin(kLibraryClasses), std::end(kLibraryClasses), [&](const LibraryClasses& row) {
    return is_for(row.models, input.architecture, input.arch) && holds(row.when, *input.request);
  });
}

bool in_library(const RotaryTable&, const SideTensorsInput& input) {
  return runs_library_class(input);
}
bool of_indexer(const RotaryTable& table, const SideTensorsInput&) {
  return table.of_indexer;
}
bool of_images(const RotaryTable& table, const SideTensorsInput&) {
  return table.is_multimodal;
}
bool scales_latents(const RotaryTable& table, const SideTensorsInput& input) {
  return table.is_yarn && vllm_uses_mla(input.arch);
}

constexpr std::string_view kLibraryTable = "transformers: the angles are computed when they are needed";
constexpr std::string_view kSharedTable = "indexers use the table of the attention beside them";
constexpr AngleRow kAngles[] = {
    // Another one for its windows.
    {"Olmo3ForCausalLM", 0, 4, true, kLibraryTable, {.holds = in_library}},
    {"", 0, 2, true, kLibraryTable, {.holds = in_library}},
    {Archs{Arch::kGlmMoeDsa, Arch::kDeepseekV4}, 0, 0, false, kSharedTable, {.holds = of_indexer}},
    {"HYV4ForCausalLM", 0, 0, false, kSharedTable, {.holds = of_indexer}},
    {"Cosmos3EdgeForConditionalGeneration", 4, 0, false, "cosmos3_edge.py", {.holds = of_images}},
    {"",
     4,
     0,
     false,
     "MRotaryEmbedding: Rotary tables of multimodal models are four times as long as the context.",
     {.until = {0, 31}, .holds = of_images}},
    {"",
     1,
     0,
     true,
     "DeepseekScalingRotaryEmbedding.use_flashinfer; not in 0.26, but in 0.30: Rotary tables of latents with YaRN are "
     "in "
     "float32.",
     {.since = {0, 27}, .holds = scales_latents}},
    {Archs{Arch::kGptOss, Arch::kDeepseekV4}, 1, 0, true, "models/gpt_oss.py, deepseek_v4"},
};

// Marlin (quantization/mxfp4.py), FlashInfer on data centre Blackwell, Triton on Hopper. gpt-oss-20b on an A100: 13.72
// GiB as printed, 12.82 as stored. gpt-oss-120b on an H100: 64.38 GiB as printed by 0.14.1.
bool on_no_card(const Request& request) {
  return vllm_capability(request) == 0;
}
constexpr Mxfp4Row kMxfp4[] = {
    {{}, "", {.holds = on_no_card}},
    {{},
     "before Mxfp4Backend.TRITON; a log of 0.14.1: MXFP4 experts have no layout of their own on Hopper.",
     {.until = {0, 14}, .holds = vllm_is_hopper}},
    {{64, 1, 256},
     "HopperMXScaleLayout, 2 x 8 warps x 2 x 8 rows: Triton keeps a checkpoint's MXFP4 scales beside its own.",
     {.until = {0, 25}, .holds = vllm_is_hopper}},
    {{64, 1, 0}, "vllm-project/vllm#46549", {.holds = vllm_is_hopper}},
    {{256, 256},
     "quantization/mxfp4.py; not in 0.27: MXFP4 experts are padded to 256 by 256 on data centre Blackwell.",
     {.until = {0, 27}, .holds = vllm_is_data_blackwell}},
    {{128, 256}, "quantization/mxfp4.py"},
};

bool loads_scales(const SideTensorsInput& input) {
  if (!input.quantization->names_method) return false;
  const std::string& method = input.quantization->dialect;
  if (method.starts_with("modelopt")) return true;
  return !vllm_uses_mla(input.arch) && (method == "fp8" || method == "compressed-tensors");
}

}  // namespace

Bytes vllm_rotary_table(const RotaryTable& table, const SideTensorsInput& input, std::uint64_t element) {
  return angle_bytes(kAngles, table, input, element);
}

std::vector<LedgerLine> vllm_side_tensors(const SideTensorsInput& input) {
  std::vector<LedgerLine> out;
  const VllmRules rules = vllm_rules(*input.request);
  const std::uint64_t scales =
      (rules.fewer_scales ? kScales : kScalesWithRanges) + (loads_scales(input) ? kLoadedScales : 0);
  // Before that the library's classes kept their attention layers outside of the model; DeepSeek-V4's layer has none.
  const bool has_scales = input.arch != Arch::kDeepseekV4 && (rules.fewer_scales || !runs_library_class(input));
  if (input.attention_layers > 0 && has_scales)
    out.push_back(of_kind(
        LineId::kOther,
        exact_line(Section::kWeights, "scales of attention", Bytes(scales) * input.attention_layers,
                   {"{num_layers} layers x {scales} B", {{"num_layers", input.attention_layers}, {"scales", scales}}},
                   "vLLM model_executor/layers/attention/attention.py")));
  if (input.index_topk != 0) {
    EngineInput asked;
    asked.model.arch = input.arch;
    asked.request = *input.request;
    const std::uint64_t tokens = vllm_batched_tokens(asked, rules);
    out.push_back(of_kind(
        LineId::kOther,
        exact_line(
            Section::kWeights, "tokens that the indexer chooses",
            Bytes(checked_mul(tokens, input.index_topk, "the tokens that an indexer chooses")) * 4,
            {"{tokens} tokens of a batch x {index_topk} x 4 B", {{"tokens", tokens}, {"index_topk", input.index_topk}}},
            "vLLM models/deepseek_v2.py topk_indices_buffer")));
  }
  return out;
}

std::vector<RuleRow> vllm_tensor_rule_rows() {
  std::vector<RuleRow> out = vllm_edit_rule_rows();
  add_rule_rows(kLibraryClasses, out);
  add_rule_rows(kAngles, out);
  add_rule_rows(kMxfp4, out);
  return out;
}

bool vllm_pads_vocab(const Request& request) {
  return vllm_rules(request).pads_vocab;
}

bool vllm_refines_blocks(const Request& request) {
  return vllm_rules(request).refines_blocks;
}

Mxfp4Layout vllm_mxfp4_layout(const Request& request) {
  return mxfp4_layout(kMxfp4, request);
}

}  // namespace kvplan
