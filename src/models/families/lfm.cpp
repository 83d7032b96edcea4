// Liquid's LFM2 and LFM3. Source: transformers modeling_lfm2.py, modeling_lfm3.py.
#include "models/blocks/blocks.h"

namespace kvplan {

// LFM2: short convolutions alternating with layers of grouped-query attention.
static void read_lfm2(Reader& reader) {
  read_hybrid(reader, {}, read_short_conv(reader.text));
}

static std::uint64_t lfm2_width(const Inventory& inventory, std::uint64_t named) {
  const Fields& text = inventory.text;
  if (!text.flag("block_auto_adjust_ff_dim", false)) return named;
  std::uint64_t adjusted = times(2, named) / 3;
  if (const auto factor = text.find_real("block_ffn_dim_multiplier"); factor && *factor > 0 && *factor < 1000)
    adjusted = whole_width(*factor * static_cast<double>(adjusted), "block_ffn_dim_multiplier");
  return round_to(adjusted, text.count_or("block_multiple_of", 256));
}

// clang-format off
std::span<const Family> lfm_family() {
  static constexpr Family kRows[] = {
    // For serving engines: whether the experts' choice has biases, which files store as buffers.
    {.is = {"lfm2 lfm2_moe", kExecutedClass, Arch::kLfm2}, .layers = read_lfm2, .rule = "lfm2",
     .tensors = {.qkv_bias = "", .o_bias = "", .qk_norm = QkNorm::kHead, .ties_by_default = true},
     .extras = [](Inventory& out) { out.text.flag("use_expert_bias", true); }, .mlp_width = lfm2_width,
     .modules = "self_attn.o_proj=self_attn.out_proj mlp=feed_forward gate_proj=w1 up_proj=w3 down_proj=w2"},
    {.is = {"lfm3", kExecutedClass}, .layers = read_lfm2, .rule = "lfm2", .tensors = {.qkv_bias = "", .o_bias = "",
     .qk_norm = QkNorm::kHead, .gate = Gate::kHead, .gate_key = "use_attention_gate",
     .sandwich_norms = "use_sandwich_norm", .ties_by_default = true}},
  };
  return kRows;
}
// clang-format on

}  // namespace kvplan
