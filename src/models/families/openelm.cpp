// Apple's OpenELM: heads and widths grow from layer to layer. Source: its modeling_openelm.py.
#include "models/blocks/blocks.h"

namespace kvplan {

// OpenELM: heads grow from layer to layer.
static void read_openelm(Reader& reader) {
  const std::uint64_t layers = reader.num_layers();
  const auto queries = reader.text.counts("num_query_heads");
  const auto keys = reader.text.counts("num_kv_heads");
  const std::uint64_t head_dim = reader.text.count("head_dim");
  if (!queries || !keys || queries->size() < layers || keys->size() < layers)
    fail("\"num_query_heads\" and \"num_kv_heads\" do not name every layer", "give one entry for each layer");
  for (std::uint64_t i = 0; i < layers; ++i) {
    const Heads heads{(*queries)[i], (*keys)[i], head_dim, head_dim};
    check_heads(heads);
    reader.model.layers.push_back({{FullAttention{heads}}});
  }
}

// Widths that are rounded to the nearest multiple, never down by more than a tenth.
static void plan_openelm(const Inventory& inventory, MlpPlan& plan) {
  const auto factors = inventory.text.reals("ffn_multipliers");
  const std::uint64_t divisor = inventory.text.count_or("ffn_dim_divisor", 256);
  if (!factors || factors->empty()) return;
  plan.widths.emplace();
  for (const double factor : *factors) {
    if (!(factor > 0 && factor < 1000) || divisor == 0)
      fail("\"ffn_multipliers\" is out of range", "correct the config");
    const std::uint64_t wanted = whole_width(factor * static_cast<double>(inventory.hidden), "ffn_multipliers");
    std::uint64_t width = std::max(divisor, checked_add(wanted, divisor / 2, "ffn_multipliers") / divisor * divisor);
    if (static_cast<double>(width) < 0.9 * static_cast<double>(wanted)) width += divisor;
    plan.widths->push_back(width);
  }
}

// clang-format off
std::span<const Family> openelm_family() {
  static constexpr Family kRows[] = {
    {.is = {"openelm", "openelm"}, .layers = read_openelm, .tensors = {.qkv_bias = "", .o_bias = "",
     .qk_norm = QkNorm::kHead, .qk_norm_key = "normalize_qk_projections", .fuses_qkv = true, .fuses_gate_up = true,
     .ties_by_default = true}, .mlps = plan_openelm},
  };
  return kRows;
}
// clang-format on

}  // namespace kvplan
