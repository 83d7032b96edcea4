// Huawei's Pangu. Source: vLLM models/openpangu.py.
#include "models/blocks/layers.h"
#include "models/family.h"

namespace kvplan {

namespace {

// clang-format off
constexpr Family kRows[] = {
    {.is = {"pangu", "plain"}, .layers = read_plain, .tensors = {.may_have_more = true}},
    {.is = {"panguembedded", "plain", Arch::kOther, "published total"}, .layers = read_plain,
     .tensors = {.qkv_bias = "bias", .o_bias = "bias"}},
    {.is = {"pangu_ultra_moe", "mla", Arch::kPanguUltraMoe}, .layers = read_mla,
     .tensors = {.router_bias_key = "router_enable_expert_bias"}},
};
// clang-format on

}  // namespace

std::span<const Family> pangu_family() {
  return kRows;
}

}  // namespace kvplan
