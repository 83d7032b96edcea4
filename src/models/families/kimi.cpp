// Moonshot's Kimi: latent attention, alternating with KDA (Linear, K3). Source: vLLM models/kimi_*.py, the checkpoints'
// modeling_kimi.py.
#include "models/blocks/blocks.h"

namespace kvplan {

// K3's layers weight the residuals of earlier ones: a norm and a projection to one number, twice in each layer and once
// after the last.
static void write_residual_weights(Inventory& out) {
  if (out.text.count_or("attn_res_block_size", 0) == 0) return;
  out.in_layers(all_layers(out));
  out.norms("res_norm", out.hidden, 2);
  out.linear(Component::kOther, "res_proj", 2, out.hidden).role = TensorRole::kPlain;
  out.outside(Place::kLast);
  out.norms("model.output_attn_res_norm", out.hidden);
  out.linear(Component::kOther, "model.output_attn_res_proj", 1, out.hidden).role = TensorRole::kPlain;
}

// clang-format off
std::span<const Family> kimi_family() {
  static constexpr Family kRows[] = {
    {.is = {"kimi_vl_text", "plain", Arch::kOther, "executed class"}, .layers = read_plain},
    {.is = {"kimi_k2 kimi_k25", "mla", Arch::kKimiK2, "executed class"}, .layers = read_mla,
     .tensors = {.has_router_bias = true}},
    {.is = {"kimi_linear", "kimi_linear", Arch::kKimiLinear, "executed class"}, .layers = read_kimi_linear,
     .tensors = {.has_router_bias = true, .moe = "block_sparse_moe"}, .extras = write_residual_weights,
     .modules = kMixtralModules},
    {.is = {"kimi_k3", "kimi_linear", Arch::kKimiK3}, .layers = read_kimi_linear, .tensors = {.may_have_more = true,
     .has_router_bias = true, .moe = "block_sparse_moe"}, .extras = write_residual_weights,
     .modules = kMixtralModules},
  };
  return kRows;
}
// clang-format on

}  // namespace kvplan
