#include "models/family.h"

#include <array>
#include <string>

#include "kvplan/strings.h"
#include "models/blocks/layers.h"
#include "models/reader.h"

namespace kvplan {

// Every family's file.
std::span<const Family> baichuan_family(), bailing_family(), bert_family(), deepseek_family(), dots_family(),
    encoder_decoder_family(), falcon_family(), gemma_family(), glm_family(), gpt_family(), granite_family(),
    hunyuan_family(), inkling_family(), kimi_family(), lfm_family(), llama_family(), longcat_family(), looped_family(),
    mamba_family(), mimo_family(), minicpm_family(), minimax_family(), mistral_family(), nemotron_family(),
    olmo_family(), others_family(), pangu_family(), patched_family(), phi_family(), plamo_family(), qwen_family(),
    rwkv_family(), speech_family(), step_family(), zamba_family();

std::span<const std::span<const Family>> families() {
  static const std::array kFiles{baichuan_family(), bailing_family(), bert_family(),
                                 deepseek_family(), dots_family(),    encoder_decoder_family(),
                                 falcon_family(),   gemma_family(),   glm_family(),
                                 gpt_family(),      granite_family(), hunyuan_family(),
                                 inkling_family(),  kimi_family(),    lfm_family(),
                                 llama_family(),    longcat_family(), looped_family(),
                                 mamba_family(),    mimo_family(),    minicpm_family(),
                                 minimax_family(),  mistral_family(), nemotron_family(),
                                 olmo_family(),     others_family(),  pangu_family(),
                                 patched_family(),  phi_family(),     plamo_family(),
                                 qwen_family(),     rwkv_family(),    speech_family(),
                                 step_family(),     zamba_family()};
  return kFiles;
}

const Family* find_family(std::string_view model_type) {
  const std::string wanted = lower(model_type);
  for (const auto& file : families())
    for (const Family& row : file)
      if (has_word(row.is.names, wanted)) return &row;
  return nullptr;
}

std::string_view rule_of(const Family& family) {
  struct Row {
    void (*layers)(Reader& reader);
    std::string_view rule;
  };
  static constexpr Row kShared[] = {
      {read_plain, "plain"},
      {read_windowed, "windowed"},
      {read_qwen, "qwen"},
      {read_mla, "mla"},
      {read_sparse_mla, "sparse_mla"},
      {read_cross_layer, "cross_layer"},
      {read_gated_delta_net, "gated_delta_net"},
      {read_kimi_linear, "kimi_linear"},
      {read_lightning, "lightning"},
      {read_mamba2_hybrid, "mamba2_hybrid"},
      {read_encoder_decoder, "encoder_decoder"},
      {read_encoder, "encoder"},
  };
  if (!family.rule.empty()) return family.rule;
  for (const Row& row : kShared)
    if (row.layers == family.layers) return row.rule;
  return "";
}

const Family* find_family(void (*layers)(Reader& reader)) {
  for (const auto& file : families())
    for (const Family& row : file)
      if (row.layers == layers) return &row;
  return nullptr;
}

std::string_view model_type_of(std::string_view class_name) {
  for (const std::string_view suffix : {"ForConditionalGeneration", "ForCausalLM", "LMHeadModel", "Model"}) {
    if (!class_name.ends_with(suffix)) continue;
    class_name.remove_suffix(suffix.size());
    break;
  }
  // "DeepseekV4" and "deepseek_v4" count as the same word.
  const std::string wanted = folded(class_name);
  if (wanted.empty()) return {};
  for (const auto& file : families())
    for (const Family& row : file)
      for (const std::string_view type : split(row.is.names))
        if (folded(type) == wanted || folded(type) == wanted + "text") return type;
  return {};
}

PatternRule pattern_of(const Reader& reader, const PatternRule& otherwise) {
  const Family* of_class = find_family(reader.text.class_name());
  return of_class != nullptr && of_class->pattern ? *of_class->pattern : otherwise;
}

}  // namespace kvplan
