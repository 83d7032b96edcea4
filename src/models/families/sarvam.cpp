// Sarvam. Source: the checkpoints' modeling_sarvam*.py.
#include "models/blocks/layers.h"
#include "models/family.h"

namespace kvplan {

namespace {

// clang-format off
constexpr Family kRows[] = {
    {.is = {"sarvam_moe", "plain", Arch::kOther, "published total"}, .layers = read_plain,
     .tensors = {.qk_norm = QkNorm::kHead, .qk_norm_key = "use_qk_norm", .dense_first = 1, .has_router_bias = true}},
    {.is = {"sarvam_mla", "mla", Arch::kOther, "executed class"}, .layers = read_mla, .tensors = {.dense_first = 1,
     .has_router_bias = true}},
};
// clang-format on

}  // namespace

std::span<const Family> sarvam_family() {
  return kRows;
}

}  // namespace kvplan
