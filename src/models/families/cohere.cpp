// Cohere's Command. Source: transformers modeling_cohere*.py.
#include "models/blocks/blocks.h"

namespace kvplan {

// clang-format off
std::span<const Family> cohere_family() {
  static constexpr Family kRows[] = {
    {.is = {"cohere", "plain", Arch::kOther, "executed class"}, .layers = read_plain,
     .tensors = {.qk_norm = QkNorm::kEveryHead, .qk_norm_key = "use_qk_norm", .norms = 1}},
    {.is = {"cohere_compass_text", "plain", Arch::kOther, "executed class"}, .layers = read_plain,
     .tensors = {.norms = 1}},
    {.is = {"cohere2 cohere2_moe", "windowed", Arch::kCohere2, "executed class"}, .layers = read_windowed,
     .tensors = {.norms = 1}, .pattern = PatternRule{PatternRule::Default::kFullEvery, 4}},
  };
  return kRows;
}
// clang-format on

}  // namespace kvplan
