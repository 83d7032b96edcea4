#include "engines/vllm/class_table.h"

#include <algorithm>

#include "engines/tensor_edits.h"
#include "engines/vllm/vllm.h"

namespace kvplan {

using C = VllmClass;

constexpr ClassRow<C> kClasses[] = {
    {&C::is_missing, {Arch::kRwkv, Arch::kRecurrentGemma, Arch::kXlstm, Arch::kT5, Arch::kT5Gemma, Arch::kMarian}},
    // Refusals in testdata/conformance/launch-vllm.jsonl.
    {&C::is_unregistered, {}, "JetMoEForCausalLM Step3p7FlashForCausalLM"},
    // Neither in registry.py nor compatible with it (is_backend_compatible of transformers 5.20).
    {&C::is_unregistered,
     {},
     "BigBirdPegasusForConditionalGeneration BioGptForCausalLM BlenderbotForConditionalGeneration CodeGenForCausalLM "
     "CpmAntForCausalLM GPTNeoForCausalLM JanusForConditionalGeneration LongT5ForConditionalGeneration "
     "M2M100ForConditionalGeneration MT5ForConditionalGeneration PegasusForConditionalGeneration "
     "SwitchTransformersForConditionalGeneration UMT5ForConditionalGeneration XGLMForCausalLM ZambaForCausalLM"},
    {&C::lacks_lora,
     {},
     "FalconMambaForCausalLM Gemma3nForConditionalGeneration KimiK3ForConditionalGeneration KimiLinearForCausalLM "
     "MambaForCausalLM MiMoV2FlashForCausalLM"},
    {&C::lacks_stages, {}, "Gemma3nForConditionalGeneration"},
    // is_deepseek_mla in transformers_utils.
    {&C::keeps_latents,
     {Arch::kAxk1, Arch::kDeepseekV3, Arch::kDeepseekV32, Arch::kDeepseekV4, Arch::kGlmMoeDsa, Arch::kGlm4MoeLite,
      Arch::kKimiK2, Arch::kKimiK3, Arch::kKimiLinear, Arch::kLongcat, Arch::kPanguUltraMoe, Arch::kBailingHybrid,
      Arch::kMistral4, Arch::kMistralLarge4, Arch::kHyV4, Arch::kGlm5Next, Arch::kDots3Note, Arch::kSarvamMla,
      Arch::kDeepseekV41}},
    {&C::packs_convolutions, {Arch::kInkling}},
    {&C::doubles_rings, {Arch::kGlm5Next}},
    // models/qwen4_exp.
    {&C::rings_have_positions, {Arch::kQwen4Exp}},
    {&C::replicates_convolutions, {Arch::kQwen4Exp}},
    {&C::packs_fp8_latents,
     {Arch::kDeepseekV32, Arch::kDeepseekV4, Arch::kDeepseekV41, Arch::kGlmMoeDsa, Arch::kGlm5Next, Arch::kHyV4}},
    {&C::is_always_packed, {Arch::kDeepseekV4, Arch::kDeepseekV41}},
    {&C::has_small_blocks, {Arch::kDeepseekV41}},
    {&C::pads_latents, {Arch::kDots3Note}},
    {&C::has_fp8_by_default, {Arch::kGlmMoeDsa}},
    {&C::ignores_cache_type, {Arch::kMimoV2}},
    {&C::pages_cross_attention, {Arch::kMllama}},
    {&C::is_attention_free, {Arch::kMamba}},
    // NemotronHForCausalLMConfig.
    {&C::has_float32_states, {Arch::kNemotronH}},
    {&C::has_short_chunks, {Arch::kNemotronH}},
    {&C::has_kda_checkpoints, {Arch::kKimiK3, Arch::kKimiLinear, Arch::kGlm5Next}},
    {&C::has_delta_checkpoints, {Arch::kQwen3Next, Arch::kQwen3p5, Arch::kQwen4Exp}},
    {&C::has_index_workspace, {Arch::kDeepseekV32, Arch::kGlmMoeDsa, Arch::kDeepseekV4, Arch::kDeepseekV41}},
    // models/deepseek_v2.py.
    {&C::indexes_by_frequency, {Arch::kDeepseekV32, Arch::kGlmMoeDsa}},
    {&C::had_no_indexers, {Arch::kHyV4}},
    {&C::has_sinks, {Arch::kGptOss, Arch::kMimoV2}},
    {&C::needs_flash_sinks, {Arch::kMimoV2}},
    {&C::lacks_flashinfer_fp8, {Arch::kGptOss}},
    {&C::has_heads_of_two_widths, {Arch::kGemma4, Arch::kGemma4Unified}},
    {&C::lacks_fp8_on_blackwell, {Arch::kMimoV2}},
    {&C::has_plain_experts, {Arch::kNemotronH}},
    {&C::clamps_experts, {Arch::kDeepseekV4, Arch::kMinimaxM3}},
    {&C::pads_shared_blocks, {Arch::kDeepseekV4, Arch::kDeepseekV41}},
    {&C::pads_shared_on_rocm, {Arch::kDeepseekV41}},
    {&C::names_largest_graph, {Arch::kGptOss}},
    {&C::takes_videos_whole, {Arch::kGemma4, Arch::kGemma4Unified}},
    {&C::sizes_images_by_pixels, {Arch::kQwen, Arch::kQwen3Next, Arch::kQwen3p5, Arch::kQwen4Exp}},
    {&C::sizes_videos_by_frames,
     {},
     "Qwen2VLForConditionalGeneration Qwen2_5_VLForConditionalGeneration Qwen2_5OmniModel "
     "Qwen2_5OmniForConditionalGeneration"},
    {&C::counts_times_of_videos, {}, "Qwen3VLForConditionalGeneration Qwen3VLMoeForConditionalGeneration"},
    {&C::takes_no_videos,
     {Arch::kGemma2, Arch::kGemma3, Arch::kGemma3n, Arch::kMistral, Arch::kMistral3, Arch::kMistral4,
      Arch::kMistralLarge4, Arch::kMinistral, Arch::kLlama, Arch::kLlama4, Arch::kMllama, Arch::kPhi3V, Arch::kCohere2,
      Arch::kDeepseek, Arch::kDeepseekOcr, Arch::kDeepseekV3, Arch::kDeepseekV32, Arch::kDeepseekV4}},
    // ROCM_DEFAULT_MRV1_ARCHITECTURES of 0.30.
    {&C::has_old_runner_on_rocm, {}, "DeepseekV32ForCausalLM DeepseekV4ForCausalLM GlmMoeDsaForCausalLM"},
    // Found by running the engine.
    {&C::lacks_mtp, {}, "MiniMaxM2ForCausalLM"},
    {&C::builds_unnamed_mtp, {Arch::kMimoV2}},
    // Classes with embedding_modules. Phi-3 and Mistral use Llama's.
    {&C::adapts_embedding,
     {Arch::kLlama, Arch::kMistral, Arch::kPhi3, Arch::kGranite, Arch::kGraniteHybrid, Arch::kExaone, Arch::kExaone4,
      Arch::kNemotron, Arch::kSolar, Arch::kMinicpm, Arch::kFalconH1, Arch::kJamba, Arch::kBamba, Arch::kMixtral}},
};

// DEFAULT_V2_MODEL_RUNNER_ARCHITECTURES of each release from 0.22 to 0.28.
struct NewRunner {
  std::string_view classes;
  When<> when;
};
constexpr NewRunner kNewRunner[] = {
    {"Qwen3ForCausalLM", {.since = {0, 22}, .until = {0, 25}}},
    {"LlamaForCausalLM MistralForCausalLM", {.since = {0, 23}, .until = {0, 25}}},
    {"DeepseekV2ForCausalLM GraniteMoeForCausalLM Qwen2MoeForCausalLM", {.since = {0, 24}}},
    {"InklingForCausalLM InklingForConditionalGeneration LongcatFlashNgramForCausalLM", {.since = {0, 26}}},
    {"KimiK3ForConditionalGeneration", {.since = {0, 27}}},
    {"DeepseekV4ForCausalLM", {.since = {0, 28}}},
    {"DiffusionGemmaForBlockDiffusion", {.since = {0, 24}}},  // is_diffusion
};

bool vllm_lists_new_runner(const EngineInput& input) {
  return std::any_of(std::begin(kNewRunner), std::end(kNewRunner), [&](const NewRunner& row) {
    return has_word(row.classes, input.model.architecture) && holds(row.when, input.request);
  });
}

VllmClass vllm_class(Arch arch, std::string_view architecture) {
  return resolve_class(std::span<const ClassRow<C>>(kClasses), arch, architecture);
}

bool vllm_indexes_every_layer(Arch arch, std::span<const ConfigFact> facts, const VllmRules& rules) {
  if (!vllm_class(arch).indexes_by_frequency) return false;
  const auto stated = [&](std::string_view key) -> std::string_view {
    for (const ConfigFact& fact : facts)
      if (fact.origin == Origin::kFile && fact.key.ends_with(key) && fact.value != "null") return fact.value;
    return "";
  };
  const std::string_view every = stated("index_topk_freq");
  const bool is_each = stated("index_topk_pattern").empty() && (every.empty() || every == "1");
  const bool is_listed = !stated("indexer_types").empty();
  return rules.builds_every_indexer ? is_listed || !is_each : is_listed && is_each;
}

std::vector<LayerCache> vllm_local_layers(std::vector<LayerCache> caches, std::span<const ConfigFact> facts) {
  if (std::any_of(facts.begin(), facts.end(), [](const ConfigFact& fact) {
        return fact.origin == Origin::kFile && fact.key.ends_with("local_layer_ids") && fact.value != "null";
      }))
    return caches;
  const auto has_window = [](const LayerCache& cache) {
    return any_term(cache.compact, [](const Term& term) { return term.limit.kind != LimitKind::kNone; });
  };
  const auto is_attention = [](const LayerCache& cache) {
    return any_term(cache.compact, [](const Term& term) { return term.growth == Growth::kToken; });
  };
  std::size_t full = 0;
  while (full < caches.size() && (!is_attention(caches[full]) || has_window(caches[full]))) ++full;
  for (std::size_t i = 0; full + 1 < caches.size() && i + 1 < caches.size(); ++i) {
    if (!has_window(caches[i])) continue;
    for (std::size_t part = 0; part < 2; ++part) {  // attention, convolutions
      caches[i + part].kind = caches[full + part].kind;
      caches[i + part].compact = caches[full + part].compact;
    }
  }
  return caches;
}

}  // namespace kvplan
