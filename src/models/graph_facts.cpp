// Facts about llama.cpp's graphs that neither keys nor tensors show, by llama.cpp's names of the architectures. Source:
// src/models/*.cpp and llama_model_rope_type of v0.5.0.

#include <algorithm>

#include "kvplan/strings.h"
#include "models/gguf_archs.h"

namespace kvplan {

constexpr std::string_view kLayerNorms = "command-r cohere2 dbrx mpt olmo";
constexpr std::string_view kScaledEmbedding = "afmoe gemma gemma2 minicpm minicpm3 grok";
constexpr std::string_view kScaledByKey = "granite granitemoe granitehybrid granite_swa hrm_text";
constexpr std::string_view kScaledTokens = "gemma3 gemma3n gemma4 gemma-embedding";
constexpr std::string_view kFourPositions = "qwen2vl qwen25vl paddleocr qwen3vl qwen3vlmoe qwen35 qwen35moe qwen4exp";
constexpr std::string_view kFourWithSections = "glm4 glm4moe hunyuan_vl";
constexpr std::string_view kNoRotary =
    "jamba kimi-linear nemotron_h nemotron_h_moe bloom gpt2 mpt starcoder refact jais";
constexpr std::string_view kRotaryInWindows = "cohere2 afmoe";
constexpr std::string_view kEveryFourth = "smollm3 llama4";
constexpr std::string_view kPlainWeights = "deepseek jamba llada-moe llama4 olmoe gpt-oss qwen2moe";
constexpr std::string_view kWeightsByKey =
    "bailingmoe bailingmoe2 bailingmoe3 cohere2moe deepseek2 deepseek2-ocr deepseek32 deepseek4 dots1 dots3note "
    "exaone-moe glm-dsa glm4moe hy_v4 kimi-k3 minimax-m3 nemotron_h nemotron_h_moe step35";
constexpr std::uint64_t kMostGraphHeads = 1U << 20U;
constexpr std::string_view kClamped = "step35";
// Unless a draft needs the hidden states of all rows.
constexpr std::string_view kChosenLate = "bailingmoe3 hy_v3";
// llm_arch_supports_mixed_batch of v0.6.0.
constexpr std::string_view kNeverMixed = "cogvlm deepseek4 granite-switch eagle3 dflash gemma4-assistant";
// Architectures whose buffers were exact to the byte in executed contexts of every kind on one GPU.
constexpr std::string_view kChecked =
    "arcee bailingmoe bailingmoe2 codeshell cohere2 cohere2moe command-r dbrx deepseek deepseek2 ernie4_5 ernie4_5-moe "
    "exaone exaone4 falcon gemma2 gemma3 glm4 glm4moe gpt-oss gpt2 gptneox granitehybrid hunyuan-dense hunyuan-moe "
    "jamba "
    "llama mamba2 mellum mimo2 minicpm3 minimax-m2 mistral3 nanbeige nemotron nemotron_h nemotron_h_moe olmo2 olmoe "
    "orion paddleocr phi3 phimoe plamo plamo3 qwen qwen3 qwen35 qwen35moe qwen3moe qwen3vl seed_oss smollm3 starcoder "
    "xverse";

static void by_architecture(std::string_view name, GraphFacts& out) {
  out.norms_subtract_mean = has_word(kLayerNorms, name);
  out.scales_embedding = has_word(kScaledEmbedding, name);
  out.scales_tokens = has_word(kScaledTokens, name);
  out.rotary = has_word(kNoRotary, name)          ? RotaryLayers::kNone
               : has_word(kRotaryInWindows, name) ? RotaryLayers::kWindowed
               : has_word(kEveryFourth, name)     ? RotaryLayers::kAllButEveryFourth
                                                  : RotaryLayers::kAll;
  if (has_word(kFourPositions, name)) out.position_axes = 4;
  out.normalizes_experts = !has_word(kPlainWeights, name);
  out.clamps_gates = has_word(kClamped, name);
  out.chooses_late = has_word(kChosenLate, name);
  out.mixes_batches = !has_word(kNeverMixed, name);
  out.is_checked = has_word(kChecked, name);
}

// A factor of 1 needs no multiplication, and 0 means that there is no factor.
static bool multiplies(double factor) {
  return factor != 0.0 && factor != 1.0;
}

// llama.cpp's name for a model_type; empty if it has none.
static std::string_view llama_cpp_name(std::string_view type) {
  for (const GgufArch& row : gguf_archs()) {
    for (const std::string_view word : split(row.names)) {
      const std::size_t equals = word.find('=');
      std::string_view others = equals == std::string_view::npos ? word : word.substr(equals + 1);
      const std::string_view own = word.substr(0, equals);
      while (!others.empty()) {
        const std::size_t end = others.find('/');
        if (others.substr(0, end) == type) return own;
        others = end == std::string_view::npos ? std::string_view() : others.substr(end + 1);
      }
    }
  }
  return {};
}

void read_graph_facts(const GgufKeys& keys, std::string_view architecture, ModelSpec& model) {
  GraphFacts& out = model.graph;
  by_architecture(architecture, out);
  const auto real = [&](std::string_view own) { return keys.file().real(keys.full(own)).value_or(0.0); };
  if (has_word(kScaledByKey, architecture)) out.scales_embedding = real("embedding_scale") != 0.0;
  constexpr std::string_view kRotarySwitch = "rope.scaling.finetuned";
  if (has_word(kScaledByKey, architecture) && keys.contains(kRotarySwitch) && real(kRotarySwitch) == 0.0)
    out.rotary = RotaryLayers::kNone;
  if (has_word(kWeightsByKey, architecture)) out.normalizes_experts = real("expert_weights_norm") != 0.0;
  out.scales_experts = multiplies(real("expert_weights_scale"));
  out.scales_by_position =
      has_word("deepseek2 mistral3 mistral4", architecture) && real("attention.temperature_scale") != 0.0;
  if (has_word(kFourWithSections, architecture) && keys.is_array("rope.dimension_sections") &&
      keys.file().counts(keys.full("rope.dimension_sections"))->size() > 1 &&
      (*keys.file().counts(keys.full("rope.dimension_sections")))[0] > 0)
    out.position_axes = 4;
  const auto group = [&](std::string_view own) {
    return keys.contains(own) && !keys.is_array(own) ? keys.number(own) : std::uint64_t{0};
  };
  out.index_topk = group("attention.indexer.top_k");
  out.num_heads = static_cast<std::uint32_t>(std::min<std::uint64_t>(group("attention.head_count"), kMostGraphHeads));
  if (const std::uint64_t groups = group("expert_group_count"); groups > 1) {
    out.expert_groups = groups;
    out.expert_groups_used = group("expert_group_used_count");
  }
}

// Graphs are only built for a GGUF. For a config, these facts affect the estimate.
void read_graph_facts(const Fields& config, ModelSpec& model) {
  const Fields text = config.quietly();
  by_architecture(llama_cpp_name(model.model_type), model.graph);
  model.graph.index_topk = text.is_number("index_topk") ? text.count_or("index_topk", 0) : 0;
}

}  // namespace kvplan
