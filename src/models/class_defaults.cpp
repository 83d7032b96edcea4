// The value of a key that a config leaves out. A file may leave out what equals its class's default: nested text
// configs are saved as differences, and old files lack newer keys.
#include "models/class_defaults.h"

#include "kvplan/strings.h"
#include "models/family.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>

namespace kvplan {

constexpr std::string_view kColon = ": ";

static std::string_view type_of(std::string_view line) {
  return line.substr(0, line.find(kColon));
}

// "key=value key=value", values as JSON.
static std::optional<std::string_view> fields_of(std::string_view model_type) {
  const auto rows = class_default_lines().subspan(1);
  const auto row =
      std::lower_bound(rows.begin(), rows.end(), model_type,
                       [](std::string_view line, std::string_view wanted) { return type_of(line) < wanted; });
  if (row == rows.end() || type_of(*row) != model_type) return std::nullopt;
  return row->substr(model_type.size() + kColon.size());
}

bool has_class(std::string_view model_type) {
  return fields_of(model_type).has_value();
}

Fields with_class(const Fields& fields, std::string_view model_type) {
  // A translated file (GGUF) gets no defaults: an absent key is absent.
  return fields.with_defaults(model_type, fields.is_translated() ? "" : fields_of(model_type).value_or(""));
}

Fields with_class_as(const Fields& fields, std::string_view model_type, std::string_view another) {
  const std::string_view row = has_class(model_type) ? model_type : another;
  return fields.with_defaults(another, fields.is_translated() ? "" : fields_of(row).value_or(""));
}

Fields with_class_inside(const Fields& nested, std::string_view outer_type, std::string_view model_type) {
  std::string row = std::string(outer_type) + '/' + nested.path();
  if (row.ends_with('.')) row.pop_back();
  const auto own = fields_of((row += '/') += model_type);
  return own ? nested.with_defaults(model_type, *own) : with_class(nested, model_type);
}

namespace {

// A class, and the model_types that use it.
struct ClassRow {
  std::string_view name, types;
};

// The decoder's class in composites whose nested config does not name it.
constexpr ClassRow kTextClasses[] = {
    {"llama",
     "llava llava_next vipllava video_llava idefics3 llava_next_video perception_lm glmasr janus deepseek_vl "
     "deepseek_vl_hybrid smolvlm voxtral"},
    {"qwen2",
     "llava_onevision audioflamingo3 musicflamingo fast_vlm video_llama_3 qwen2_audio internvl ovis2 got_ocr2"},
    {"gemma", "paligemma colpali"},
    {"mistral", "mistral3 idefics2 pixtral"},
    {"voxtral_realtime_text", "voxtral_realtime"},
    {"t5_gemma_module", "t5gemma"},
    {"t5gemma2_decoder", "t5gemma2"},
    {"musicgen_decoder", "musicgen"},
    {"musicgen_melody_decoder", "musicgen_melody"},
    {"dia_decoder", "dia"},
    {"inkling_text", "inkling_mm_model"},
    {"gemma3_text", "shieldgemma2"},
    {"cohere_compass_text", "cohere_compass"},
    {"granite", "granite_speech_plus granite_speech"},
    {"bart", "florence2"},
    {"opt", "blip-2 instructblip instructblipvideo"},
    {"kosmos_2_text_model", "kosmos-2"},
    {"kosmos_2_5_text_model", "kosmos-2.5"},
    {"pix2struct_text_model", "pix2struct"},
    {"qwen3", "lighton_ocr ovis2_5"},
    {"glm4v_text", "glm46v"},
    {"exaone4", "exaone4_5"},
    {"aria_text", "aria"},
    {"mllama_text_model", "mllama"},
    {"lfm2", "lfm2_vl"},
    {"deepseek_v3", "kimi_k25 kimi_vl"},
    {"cohere2", "aya_vision cohere2_vision"},
    {"emu3_text_model", "emu3"},
    {"qwen2_5_omni_text", "qwen2_5_omni"},
    {"qwen3_omni_moe_text", "qwen3_omni_moe"},
    {"minimax_m3_vl_text", "minimax_m3_vl"},
    {"deepseek_v2", "deepseek_vl_v2"},
    {"step3_text", "step3_vl"},
    {"step5", "step5_vl"},
    {"step3p5", "step3p7"},
};

// For the defaults of fields, the class of types whose class has another name.
constexpr ClassRow kClasses[] = {
    {"step3p5", "step3p7"},
    {"exaone4", "exaone4_5_text"},
    {"deepseek_v3", "kimi_k2 kimi_k25"},
    {"deepseek_v2", "deepseek_vl_v2"},
    {"llama", "code_llama"},
    {"falcon", "refinedweb refinedwebmodel"},
    {"longcat_flash", "longcat_flash_ngram"},
    {"mimo_v2_flash", "mimo_v2"},
    {"deepseek_v4", "deepseek_ref"},
    {"t5gemma2_decoder", "t5gemma2_module"},
    {"ernie4_5_vl_moe_text", "ernie4_5_moe_vl"},
    {"qwen4_exp_text", "qwen4_exp qwen3_8_flash_next qwen3_8_flash_next_text"},
    {"minimax_m3_vl_text", "minimax_m3 minimax_m3_text"},
};

std::string_view find_class(std::span<const ClassRow> rows, std::string_view type) {
  for (const ClassRow& row : rows)
    if (has_word(row.types, type)) return row.name;
  return {};
}

}  // namespace

std::string flat_class(const std::string& model_type) {
  return has_class(model_type + "_text") ? model_type + "_text" : model_type;
}

std::string text_class(const Fields& text, const std::string& root_type) {
  if (const auto named = text.find_string("model_type"); named && !named->empty()) return *named;
  const auto architectures = text.strings("architectures");
  if (architectures && !architectures->empty())
    if (const auto type = model_type_of(architectures->front()); !type.empty()) return std::string(type);
  if (const auto text_type = find_class(kTextClasses, root_type); !text_type.empty()) return std::string(text_type);
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
  const std::string_view known = find_class(kClasses, type);
  return known.empty() ? type : std::string(known);
}

// MiniCPM-V and -o: the version decides which decoder they have. 2.0 and 2.5 have no version, and differ in their
// widths. Source: vLLM models/minicpmv.py and minicpmo.py, and the files' own configuration_minicpm.py.
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
