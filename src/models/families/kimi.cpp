// Moonshot's Kimi: latent attention, alternating with KDA (Linear, K3). Source: vLLM models/kimi_*.py, the checkpoints'
// modeling_kimi.py.
#include "models/blocks/blocks.h"

namespace kvplan {

// K3's layers weight the residuals of earlier layers: a norm and a projection to one number, twice in each layer and
// once after the last.
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
    {.is = {"kimi_vl_text", kExecutedClass}},
    {.is = {"kimi_k2 kimi_k25", kExecutedClass, Arch::kKimiK2}, .layers = read_mla,
     .tensors = {.has_router_bias = true}},
    {.is = {"kimi_linear", kExecutedClass, Arch::kKimiLinear}, .layers = read_kimi_linear,
     .tensors = {.has_router_bias = true, .repeats_conv = true, .has_latent_scale = true, .plain_latent_moe = true,
     .moe = "block_sparse_moe"}, .extras = write_residual_weights, .modules = kMixtralModules},
    {.is = {"kimi_k3", kUnchecked, Arch::kKimiK3}, .layers = read_kimi_linear, .tensors = {.may_have_more = true,
     .has_router_bias = true, .repeats_conv = true, .has_latent_scale = true, .plain_latent_moe = true,
     .moe = "block_sparse_moe"}, .extras = write_residual_weights, .modules = kMixtralModules},
  };
  return kRows;
}
// clang-format on

}  // namespace kvplan
