// NXAI's xLSTM. Source: transformers modeling_xlstm.py.
#include "kvplan/error.h"
#include "models/blocks/layers.h"
#include "models/family.h"

namespace kvplan {

namespace {

// xLSTM: every layer an mLSTM; query and key are narrower than the value.
void read_xlstm(Reader& reader) {
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

// clang-format off
constexpr Family kRows[] = {
    {.is = {"xlstm", "xlstm", Arch::kXlstm, "executed class"}, .layers = read_xlstm},
};
// clang-format on

}  // namespace

std::span<const Family> xlstm_family() {
  return kRows;
}

}  // namespace kvplan
