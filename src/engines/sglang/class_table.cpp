#include "engines/sglang/class_table.h"

#include "engines/class_rows.h"
#include "engines/sglang/rules.h"
#include "engines/tensor_edits.h"
#include "kvplan/strings.h"

namespace kvplan {

namespace {

// clang-format off
std::span<const ClassRow<SglangClass>> sglang_classes() {
  using C = SglangClass;
  using enum Arch;
  static constexpr ClassRow<SglangClass> kRows[] = {
    {&C::compressed, {kDeepseekV4}},
    {&C::sparse_latents, {kDeepseekV32, kGlmMoeDsa, kGlm5Next, kDots3Note}},
    // model_config.py, is_hybrid_swa_model
    {&C::window_pool,
     {kLlama4, kGptOss, kMimoV2, kStep3p5, kGemma4, kGemma4Unified, kGraniteSwa, kLaguna, kMellum, kMuseGlimmer,
      kInkling, kDeepseekV4, kDots3Note, kUnlimitedOcr, kGraniteMoeSwa},
     "BeamForCausalLM"},
    {&C::no_window_pool, {}, "Llama4ForCausalLM Step3p7FlashForCausalLM"},
    {&C::checks_backend, {}, "Exaone4ForCausalLM ExaoneMoEForCausalLM ExaoneMoeForCausalLM"},
    {&C::checked_since_default, {}, "ExaoneMoeForCausalLM"},
    {&C::is_gpt_oss, {kGptOss}},
    // arg_groups/model_overrides, and _DEEPSEEK_FAMILY_ARCHS of overrides.py
    {&C::picks_nvfp4_runner, {kNemotronH, kDeepseekV4}},
    {&C::picks_runner_on_sm100,
     {kGemma4, kGemma4Unified, kMinimaxM3},
     "DeepseekV3ForCausalLM DeepseekV32ForCausalLM KimiK25ForConditionalGeneration MistralLarge3ForCausalLM "
     "PixtralForConditionalGeneration GlmMoeDsaForCausalLM Glm5NextForConditionalGeneration HYV4ForCausalLM "
     "LongcatFlashForCausalLM Dots3NoteForCausalLM Glm4MoeForCausalLM Qwen3MoeForCausalLM "
     "Qwen3VLMoeForConditionalGeneration Qwen3NextForCausalLM Qwen3_5MoeForConditionalGeneration "
     "InternS2PreviewForConditionalGeneration Qwen4ExpForConditionalGeneration BeamForCausalLM"},
    {&C::picks_runner_by_rule, {}, "MiniMaxM2ForCausalLM"},
    {&C::weighs_inputs, {kLlama4}},
    {&C::states_in_pages, {}, "KimiK3ForConditionalGeneration"},
    {&C::nemotron_h_pages, {kNemotronH}},
    {&C::pages_of_128, {kMinimaxM3}},
    {&C::no_state_chunks, {kMamba, kJamba, kLfm2, kZaya}},
    {&C::is_kimi_linear, {kKimiLinear}},
    {&C::fills_shared_layers, {kGemma3n}},
    {&C::images_among_tokens, {kMllama}},
    {&C::numbers_encoder, {}, "WhisperForConditionalGeneration"},  // model_config.py, num_attention_layers

    // is_multimodal_chunked_prefill_supported; arg_groups/model_hook.py for HRM, whose prompts attend in both directions
    {&C::whole_prefills, {},
     "MllamaForConditionalGeneration MossVLForConditionalGeneration LlavaLlamaForCausalLM Grok1VForCausalLM "
     "Grok1AForCausalLM HrmTextForCausalLM"},
    // handle_cuda_graph_config
    {&C::no_prefill_graphs, {kKimiK3, kDeepseekV4}},
    // piecewise_cuda_graph_disabled_model_archs of 0.5.10 to 0.5.13
    {&C::no_piecewise_graphs, {kDeepseekV4}, "Qwen3NextForCausalLM BailingMoeV2_5ForCausalLM"},
    {&C::prefill_graphs_with_images, {},
     "Qwen3_5ForConditionalGeneration Qwen3_5MoeForConditionalGeneration Cohere2VisionForConditionalGeneration "
     "KimiK25ForConditionalGeneration MiniMaxM3SparseForCausalLM MiniMaxM3SparseForConditionalGeneration "
     "MuseGlimmerForConditionalGeneration PaddleOCRVLForConditionalGeneration"},
    {&C::images_by_option, {},
     "Gemma3ForConditionalGeneration Llama4ForConditionalGeneration Step3VLForConditionalGeneration"},
    {&C::always_multimodal, {},
     "WhisperForConditionalGeneration Gemma4ForConditionalGeneration Gemma4UnifiedForConditionalGeneration"},
    {&C::default_tower, {}, "Step3p7FlashForCausalLM"},
    {&C::shares_images, {}, "Qwen3VLForConditionalGeneration Qwen3VLMoeForConditionalGeneration"},
  };
  return kRows;
}
// clang-format on

// model_loader/utils.py, models/transformers.py; srt/models of every release from 0.5.8 to 0.5.23.
struct LibraryClass {
  std::string_view classes;
  bool is_ready;  // false: SGLang refuses transformers' class
  When<> when;
};
constexpr LibraryClass kLibraryClasses[] = {
    // is_backend_compatible() of transformers 4.57.1 and 5.19.0, the ones of 0.5.8 and 0.5.23
    {"BambaForCausalLM BartForConditionalGeneration BioGptForCausalLM BlenderbotForConditionalGeneration "
     "BloomForCausalLM CodeGenForCausalLM CpmAntForCausalLM FalconForCausalLM Florence2ForConditionalGeneration "
     "GPTNeoForCausalLM JambaForCausalLM JanusForConditionalGeneration LongT5ForConditionalGeneration "
     "M2M100ForConditionalGeneration MBartForConditionalGeneration MT5ForConditionalGeneration MarianMTModel "
     "MptForCausalLM OlmoHybridForCausalLM PegasusForConditionalGeneration RwkvForCausalLM "
     "SwitchTransformersForConditionalGeneration T5ForConditionalGeneration UMT5ForConditionalGeneration "
     "XGLMForCausalLM Zamba2ForCausalLM ZambaForCausalLM xLSTMForCausalLM",
     false,
     {}},
    {"RecurrentGemmaForCausalLM", false, {.until = {0, 5, 22}}},  // installs transformers 5.12.1; later releases 5.19.0
    {"RecurrentGemmaForCausalLM", true, {.since = {0, 5, 22}}},
    {"Lfm2ForCausalLM", true, {.until = {0, 5, 9}}},
    {"Lfm2VlForConditionalGeneration", true, {.until = {0, 5, 10}}},
    {"Cohere2VisionForConditionalGeneration", true, {.until = {0, 5, 13}}},
    {"GraniteMoeSharedForCausalLM", true, {.until = {0, 5, 19}}},
};

}  // namespace

std::optional<bool> sglang_library_class(const EngineInput& input) {
  if (!sglang_rules(input.request).has_library_classes || input.model.is_gguf) return std::nullopt;
  for (const LibraryClass& row : kLibraryClasses)
    if (has_word(row.classes, input.model.architecture) && holds(row.when, input.request)) return row.is_ready;
  return std::nullopt;
}

SglangClass sglang_class(const ModelShape& model) {
  return resolve_class(sglang_classes(), model.arch, model.architecture);
}

}  // namespace kvplan
