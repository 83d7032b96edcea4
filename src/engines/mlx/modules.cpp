// Source: mlx-lm 0.32.2, mlx_lm/utils.py (MODEL_REMAPPING, _get_classes) and make_cache and quant_predicate of each
// file of mlx_lm/models.
#include "engines/mlx/modules.h"

#include <algorithm>
#include <string>

#include "kvplan/strings.h"

namespace kvplan {

namespace {

constexpr std::string_view kModules =
    "klear afm7 afmoe apertus baichuan_m1 bailing_hybrid bailing_moe bailing_moe_linear bailing_moe_v3 bitnet cohere "
    "cohere2 dbrx deepseek deepseek_v2 deepseek_v3 deepseek_v32 deepseek_v41 dots1 ernie4_5 ernie4_5_moe exaone "
    "exaone4 exaone_moe falcon_h1 gear gemma gemma2 gemma3 gemma3_text gemma3n gemma4 gemma4_text glm glm4 glm4_moe "
    "glm4_moe_lite glm_moe_dsa gpt2 gpt_bigcode gpt_neox gpt_oss gptj granite granitemoe granitemoehybrid helium "
    "hunyuan hunyuan_v1_dense internlm2 internlm3 iquestloopcoder jamba kimi_k25 kimi_k3 kimi_linear kimi_vl laguna "
    "lfm2-vl lfm2 lfm2_moe lille-130m llama llama4 llama4_text longcat_flash longcat_flash_ngram mamba mamba2 mellum "
    "mimo mimo_v2_flash minicpm minicpm3 minimax minimax_m3_vl ministral3 mistral3 mistral4 mixtral muse_glimmer "
    "muse_spark nanbeige nanochat nemotron-nas nemotron nemotron_h olmo olmo2 olmo3 olmo_hybrid olmoe openelm phi phi3 "
    "phi3small phimoe phixtral pixtral plamo plamo2 plamo3 prism_hadamard_qwen35 qwen qwen2 qwen2_moe qwen2_vl qwen3 "
    "qwen3_5 qwen3_5_moe qwen3_moe qwen3_next qwen3_vl qwen3_vl_moe recurrent_gemma rwkv7 seed_oss smollm3 solar_open "
    "spark2_5 stablelm starcoder2 step3p5 talkie telechat3 youtu_llm";

// model_types that another file serves.
struct Remapped {
  std::string_view types, module;
};
constexpr Remapped kRemapped[] = {
    {"mistral iquestcoder xverse", "llama"},
    {"llava", "mistral3"},
    {"phi-msft", "phixtral"},
    {"falcon_mamba", "mamba"},
    {"joyai_llm_flash kimi_k2", "deepseek_v3"},
    {"qwen2_5_vl", "qwen2_vl"},
    {"minimax_m2", "minimax"},
    {"gemma4_unified", "gemma4"},
    {"deepseek_v41_text", "deepseek_v41"},
};

constexpr std::string_view kRotating =
    "afmoe baichuan_m1 cohere2 exaone4 exaone_moe gear gemma3 gemma3_text gemma3n gemma4 gemma4_text gpt_oss "
    "iquestloopcoder laguna mellum mimo_v2_flash muse_glimmer muse_spark olmo3 plamo3 recurrent_gemma spark2_5 step3p5";
// mistral3, pixtral and smollm3 hold llama's layers, and have no make_cache.
constexpr std::string_view kRotatingByLayerTypes = "llama ministral3";

constexpr std::string_view kEightBitRouters =
    "klear afmoe bailing_hybrid bailing_moe bailing_moe_linear gemma4 gemma4_text gpt_oss granitemoe granitemoehybrid "
    "jamba kimi_k3 kimi_linear laguna lfm2_moe longcat_flash longcat_flash_ngram mellum minimax minimax_m3_vl "
    "prism_hadamard_qwen35 qwen3_5 qwen3_5_moe qwen3_moe qwen3_next qwen3_vl_moe step3p5";
constexpr std::string_view kPlainRouters =
    "bailing_moe_v3 deepseek deepseek_v2 deepseek_v3 deepseek_v32 deepseek_v41 dots1 exaone_moe glm4_moe glm4_moe_lite "
    "glm_moe_dsa kimi_k25 kimi_vl mimo_v2_flash muse_spark nemotron_h solar_open";

}  // namespace

MlxModule mlx_module(std::string_view root_type, std::string_view model_type) {
  const std::string wanted = lower(root_type.empty() ? model_type : root_type);
  MlxModule out;
  for (const Remapped& row : kRemapped)
    if (has_word(row.types, wanted)) out.name = row.module;
  if (out.name.empty())
    for (const std::string_view module : split(kModules))
      if (module == wanted) out.name = module;
  if (out.name.empty()) {
    out.rotation = Rotation::kAlways;  // as the architecture has it
    return out;
  }
  if (has_word(kRotating, out.name)) out.rotation = Rotation::kAlways;
  if (has_word(kRotatingByLayerTypes, out.name)) out.rotation = Rotation::kByLayerTypes;
  if (has_word(kEightBitRouters, out.name)) out.router = RouterType::kEightBit;
  if (has_word(kPlainRouters, out.name)) out.router = RouterType::kPlain;
  return out;
}

std::uint64_t mlx_head_dim(const MlxModule& module, std::span<const ConfigFact> facts) {
  constexpr std::uint64_t kFalconH1 = 64;
  if (module.name != "falcon_h1") return 0;
  const bool named = std::any_of(facts.begin(), facts.end(), [](const ConfigFact& fact) {
    return fact.key == "head_dim" && (fact.origin == Origin::kFile || fact.origin == Origin::kAlias);
  });
  return named ? 0 : kFalconH1;
}

}  // namespace kvplan
