#include "models/model_class.h"

#include <array>

#include "models/class_defaults.h"
#include "models/registry.h"

namespace kvplan {

namespace {

// The class of the decoder in composites whose nested config does not name it.
struct TextClass {
  std::string_view root, text;
};
constexpr TextClass kTextClasses[] = {
    TextClass{"llava", "llama"},
    TextClass{"llava_next", "llama"},
    TextClass{"llava_onevision", "qwen2"},
    TextClass{"vipllava", "llama"},
    TextClass{"video_llava", "llama"},
    TextClass{"paligemma", "gemma"},
    TextClass{"mistral3", "mistral"},
    TextClass{"idefics2", "mistral"},
    TextClass{"idefics3", "llama"},
    TextClass{"llava_next_video", "llama"},
    TextClass{"pixtral", "mistral"},
    TextClass{"voxtral_realtime", "voxtral_realtime_text"},
    TextClass{"t5gemma", "t5_gemma_module"},
    TextClass{"t5gemma2", "t5gemma2_decoder"},
    TextClass{"musicgen", "musicgen_decoder"},
    TextClass{"musicgen_melody", "musicgen_melody_decoder"},
    TextClass{"dia", "dia_decoder"},
    TextClass{"inkling_mm_model", "inkling_text"},
    TextClass{"colpali", "gemma"},
    TextClass{"shieldgemma2", "gemma3_text"},
    TextClass{"cohere_compass", "cohere_compass_text"},
    TextClass{"perception_lm", "llama"},
    TextClass{"glmasr", "llama"},
    TextClass{"granite_speech_plus", "granite"},
    TextClass{"audioflamingo3", "qwen2"},
    TextClass{"musicflamingo", "qwen2"},
    TextClass{"fast_vlm", "qwen2"},
    TextClass{"florence2", "bart"},
    TextClass{"blip-2", "opt"},
    TextClass{"instructblip", "opt"},
    TextClass{"instructblipvideo", "opt"},
    TextClass{"kosmos-2", "kosmos_2_text_model"},
    TextClass{"kosmos-2.5", "kosmos_2_5_text_model"},
    TextClass{"pix2struct", "pix2struct_text_model"},
    TextClass{"lighton_ocr", "qwen3"},
    TextClass{"glm46v", "glm4v_text"},
    TextClass{"exaone4_5", "exaone4"},
    TextClass{"janus", "llama"},
    TextClass{"deepseek_vl", "llama"},
    TextClass{"deepseek_vl_hybrid", "llama"},
    TextClass{"video_llama_3", "qwen2"},
    TextClass{"ovis2_5", "qwen3"},
    TextClass{"smolvlm", "llama"},
    TextClass{"aria", "aria_text"},
    TextClass{"qwen2_audio", "qwen2"},
    TextClass{"mllama", "mllama_text_model"},
    TextClass{"internvl", "qwen2"},
    TextClass{"ovis2", "qwen2"},
    TextClass{"granite_speech", "granite"},
    TextClass{"voxtral", "llama"},
    TextClass{"lfm2_vl", "lfm2"},
    TextClass{"kimi_k25", "deepseek_v3"},
    TextClass{"kimi_vl", "deepseek_v3"},
    TextClass{"aya_vision", "cohere2"},
    TextClass{"cohere2_vision", "cohere2"},
    TextClass{"got_ocr2", "qwen2"},
    TextClass{"emu3", "emu3_text_model"},
    TextClass{"qwen2_5_omni", "qwen2_5_omni_text"},
    TextClass{"qwen3_omni_moe", "qwen3_omni_moe_text"},
    TextClass{"minimax_m3_vl", "minimax_m3_vl_text"},
    TextClass{"deepseek_vl_v2", "deepseek_v2"},
    TextClass{"step3_vl", "step3_text"},
    TextClass{"step3p7", "step3p5"},
};

// Kinds whose class has another name, for the defaults of their fields.
struct ClassOf {
  std::string_view model_type, same_as;
};
constexpr std::array kClassOf{
    ClassOf{"step3p7", "step3p5"},
    ClassOf{"kimi_k2", "deepseek_v3"},
    ClassOf{"kimi_k25", "deepseek_v3"},
    ClassOf{"deepseek_vl_v2", "deepseek_v2"},
    ClassOf{"code_llama", "llama"},
    ClassOf{"refinedweb", "falcon"},
    ClassOf{"refinedwebmodel", "falcon"},
    ClassOf{"longcat_flash_ngram", "longcat_flash"},
    ClassOf{"mimo_v2", "mimo_v2_flash"},
    ClassOf{"deepseek_ref", "deepseek_v4"},
    ClassOf{"t5gemma2_module", "t5gemma2_decoder"},
    ClassOf{"ernie4_5_moe_vl", "ernie4_5_vl_moe_text"},
    ClassOf{"qwen4_exp", "qwen4_exp_text"},
    ClassOf{"qwen3_8_flash_next", "qwen4_exp_text"},
    ClassOf{"qwen3_8_flash_next_text", "qwen4_exp_text"},
    ClassOf{"minimax_m3", "minimax_m3_vl_text"},
};

}  // namespace

std::string flat_class(const std::string& model_type) {
  return has_class(model_type + "_text") ? model_type + "_text" : model_type;
}

std::string text_class(const Fields& text, const std::string& root_type) {
  if (const auto named = text.find_string("model_type"); named && !named->empty()) return *named;
  const auto architectures = text.strings("architectures");
  if (architectures && !architectures->empty())
    if (const auto type = model_type_of(architectures->front()); !type.empty()) return std::string(type);
  for (const TextClass& row : kTextClasses)
    if (row.root == root_type) return std::string(row.text);
  for (const std::string& candidate : {root_type + "_text", root_type + "_text_model"})
    if (has_class(candidate) || find_family(candidate) != nullptr) return candidate;
  return root_type;
}

std::string class_word(std::string_view name) {
  std::string out;
  for (const char c : name.substr(0, 100)) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' ||
                       c == '-' || c == '.' || c == '/' || c == '+';
    out += plain ? c : '?';
  }
  return out;
}

std::string class_of(std::string type) {
  for (const ClassOf& row : kClassOf)
    if (row.model_type == type) return std::string(row.same_as);
  return type;
}

// MiniCPM-V and -o go by a version: which decoder they have. Source: vLLM models/minicpmv.py and minicpmo.py, and the
// files' own configuration_minicpm.py; 2.0 and 2.5 name none, and differ in their widths.
std::string_view class_of_version(std::string_view type, const Fields& config) {
  if (type != "minicpmv" && type != "minicpmo") return {};
  const auto number = config.is_number("version") ? config.find_real("version") : std::nullopt;
  const std::string word = config.is_string("version") ? *config.find_string("version") : "";
  const auto is = [&](double value, std::string_view spelled) {
    return number ? *number > value - 0.01 && *number < value + 0.01 : word == spelled;
  };
  if (is(4.5, "4.5")) return "qwen3";
  if (is(2.6, "2.6") || type == "minicpmo") return "qwen2";
  if (is(4.0, "4.0") || is(2.5, "2.5")) return "llama";
  return config.count_or("hidden_size", 0) == 2304 ? "minicpm" : "llama";
}

}  // namespace kvplan
