// SK Telecom's A.X K. Source: transformers modeling_axk*.py.
#include "models/blocks/blocks.h"

namespace kvplan {

// A.X-K2's norms have low-rank gates, except the norm before a dense MLP.
static void write_axk(Inventory& out, std::uint64_t gate) {
  const std::uint64_t layers = out.reader.model.layers.size();
  const std::uint64_t dense = std::min(layers, out.text.count_or("first_k_dense_replace", out.traits.dense_first));
  out.in_layers(all_layers(out));
  if (gate > 0) out.plain(Component::kNorms, "input_layernorm.mlp", gate);
  out.in_layers({{dense, layers - dense, 1}});
  if (gate > 0) out.plain(Component::kNorms, "post_attention_layernorm.mlp", gate);
  if (gate == 0) out.norms("post_mlp_layernorm", out.hidden);
}

// clang-format off
std::span<const Family> axk_family() {
  static constexpr Family kRows[] = {
    {.is = {"axk1", kExecutedClass, Arch::kAxk1}, .layers = read_mla, .tensors = {.dense_first = 1,
     .has_router_bias = true}, .extras = [](Inventory& out) { write_axk(out, 0); }},
    {.is = {"axk2", kExecutedClass}, .layers = read_sparse_mla, .tensors = {.gate = Gate::kLowRank, .dense_first = 1,
     .has_router_bias = true}, .extras = [](Inventory& out) {
     write_axk(out, times(2, times(out.text.count_or("gated_norm_rank", 16), out.hidden))); }},
  };
  return kRows;
}
// clang-format on

}  // namespace kvplan
