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

std::uint64_t stretched(const Config& scaling, std::uint64_t positions) {
  const std::string kind = scaling.find_string(scaling.has("rope_type") ? "rope_type" : "type").value_or("");
  const double factor = scaling.find_real("factor").value_or(1);
  const std::uint64_t original = scaling.count_or("original_max_position_embeddings", 0);
  const auto times = [&](std::uint64_t length) {
    return static_cast<std::uint64_t>(static_cast<double>(length) * std::clamp(factor, 1.0, 1024.0));
  };
  if (kind == "linear" || kind == "dynamic") return times(positions);
  if (kind == "yarn" || kind == "deepseek_yarn") return original > 0 ? times(original) : positions;
  if (kind == "longrope" || kind == "su") return positions + original;
  return positions;
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
    double share = 1;
    for (const std::string_view key : {"partial_rotary_factor", "rotary_pct", "rope_pct"})
      if (text.is_number(key)) share = text.find_real(key).value_or(1);
    if (const auto nested = text.child("rope_parameters"); nested && nested->is_number("partial_rotary_factor"))
      share = nested->find_real("partial_rotary_factor").value_or(1);
    width = static_cast<std::uint64_t>(static_cast<double>(width) * std::clamp(share, 0.0, 1.0));
    if (const auto own = text.find_count("rotary_dim"); own && *own > 0) width = std::min(width, *own);
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
    if (text.has("rope_local_base_freq")) rows += positions;  // the windows' own
  }
  model.rotary_elements =
      checked_mul(std::min(rows, kLongest), std::min<std::uint64_t>(width, 1024), "the rotary tables");
}

}  // namespace kvplan
