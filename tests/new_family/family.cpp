// A family added as CONTRIBUTING.md describes: this file, and its name in registry.cpp.
#include "models/blocks/blocks.h"

namespace kvplan {

// clang-format off
std::span<const Family> scratch_family() {
  static constexpr Family kRows[] = {
    {.is = {"scratch_lm"}, .tensors = {.qk_norm = QkNorm::kHead}},
  };
  return kRows;
}
// clang-format on

}  // namespace kvplan
