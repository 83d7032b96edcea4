// NXAI's xLSTM. Source: transformers modeling_xlstm.py.
#include "models/blocks/blocks.h"

namespace kvplan {

// xLSTM: every layer an mLSTM; query and key are narrower than the value.
static void read_xlstm(Reader& reader) {
  const Fields& text = reader.text;
  const std::uint64_t blocks = check_layers(text.count_or("num_blocks", 0), "num_blocks");
  const std::uint64_t layers = blocks > 0 ? blocks : reader.num_layers();
  const std::uint64_t hidden_size = text.count("hidden_size");
  const std::uint64_t num_heads = text.count_or("num_heads", 8);
  if (num_heads == 0 || hidden_size < num_heads) fail("\"num_heads\" is out of range", "correct the config");
  for (const std::string_view key : {"inference_state_dtype", "return_last_states"}) text.touch(key);
  const double qk = text.find_real("qk_dim_factor").value_or(0.5);
  const double v = text.find_real("v_dim_factor").value_or(1.0);
  Linear linear;
  linear.rule = Linear::Rule::kMlstm;
  linear.num_key_heads = linear.num_value_heads = num_heads;
  linear.key_head_dim = scaled_width(qk, hidden_size, "qk_dim_factor") / num_heads;
  linear.value_head_dim = scaled_width(v, hidden_size, "v_dim_factor") / num_heads;
  for (std::uint64_t i = 0; i < layers; ++i) reader.model.layers.push_back({{linear}});
}

static std::uint64_t xlstm_width(const Inventory& inventory, std::uint64_t) {
  const double factor = inventory.text.find_real("ffn_proj_factor").value_or(2.667);
  if (!(factor > 0 && factor < 1000)) fail("\"ffn_proj_factor\" is out of range", "correct the config");
  return round_to(whole_width(factor * static_cast<double>(inventory.hidden), "ffn_proj_factor"),
                  inventory.text.count_or("ffn_round_up_to_multiple_of", 64));
}

// clang-format off
std::span<const Family> xlstm_family() {
  static constexpr Family kRows[] = {
    {.is = {"xlstm", "xlstm", Arch::kXlstm, "executed class"}, .layers = read_xlstm, .mlp_width = xlstm_width},
  };
  return kRows;
}
// clang-format on

}  // namespace kvplan
