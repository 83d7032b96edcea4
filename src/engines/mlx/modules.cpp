// Source: mlx-lm 0.32.2, mlx_lm/utils.py (MODEL_REMAPPING, _get_classes) and make_cache, quant_predicate,
// cast_predicate and sanitize of each file of mlx_lm/models.
#include "engines/mlx/modules.h"

#include <algorithm>
#include <string>
#include <vector>

#include "kvplan/strings.h"

namespace kvplan {

namespace {

constexpr std::uint32_t kListed = kOwnCaches | kListedCaches;
constexpr std::uint32_t kRotating = kOwnCaches | kRotates;
constexpr std::uint32_t kRotatingByTypes = kOwnCaches | kRotatesByTypes;

// Modules that do the same share a row.
struct ModuleRow {
  std::string_view names;
  std::uint32_t traits;
  std::string_view other_types = {};  // model_types that the first of these modules also serves
};
constexpr ModuleRow kModules[] = {
    {"afm7 lfm2-vl lfm2", kOwnCaches | kNoHead},
    {"afmoe laguna", kRotating | kEightBitRouter | kFloat32Bias | kOwnByDefault},
    {"apertus ernie4_5 ernie4_5_moe gpt_neox helium llama4_text olmo openelm qwen3 qwen3_vl talkie", kUsual},
    {"baichuan_m1", kRotating | kListedCaches | kOwnByDefault},
    {"bailing_hybrid kimi_k3 kimi_linear", kOwnCaches | kEightBitRouter | kFloat32Bias | kOwnByDefault},
    {"bailing_moe", kEightBitRouter | kFloat32Bias | kOwnByDefault},
    {"bailing_moe_linear", kOwnCaches | kPlainStates | kEightBitRouter | kFloat32Bias | kOwnByDefault},
    {"bailing_moe_v3", kOwnCaches | kPlainRouter | kFloat32Bias | kOwnByDefault},
    {"bitnet exaone glm gpt_bigcode granite olmo2 olmoe qwen2 seed_oss smollm3 starcoder2", kTiedByDefault},
    {"cohere gemma gpt2 lille-130m phi3small", kNoHead},
    {"cohere2 gemma3n", kRotating | kNoHead},
    {"dbrx glm4 gptj nanochat phi phimoe pixtral plamo qwen qwen2_moe stablelm", kOwnHead},
    {"deepseek", kPlainRouter | kOwnHead},
    {"deepseek_v2", kExpandsLatents | kPlainRouter | kOwnHead},
    {"deepseek_v3 kimi_k25", kPlainRouter | kFloat32Bias | kOwnHead | kUnpacksFp8, "joyai_llm_flash kimi_k2"},
    {"deepseek_v32 glm_moe_dsa", kListed | kIndexInEveryLayer | kPlainRouter | kFloat32Bias | kOwnHead | kUnpacksFp8},
    {"deepseek_v41", kOwnCaches | kPlainRouter | kFloat32Bias | kOwnHead | kNoEngrams, "deepseek_v41_text"},
    {"dots1", kPlainRouter | kOwnByDefault},
    {"exaone4 gemma3 gemma3_text", kRotating},
    {"exaone_moe", kRotating | kPlainRouter | kFloat32Bias | kOwnByDefault},
    {"falcon_h1", kNarrowHeads | kListed | kTiedByDefault},
    {"gear plamo3 spark2_5", kRotating | kTiedByDefault},
    {"gemma2", kPlainScores | kNoHead},
    {"gemma4 gemma4_text", kRotating | kEightBitRouter | kTiedByDefault, "gemma4_unified"},
    {"glm4_moe glm4_moe_lite kimi_vl solar_open", kPlainRouter | kFloat32Bias | kOwnHead},
    {"gpt_oss", kRotating | kEightBitRouter | kOwnHead},
    {"granitemoe", kEightBitRouter | kTiedByDefault},
    {"granitemoehybrid", kOwnCaches | kEightBitRouter | kTiedByDefault},
    {"hunyuan", kCachesShared | kNoHead},
    {"hunyuan_v1_dense internlm2 internlm3 mimo minicpm mixtral nemotron phi3 telechat3", kOwnByDefault},
    {"iquestloopcoder muse_glimmer olmo3", kRotating | kOwnByDefault},
    {"jamba", kOwnCaches | kPlainStates | kEightBitRouter | kTiedByDefault},
    {"klear", kEightBitRouter | kFloat32Bias | kOwnHead},
    {"lfm2_moe", kOwnCaches | kEightBitRouter | kFloat32Bias | kNoHead},
    {"llama", kRotatingByTypes | kTiedByDefault, "mistral iquestcoder xverse"},
    {"llama4", kOwnCaches | kChunks},
    {"longcat_flash longcat_flash_ngram", kListed | kEightBitRouter | kFloat32Bias},
    {"mamba", kOwnCaches | kPlainStates | kTiedByDefault, "falcon_mamba"},
    {"mamba2 olmo_hybrid", kOwnCaches},
    {"mellum", kRotating | kEightBitRouter},
    {"mimo_v2_flash", kRotating | kPlainRouter | kFloat32Bias | kOwnHead | kUnpacksFp8},
    {"minicpm3", kExpandsLatents | kOwnByDefault},
    {"minimax", kEightBitRouter | kFloat32Bias | kOwnByDefault | kUnpacksFp8, "minimax_m2"},
    {"minimax_m3_vl", kListed | kEightBitRouter | kFloat32Bias | kOwnByDefault},
    {"ministral3", kRotatingByTypes | kTiedByDefault | kUnpacksFp8},
    {"mistral3 mistral4", kOwnByDefault | kUnpacksFp8, "llava"},
    {"muse_spark", kRotating | kPlainRouter | kOwnHead | kWithTowers},
    {"nanbeige nemotron-nas", kOwnCaches | kOwnByDefault},
    {"nemotron_h", kOwnCaches | kPlainRouter | kFloat32Bias | kOwnHead},
    {"phixtral", kUsual, "phi-msft"},
    {"plamo2", kOwnCaches | kTiedByDefault},
    {"prism_hadamard_qwen35", kOwnCaches | kEightBitRouter},
    {"qwen2_vl", kTiedByDefault, "qwen2_5_vl"},
    {"qwen3_5 qwen3_5_moe qwen3_next", kOwnCaches | kEightBitRouter | kOwnByDefault},
    {"qwen3_moe qwen3_vl_moe", kEightBitRouter},
    {"recurrent_gemma", kRotating | kOneKvHead | kPlainStates},
    {"rwkv7", kOwnCaches | kPlainStates | kOwnByDefault},
    {"step3p5", kRotating | kEightBitRouter | kFloat32Bias | kOwnHead},
    {"youtu_llm", kExpandsLatents | kTiedByDefault},
};

}  // namespace

MlxModule mlx_module(std::string_view root_type, std::string_view model_type) {
  const std::string wanted = lower(root_type.empty() ? model_type : root_type);
  for (const ModuleRow& row : kModules) {
    const std::vector<std::string_view> names = split(row.names);
    if (has_word(row.other_types, wanted)) return {names.front(), row.traits};
    for (const std::string_view name : names)
      if (name == wanted) return {name, row.traits};
  }
  return {};
}

std::uint64_t mlx_head_dim(const MlxModule& module, std::span<const ConfigFact> facts) {
  constexpr std::uint64_t kNarrow = 64;
  const bool is_named = std::any_of(facts.begin(), facts.end(), [](const ConfigFact& fact) {
    return fact.key == "head_dim" && (fact.origin == Origin::kFile || fact.origin == Origin::kAlias);
  });
  return module.is(kNarrowHeads) && !is_named ? kNarrow : 0;
}

}  // namespace kvplan
