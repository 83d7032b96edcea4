// Moonshot's Kimi: latent attention, and KDA between (Linear, K3). Source: vLLM models/kimi_*.py, the checkpoints'
// modeling_kimi.py.
#include "models/blocks/blocks.h"

namespace kvplan {

// clang-format off
std::span<const Family> kimi_family() {
  static constexpr Family kRows[] = {
    {.is = {"kimi_vl_text", "plain", Arch::kOther, "executed class"}, .layers = read_plain},
    {.is = {"kimi_k2 kimi_k25", "mla", Arch::kKimiK2, "executed class"}, .layers = read_mla,
     .tensors = {.has_router_bias = true}},
    {.is = {"kimi_linear", "kimi_linear", Arch::kKimiLinear, "executed class"}, .layers = read_kimi_linear,
     .tensors = {.has_router_bias = true, .moe = "block_sparse_moe"}, .modules = kMixtralModules},
    {.is = {"kimi_k3", "kimi_linear", Arch::kKimiK3}, .layers = read_kimi_linear, .tensors = {.may_have_more = true,
     .has_router_bias = true, .moe = "block_sparse_moe"}, .modules = kMixtralModules},
  };
  return kRows;
}
// clang-format on

}  // namespace kvplan
