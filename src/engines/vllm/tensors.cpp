#include "engines/vllm/tensors.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "engines/vllm/card.h"
#include "engines/vllm/rules.h"
#include "kvplan/strings.h"

namespace kvplan {

namespace {

// Releases, as engine_version() spells them: the minor number.
constexpr std::uint64_t kYarnInFloat32 = 27;  // DeepseekScalingRotaryEmbedding.use_flashinfer; not in 0.26, but in 0.30
constexpr std::uint64_t kPadsVocab = 9;       // executed since 0.26; a log of 0.5 has no padding rows
// Mxfp4Backend.TRITON with round_up(64): by its source, and a log of 0.14.1.
constexpr std::uint64_t kTritonOfHopper = 14;
constexpr std::uint64_t kDropsScales = 25;     // the checkpoint's scales are freed once swizzled (#46549); not in 0.24
constexpr std::uint64_t kLatestPadding = 27;   // on Blackwell; 0.26 pads both widths to 256
constexpr std::uint64_t kVideoPositions = 31;  // MRotaryEmbedding: before that, four times the length
// Before that, attention layers also had ranges of Q, K and V; executed in 0.26, 0.30.
constexpr std::uint64_t kFewerScales = 27;

// In each attention layer: scales of Q, K, V and of the probabilities, and those of K and V again for the host.
constexpr std::uint64_t kScales = 24;
constexpr std::uint64_t kScalesWithRanges = 36;
// Parameters for the scales of K and V, where the checkpoint's method may set them (BaseKVCacheMethod).
constexpr std::uint64_t kLoadedScales = 8;

// Classes that run with transformers' own code (registry.py, _TRANSFORMERS_SUPPORTED_MODELS), and since which release.
struct LibraryClasses {
  std::uint64_t since;
  std::string_view names;
};
constexpr std::array kLibraryClasses{
    LibraryClasses{20, "SmolLM3ForCausalLM"},
    LibraryClasses{25, "GPTBigCodeForCausalLM Starcoder2ForCausalLM"},
    LibraryClasses{26, "MllamaForConditionalGeneration OlmoForCausalLM Olmo2ForCausalLM"},
    LibraryClasses{27, "VaultGemmaForCausalLM"},
    LibraryClasses{29, "FlexOlmoForCausalLM HunYuanDenseV1ForCausalLM HunYuanMoEV1ForCausalLM Olmo3ForCausalLM"},
    LibraryClasses{30, "NanbeigeForCausalLM"},
    LibraryClasses{32,
                   "ArceeForCausalLM CwmForCausalLM GlmForCausalLM GPTNeoXForCausalLM Jais2ForCausalLM "
                   "MellumForCausalLM PhiForCausalLM SeedOssForCausalLM"},
    LibraryClasses{33, "Kolibri1ForCausalLM"},
};

bool runs_library_class(std::string_view architecture, std::uint64_t version) {
  return std::any_of(kLibraryClasses.begin(), kLibraryClasses.end(), [&](const LibraryClasses& row) {
    return version >= row.since && has_word(row.names, architecture);
  });
}

bool loads_scales(const SideTensorsInput& input) {
  if (!input.quantization->names_method) return false;
  const std::string& method = input.quantization->dialect;
  if (method.starts_with("modelopt")) return true;
  return !vllm_uses_mla(input.arch) && (method == "fp8" || method == "compressed-tensors");
}

}  // namespace

Bytes vllm_rotary_table(const RotaryTable& table, const SideTensorsInput& input, std::uint64_t element) {
  const std::uint64_t version = engine_version(engine_of(*input.request), *input.request);
  const Arch arch = input.arch;
  // The library keeps the inverse frequencies, twice and in float32, and computes the angles when needed.
  if (runs_library_class(input.architecture, version)) {
    const std::uint64_t sets = has_word("Olmo3ForCausalLM", input.architecture) ? 2 : 1;  // another one for its windows
    return Bytes(table.width) * sets * 4;
  }
  // The indexers of GLM and Hy-V4 use the table of the attention beside them.
  if (table.of_indexer &&
      (is_one_of(arch, {Arch::kGlmMoeDsa, Arch::kDeepseekV4}) || has_word("HYV4ForCausalLM", input.architecture)))
    return Bytes(0);
  const bool has_own_positions =
      has_word("Cosmos3EdgeForConditionalGeneration", input.architecture);  // cosmos3_edge.py
  const std::uint64_t times = table.is_multimodal && (version < kVideoPositions || has_own_positions) ? 4 : 1;
  const bool turns_latents = table.is_yarn && vllm_uses_mla(arch) && version >= kYarnInFloat32;
  const bool in_float32 = turns_latents || arch == Arch::kGptOss || arch == Arch::kDeepseekV4;
  return Bytes(checked_mul(table.positions, times, "the positions of a rotary table")) * table.width *
         (in_float32 ? 4 : element);
}

std::vector<LedgerLine> vllm_side_tensors(const SideTensorsInput& input) {
  std::vector<LedgerLine> out;
  const VllmRules rules = vllm_rules(*input.request);
  const std::uint64_t scales =
      (rules.version >= kFewerScales ? kScales : kScalesWithRanges) + (loads_scales(input) ? kLoadedScales : 0);
  // Until 0.26 the library's classes kept their attention layers outside of the model; DeepSeek-V4's layer has none.
  const bool is_apart = rules.version < kFewerScales && runs_library_class(input.architecture, rules.version);
  const bool has_scales = input.arch != Arch::kDeepseekV4 && !is_apart;
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

bool vllm_pads_vocab(const Request& request) {
  return engine_version(engine_of(request), request) >= kPadsVocab;
}

bool vllm_refines_blocks(const Request& request) {
  return engine_version(engine_of(request), request) >= kRefinesBlocks;
}

// Marlin: quantization/mxfp4.py; FlashInfer on data centre Blackwell; Triton on Hopper. gpt-oss-20b on an A100: 13.72
// GiB as printed, 12.82 as stored.
Mxfp4Layout vllm_mxfp4_layout(const Request& request) {
  const std::uint64_t version = engine_version(engine_of(request), request);
  if (vllm_capability(request) == 0) return {};
  if (vllm_is_hopper(request)) {
    if (version < kTritonOfHopper) return {};
    // HopperMXScaleLayout: 2 x 8 warps x 2 x 8 rows. gpt-oss-120b on an H100: 64.38 GiB as printed by 0.14.1.
    return {.width = 64, .second_scale_rows = version < kDropsScales ? 256U : 0};
  }
  if (vllm_is_data_blackwell(request) && version < kLatestPadding) return {256, 256};
  return {128, 256};
}

}  // namespace kvplan
