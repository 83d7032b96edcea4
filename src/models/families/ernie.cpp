// Baidu's ERNIE 4.5 and PaddleOCR-VL. Source: transformers modeling_ernie4_5*.py.
#include "models/blocks/layers.h"
#include "models/family.h"

namespace kvplan {

namespace {

// clang-format off
constexpr Family kRows[] = {
    {.is = {"ernie4_5", "plain", Arch::kOther, "executed class"}, .layers = read_plain,
     .tensors = {.qkv_bias = "use_bias", .o_bias = "use_bias", .mlp_bias = "use_bias"}},
    {.is = {"ernie4_5_moe ernie4_5_vl_moe_text", "plain", Arch::kOther, "executed class"}, .layers = read_plain,
     .tensors = {.qkv_bias = "use_bias", .o_bias = "use_bias", .mlp_bias = "use_bias", .dense_first = 1,
     .has_router_bias = true}},
    {.is = {"ernie4_5_moe_vl paddleocr_vl_text", "plain", Arch::kOther, "executed class"}, .layers = read_plain},
};
// clang-format on

}  // namespace

std::span<const Family> ernie_family() {
  return kRows;
}

}  // namespace kvplan
