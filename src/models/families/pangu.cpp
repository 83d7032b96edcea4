// Huawei's Pangu. Source: vLLM models/openpangu.py.
#include "models/blocks/blocks.h"

namespace kvplan {

// clang-format off
std::span<const Family> pangu_family() {
  static constexpr Family kRows[] = {
    {.is = {"pangu"}, .tensors = {.may_have_more = true}},
    {.is = {"panguembedded", kPublishedTotal}, .tensors = {.qkv_bias = "bias", .o_bias = "bias"}},
    {.is = {"pangu_ultra_moe", kUnchecked, Arch::kPanguUltraMoe}, .layers = read_mla,
     .tensors = {.sandwich_norms = "sandwich_norm", .router_bias_key = "router_enable_expert_bias"}},
  };
  return kRows;
}
// clang-format on

}  // namespace kvplan
