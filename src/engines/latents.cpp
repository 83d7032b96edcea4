#include "engines/class_rows.h"

#include "kvplan/strings.h"

namespace kvplan {

bool sglang_names_latents(const EngineInput& input) {
  // SGLang prefers Mistral's own params.json, which makes a DeepSeek of mistral4 and mistral_large4.
  constexpr std::string_view kLatent =
      "bailing_hybrid deepseek_v2 deepseek_v3 deepseek_v32 deepseek_vl_v2 dots3_note dots3_note_text dots_vlm "
      "glm4_moe_lite glm5_next glm5_next_text glm_moe_dsa hy_v4 kimi_k2 kimi_k25 kimi_k3 kimi_linear kimi_vl "
      "longcat_flash minicpm3 mistral4 mistral_large4 mistral_large4_text sarvam_mla";
  return has_word(kLatent, input.model.model_type) || has_word(kLatent, input.model.root_type);
}

bool llama_cpp_names_latents(const EngineInput& input) {
  constexpr std::string_view kConverted =
      "bailing_hybrid deepseek_v2 deepseek_v3 deepseek_v32 deepseek_vl_v2 dots3_note dots3_note_text glm4_moe_lite "
      "glm_moe_dsa hy_v4 kimi_k2 kimi_k25 kimi_k3 kimi_linear kimi_vl minicpm3 mistral4 plm youtu";
  return input.model.is_gguf || has_word(kConverted, input.model.model_type) ||
         has_word(kConverted, input.model.root_type);
}

bool mistralrs_names_latents(const EngineInput& input) {
  return has_word("deepseek_v2 deepseek_v3 glm4_moe_lite", input.model.model_type);
}

}  // namespace kvplan
