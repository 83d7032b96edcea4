// LG's EXAONE; the fourth generation has windows. Source: transformers modeling_exaone4.py, modeling_exaone_moe.py.
#include "models/blocks/blocks.h"

namespace kvplan {

// clang-format off
std::span<const Family> exaone_family() {
  static constexpr Family kRows[] = {
    {.is = {"exaone", kUnchecked, Arch::kExaone}, .tensors = {.biases = ""}, .modules = "layers.*=h.* "
     "self_attn=attn.attention o_proj=out_proj mlp.gate_proj=mlp.c_fc_0 mlp.up_proj=mlp.c_fc_1 "
     "mlp.down_proj=mlp.c_proj embed_tokens=wte"},
    {.is = {"exaone4", kExecutedClass, Arch::kExaone4}, .layers = read_windowed, .tensors = {.qk_norm = QkNorm::kHead,
     .has_router_bias = true}, .pattern = full_every(4)},
    {.is = {"exaone_moe", kExecutedClass, Arch::kExaoneMoe}, .layers = read_windowed,
     .tensors = {.qk_norm = QkNorm::kHead, .has_router_bias = true}, .pattern = full_every(4)},
  };
  return kRows;
}
// clang-format on

}  // namespace kvplan
