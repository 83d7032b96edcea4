// Ant's Ling and Ring (Bailing), LLaDA. Source: the checkpoints' modeling_bailing*.py; vLLM models/bailing_*.py.
#include "models/blocks/layers.h"
#include "models/family.h"

namespace kvplan {

namespace {

constexpr Traits kBailing{.qkv_bias = "use_qkv_bias",
                          .o_bias = "use_bias",
                          .mlp_bias = "use_bias",
                          .qk_norm = QkNorm::kHead,
                          .qk_norm_key = "use_qk_norm",
                          .fuses_qkv = true,
                          .router_bias_key = "moe_router_enable_expert_bias"};

// clang-format off
constexpr Family kRows[] = {
    {.is = {"bailing_moe bailing_moe_v2 llada2_moe", "plain", Arch::kOther, "published total"}, .layers = read_plain,
     .tensors = kBailing},
    {.is = {"llada", "plain", Arch::kOther, "published total"}, .layers = read_plain,
     .tensors = {.qkv_bias = "include_qkv_bias", .o_bias = "include_bias", .mlp_bias = "include_bias"}},
    {.is = {"bailing_moe_linear", "lightning", Arch::kBailingLinear, "executed class"}, .layers = read_lightning,
     .tensors = kBailing},
    {.is = {"bailing_moe_v2_linear", "lightning", Arch::kOther, "executed class"}, .layers = read_lightning,
     .tensors = kBailing},
    {.is = {"bailing_hybrid", "lightning", Arch::kBailingHybrid, "executed class"}, .layers = read_lightning,
     .tensors = kBailing},
};
// clang-format on

}  // namespace

std::span<const Family> bailing_family() {
  return kRows;
}

}  // namespace kvplan
