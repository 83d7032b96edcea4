// Tables of rotary angles: a cosine and a sine for each position and half of the rotated width, worked out when a model
// is loaded and kept beside its weights. No checkpoint stores them and no parameter count has them.
// Source: vLLM model_executor/layers/rotary_embedding (one table for each distinct setting; linear and dynamic scaling
// stretch it, YaRN counts from the original length, LongRoPE has two).
#include <algorithm>

#include "input/inventory/inventory.h"
#include "kvplan/words.h"

namespace kvplan {

namespace {

// Learned positions, biases by distance, or none at all.
constexpr std::string_view kUnrotated =
    "bloom mpt opt gpt2 gpt_bigcode gpt_neo openai-gpt biogpt ctrl xglm bart t5 mt5 umt5 whisper mamba mamba2 "
    "falcon_mamba "
    "rwkv jamba nemotron_h nemotron_h_puzzle kimi_linear xlstm";

// A number between the two, or the first where there is none.
double number_or(const Config& config, std::string_view key, double otherwise, double low, double high) {
  if (!config.is_number(key)) return otherwise;
  const double value = config.find_real(key).value_or(otherwise);
  return value >= low && value <= high ? value : otherwise;
}

std::uint64_t stretched(const Config& scaling, std::uint64_t positions) {
  const std::string_view key = scaling.is_string("rope_type") ? "rope_type" : "type";
  const std::string kind = scaling.is_string(key) ? scaling.find_string(key).value_or("") : "";
  const double factor = number_or(scaling, "factor", 1, 1, 1024);
  const double original = number_or(scaling, "original_max_position_embeddings", 0, 0, 1e9);
  if (kind == "linear" || kind == "dynamic") return static_cast<std::uint64_t>(static_cast<double>(positions) * factor);
  if (kind == "yarn" && original > 0) return static_cast<std::uint64_t>(original * factor);
  if (kind == "longrope" || kind == "su") return positions + static_cast<std::uint64_t>(original);
  return positions;
}

// Of a head's width, where the config does not say.
double usual_share(const Inventory& inventory) {
  if (inventory.is("qwen3_next qwen3_5_text qwen3_5_moe_text gpt_neox stablelm stablelm_epoch")) return 0.25;
  if (inventory.is("phi persimmon glm glm4 glm4_moe nemotron")) return 0.5;
  return 1;
}

}  // namespace

void size_rotary_tables(Inventory& inventory) {
  ModelSpec& model = inventory.reader.model;
  if (inventory.traits.has_position_table || inventory.is(kUnrotated) || model.max_model_len == Tokens(0)) return;
  const Config text = inventory.text.quietly();
  std::uint64_t width = text.count_or("qk_rope_head_dim", 0);
  if (width == 0) {
    const std::uint64_t heads = text.count_or("num_attention_heads", 0);
    width = text.count_or("head_dim", heads > 0 ? model.hidden_size / heads : 0);
    double share = usual_share(inventory);
    for (const std::string_view key : {"partial_rotary_factor", "rotary_pct", "rope_pct"})
      share = number_or(text, key, share, 0, 1);
    if (const auto nested = text.child("rope_parameters"))
      share = number_or(nested->quietly(), "partial_rotary_factor", share, 0, 1);
    width = static_cast<std::uint64_t>(static_cast<double>(width) * share);
    width = std::min(width, static_cast<std::uint64_t>(number_or(text, "rotary_dim", 1e9, 1, 1e9)));
  }
  constexpr std::uint64_t kLongest = std::uint64_t{1} << 28;  // a length that no table has
  const std::uint64_t positions = std::min(model.max_model_len.count(), kLongest);
  std::uint64_t rows = 0;
  const auto settings = text.child("rope_parameters");
  if (settings && (settings->is_object("full_attention") || settings->is_object("sliding_attention"))) {
    for (const std::string_view kind : {"full_attention", "sliding_attention"})
      if (const auto own = settings->child(kind)) rows += stretched(own->quietly(), positions);
  } else {
    const auto scaling = settings ? settings : text.child("rope_scaling");
    rows = scaling ? stretched(scaling->quietly(), positions) : positions;
    if (text.has("rope_local_base_freq") || inventory.is("gemma3_text")) rows += positions;  // the windows' own
  }
  model.rotary_elements =
      checked_mul(std::min(rows, kLongest), std::min<std::uint64_t>(width, 1024), "the rotary tables");
}

}  // namespace kvplan
