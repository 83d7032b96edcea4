// Poolside's Laguna. Source: transformers modeling_laguna.py.
#include "models/blocks/layers.h"
#include "models/family.h"

namespace kvplan {

namespace {

// clang-format off
constexpr Family kRows[] = {
    {.is = {"laguna", "windowed", Arch::kLaguna, "executed class"}, .layers = read_windowed,
     .tensors = {.qk_norm = QkNorm::kHead, .gate = Gate::kHead, .gate_key = "gating", .dense_first = 1,
     .has_router_bias = true}, .pattern = PatternRule{PatternRule::Default::kAllFull}},
};
// clang-format on

}  // namespace

std::span<const Family> laguna_family() {
  return kRows;
}

}  // namespace kvplan
