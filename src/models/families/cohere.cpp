// Cohere's Command. Source: transformers modeling_cohere*.py.
#include "models/blocks/blocks.h"

namespace kvplan {

// clang-format off
std::span<const Family> cohere_family() {
  static constexpr Family kRows[] = {
    {.is = {"cohere", kExecutedClass}, .tensors = {.qk_norm = QkNorm::kEveryHead, .qk_norm_key = "use_qk_norm",
     .norms = 1}},
    {.is = {"cohere_compass_text", kExecutedClass}, .tensors = {.norms = 1}},
    {.is = {"cohere2 cohere2_moe", kExecutedClass, Arch::kCohere2}, .layers = read_windowed, .tensors = {.norms = 1},
     .pattern = full_every(4)},
  };
  return kRows;
}
// clang-format on

}  // namespace kvplan
