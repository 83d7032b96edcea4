// Baidu's ERNIE 4.5 and PaddleOCR-VL. Source: transformers modeling_ernie4_5*.py.
#include "models/blocks/blocks.h"

namespace kvplan {

// The vision-language models have experts for text and narrower ones for images, each with a router.
static bool write_image_experts(Inventory& out, const Ffn& ffn) {
  const std::uint64_t h = out.hidden;
  const std::uint64_t seen = entry_of(out.text, "num_experts", 1, ffn.experts);
  const std::uint64_t width = entry_of(out.text, "moe_intermediate_size", 1, 512);
  out.linear(Component::kRouter, "mlp.vision_gate", seen, h);
  out.plain(Component::kRouter, "mlp.vision_gate.bias", seen).is_float32 = true;
  // A text token uses none of them.
  for (const bool up : {true, true, false})
    routed(out.linear(Component::kExperts, "mlp.vision_experts.*", up ? width : h, up ? h : width,
                      up ? Split::kRows : Split::kColumns),
           seen, 0);
  return false;
}

// clang-format off
std::span<const Family> ernie_family() {
  static constexpr Family kRows[] = {
    {.is = {"ernie4_5", kExecutedClass}, .tensors = {.biases = "use_bias"}},
    {.is = {"ernie4_5_moe", kExecutedClass}, .tensors = {.biases = "use_bias", .dense_first = 1,
     .has_router_bias = true, .has_float32_router = true}},
    {.is = {"ernie4_5_vl_moe_text", kExecutedClass}, .tensors = {.biases = "use_bias", .has_image_experts = true,
     .dense_first = 1, .has_router_bias = true}, .experts = write_image_experts},
    {.is = {"ernie4_5_moe_vl paddleocr_vl_text", kExecutedClass}},
  };
  return kRows;
}
// clang-format on

}  // namespace kvplan
