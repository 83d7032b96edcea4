// The families, one line for each file.
#include "models/registry.h"

#include <array>
#include <string>

#include "kvplan/strings.h"
#include "models/blocks/layers.h"
#include "models/reader.h"

#define KVPLAN_FAMILIES(FILE) \
  FILE(baichuan)              \
  FILE(bailing)               \
  FILE(bert)                  \
  FILE(deepseek)              \
  FILE(dots)                  \
  FILE(encoder_decoder)       \
  FILE(falcon)                \
  FILE(gemma)                 \
  FILE(glm)                   \
  FILE(gpt)                   \
  FILE(granite)               \
  FILE(hunyuan)               \
  FILE(inkling)               \
  FILE(kimi)                  \
  FILE(lfm)                   \
  FILE(llama)                 \
  FILE(longcat)               \
  FILE(looped)                \
  FILE(mamba)                 \
  FILE(mimo)                  \
  FILE(minicpm)               \
  FILE(minimax)               \
  FILE(mistral)               \
  FILE(nemotron)              \
  FILE(olmo)                  \
  FILE(others)                \
  FILE(pangu)                 \
  FILE(patched)               \
  FILE(phi)                   \
  FILE(plamo)                 \
  FILE(qwen)                  \
  FILE(rwkv)                  \
  FILE(speech)                \
  FILE(step)                  \
  FILE(zamba)

namespace kvplan {

#define KVPLAN_DECLARE(file) std::span<const Family> file##_family();
KVPLAN_FAMILIES(KVPLAN_DECLARE)
#undef KVPLAN_DECLARE

std::span<const std::span<const Family>> families() {
#define KVPLAN_CALL(file) file##_family(),
  static const std::array kFiles{KVPLAN_FAMILIES(KVPLAN_CALL)};
#undef KVPLAN_CALL
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
