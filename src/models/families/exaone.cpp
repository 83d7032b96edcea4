// LG's EXAONE; the fourth generation has windows. Source: transformers modeling_exaone4.py, modeling_exaone_moe.py.
#include "models/blocks/blocks.h"

namespace kvplan {

// Names of the modules in files and in the class.
constexpr std::string_view kExaoneModules[] = {
    "layers.*=h.* self_attn=attn.attention o_proj=out_proj mlp.gate_proj=mlp.c_fc_0 mlp.up_proj=mlp.c_fc_1 "
    "mlp.down_proj=mlp.c_proj embed_tokens=wte"};

// clang-format off
std::span<const Family> exaone_family() {
  static constexpr Family kRows[] = {
    {.is = {"exaone", "plain", Arch::kExaone}, .layers = read_plain, .tensors = {.qkv_bias = "", .o_bias = "",
     .mlp_bias = ""}, .modules = kExaoneModules},
    {.is = {"exaone4", "windowed", Arch::kExaone4, "executed class"}, .layers = read_windowed,
     .tensors = {.qk_norm = QkNorm::kHead, .has_router_bias = true},
     .pattern = PatternRule{PatternRule::Default::kFullEvery, 4}},
    {.is = {"exaone_moe", "windowed", Arch::kExaoneMoe, "executed class"}, .layers = read_windowed,
     .tensors = {.qk_norm = QkNorm::kHead, .has_router_bias = true},
     .pattern = PatternRule{PatternRule::Default::kFullEvery, 4}},
  };
  return kRows;
}
// clang-format on

}  // namespace kvplan
