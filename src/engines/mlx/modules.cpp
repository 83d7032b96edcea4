// Source: mlx-lm 0.32.2, mlx_lm/utils.py (MODEL_REMAPPING, _get_classes) and make_cache and quant_predicate of each
// file of mlx_lm/models.
#include "engines/mlx/modules.h"

#include <algorithm>
#include <string>

#include "kvplan/strings.h"

namespace kvplan {

namespace {

constexpr std::string_view kModules =
    "klear.py afm7.py afmoe.py apertus.py baichuan_m1.py bailing_hybrid.py bailing_moe.py bailing_moe_linear.py "
    "bailing_moe_v3.py bitnet.py cohere.py cohere2.py dbrx.py deepseek.py deepseek_v2.py deepseek_v3.py "
    "deepseek_v32.py deepseek_v41.py dots1.py ernie4_5.py ernie4_5_moe.py exaone.py exaone4.py exaone_moe.py "
    "falcon_h1.py gear.py gemma.py gemma2.py gemma3.py gemma3_text.py gemma3n.py gemma4.py gemma4_text.py glm.py "
    "glm4.py glm4_moe.py glm4_moe_lite.py glm_moe_dsa.py gpt2.py gpt_bigcode.py gpt_neox.py gpt_oss.py gptj.py "
    "granite.py granitemoe.py granitemoehybrid.py helium.py hunyuan.py hunyuan_v1_dense.py internlm2.py "
    "internlm3.py iquestloopcoder.py jamba.py kimi_k25.py kimi_k3.py kimi_linear.py kimi_vl.py laguna.py lfm2-vl.py "
    "lfm2.py lfm2_moe.py lille-130m.py llama.py llama4.py llama4_text.py longcat_flash.py longcat_flash_ngram.py "
    "mamba.py mamba2.py mellum.py mimo.py mimo_v2_flash.py minicpm.py minicpm3.py minimax.py minimax_m3_vl.py "
    "ministral3.py mistral3.py mistral4.py mixtral.py muse_glimmer.py muse_spark.py nanbeige.py nanochat.py "
    "nemotron-nas.py nemotron.py nemotron_h.py olmo.py olmo2.py olmo3.py olmo_hybrid.py olmoe.py openelm.py phi.py "
    "phi3.py phi3small.py phimoe.py phixtral.py pixtral.py plamo.py plamo2.py plamo3.py prism_hadamard_qwen35.py "
    "qwen.py qwen2.py qwen2_moe.py qwen2_vl.py qwen3.py qwen3_5.py qwen3_5_moe.py qwen3_moe.py qwen3_next.py "
    "qwen3_vl.py qwen3_vl_moe.py recurrent_gemma.py rwkv7.py seed_oss.py smollm3.py solar_open.py spark2_5.py "
    "stablelm.py starcoder2.py step3p5.py talkie.py telechat3.py youtu_llm.py";

// model_types that another module's file serves.
constexpr std::string_view kRemapped =
    "mistral=llama.py iquestcoder=llama.py xverse=llama.py llava=mistral3.py phi-msft=phixtral.py "
    "falcon_mamba=mamba.py joyai_llm_flash=deepseek_v3.py kimi_k2=deepseek_v3.py qwen2_5_vl=qwen2_vl.py "
    "minimax_m2=minimax.py gemma4_unified=gemma4.py deepseek_v41_text=deepseek_v41.py";

constexpr std::string_view kRotating =
    "afmoe.py baichuan_m1.py cohere2.py exaone4.py exaone_moe.py gear.py gemma3.py gemma3_text.py gemma3n.py "
    "gemma4.py gemma4_text.py gpt_oss.py iquestloopcoder.py laguna.py mellum.py mimo_v2_flash.py muse_glimmer.py "
    "muse_spark.py olmo3.py plamo3.py recurrent_gemma.py spark2_5.py step3p5.py";
// mistral3, pixtral and smollm3 use llama's layers, and have no make_cache.
constexpr std::string_view kRotatingByLayerTypes = "llama.py ministral3.py";

// Modules with their own make_cache, or one inherited from another class: make_prompt_cache then does nothing else.
constexpr std::string_view kMakeCaches =
    "afm7.py afmoe.py baichuan_m1.py bailing_hybrid.py bailing_moe_linear.py bailing_moe_v3.py cohere2.py "
    "deepseek_v32.py deepseek_v41.py exaone4.py exaone_moe.py falcon_h1.py gear.py gemma3.py gemma3_text.py "
    "gemma3n.py gemma4.py gemma4_text.py glm_moe_dsa.py gpt_oss.py granitemoehybrid.py iquestloopcoder.py jamba.py "
    "kimi_k3.py kimi_linear.py laguna.py lfm2-vl.py lfm2.py lfm2_moe.py llama.py llama4.py longcat_flash.py "
    "longcat_flash_ngram.py mamba.py mamba2.py mellum.py mimo_v2_flash.py minimax_m3_vl.py ministral3.py "
    "muse_glimmer.py muse_spark.py nanbeige.py nemotron-nas.py nemotron_h.py olmo3.py olmo_hybrid.py plamo2.py "
    "plamo3.py prism_hadamard_qwen35.py qwen3_5.py qwen3_5_moe.py qwen3_next.py recurrent_gemma.py rwkv7.py "
    "spark2_5.py step3p5.py";

constexpr std::string_view kEightBitRouters =
    "klear.py afmoe.py bailing_hybrid.py bailing_moe.py bailing_moe_linear.py gemma4.py gemma4_text.py gpt_oss.py "
    "granitemoe.py granitemoehybrid.py jamba.py kimi_k3.py kimi_linear.py laguna.py lfm2_moe.py longcat_flash.py "
    "longcat_flash_ngram.py mellum.py minimax.py minimax_m3_vl.py prism_hadamard_qwen35.py qwen3_5.py "
    "qwen3_5_moe.py qwen3_moe.py qwen3_next.py qwen3_vl_moe.py step3p5.py";
constexpr std::string_view kPlainRouters =
    "bailing_moe_v3.py deepseek.py deepseek_v2.py deepseek_v3.py deepseek_v32.py deepseek_v41.py dots1.py "
    "exaone_moe.py glm4_moe.py glm4_moe_lite.py glm_moe_dsa.py kimi_k25.py kimi_vl.py mimo_v2_flash.py "
    "muse_spark.py nemotron_h.py solar_open.py";

// The word in the list that begins with `beginning`; "" where none does.
std::string_view find_word(std::string_view words, std::string_view beginning) {
  for (std::size_t at = words.find(beginning); at != std::string_view::npos; at = words.find(beginning, at + 1))
    if (at == 0 || words[at - 1] == ' ') return words.substr(at, words.find(' ', at) - at);
  return {};
}

}  // namespace

MlxModule mlx_module(std::string_view root_type, std::string_view model_type) {
  const std::string wanted = lower(root_type.empty() ? model_type : root_type);
  MlxModule out;
  out.name = find_word(kRemapped, wanted + "=");
  if (const std::size_t equals = out.name.find('='); equals != std::string_view::npos)
    out.name.remove_prefix(equals + 1);
  if (out.name.empty()) out.name = find_word(kModules, wanted + ".py");
  if (out.name.empty()) {
    out.rotation = Rotation::kAlways;  // wherever the architecture has a window
    return out;
  }
  out.makes_caches = has_word(kMakeCaches, out.name);
  if (has_word(kRotating, out.name)) out.rotation = Rotation::kAlways;
  if (has_word(kRotatingByLayerTypes, out.name)) out.rotation = Rotation::kByLayerTypes;
  if (has_word(kEightBitRouters, out.name)) out.router = RouterType::kEightBit;
  if (has_word(kPlainRouters, out.name)) out.router = RouterType::kPlain;
  return out;
}

std::uint64_t mlx_head_dim(const MlxModule& module, std::span<const ConfigFact> facts) {
  constexpr std::uint64_t kFalconH1 = 64;
  if (module.name != "falcon_h1.py") return 0;
  const bool named = std::any_of(facts.begin(), facts.end(), [](const ConfigFact& fact) {
    return fact.key == "head_dim" && (fact.origin == Origin::kFile || fact.origin == Origin::kAlias);
  });
  return named ? 0 : kFalconH1;
}

}  // namespace kvplan
