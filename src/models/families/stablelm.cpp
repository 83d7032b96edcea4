// Stability's StableLM. Source: transformers modeling_stablelm.py.
#include "models/blocks/layers.h"
#include "models/family.h"

namespace kvplan {

namespace {

// clang-format off
constexpr Family kRows[] = {
    {.is = {"stablelm stablelm_epoch", "plain", Arch::kOther, "executed class"}, .layers = read_plain,
     .tensors = {.qkv_bias = "use_qkv_bias", .o_bias = "", .qk_norm = QkNorm::kEveryHead,
     .qk_norm_key = "qk_layernorm", .norm_style = NormStyle::kLayerNorm}},
};
// clang-format on

}  // namespace

std::span<const Family> stablelm_family() {
  return kRows;
}

}  // namespace kvplan
