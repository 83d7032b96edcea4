// IBM's Granite: plain, mixtures of experts, windows, Mamba 2 hybrids; and Bamba. Source: transformers
// modeling_granite*.py, modeling_bamba.py.
#include "models/blocks/blocks.h"

namespace kvplan {

// The shared MLP is a block of its own, in every layer.
static void plan_shared_mlp(const Inventory& inventory, MlpPlan& plan) {
  plan.always = inventory.text.count_or("shared_intermediate_size", 0);
}

// clang-format off
std::span<const Family> granite_family() {
  static constexpr Family kRows[] = {
    {.is = {"granite", "plain", Arch::kGranite, "executed class"}, .layers = read_plain},
    {.is = {"granitemoe", "plain", Arch::kGranite, "executed class"}, .layers = read_plain,
     .tensors = {.moe = "block_sparse_moe"}},
    {.is = {"granitemoeshared", "plain", Arch::kOther, "executed class"}, .layers = read_plain,
     .tensors = {.moe = "block_sparse_moe"}, .mlps = plan_shared_mlp},
    {.is = {"granite_speech granite4_vision_text", "plain", Arch::kOther, "executed class"}, .layers = read_plain},
    {.is = {"granite_swa", "windowed", Arch::kGraniteSwa, "executed class"}, .layers = read_windowed,
     .tensors = {.has_sinks = true, .ties_by_default = true},
     .pattern = PatternRule{PatternRule::Default::kFullFirstOf, 4}},
    {.is = {"granitemoe_swa", "windowed", Arch::kGraniteMoeSwa, "executed class"}, .layers = read_windowed,
     .tensors = {.has_sinks = true, .moe = "block_sparse_moe"},
     .pattern = PatternRule{PatternRule::Default::kFullFirstOf, 4}},
    {.is = {"bamba", "mamba2_hybrid", Arch::kBamba, "executed class"}, .layers = read_mamba2_hybrid,
     .pattern = PatternRule{PatternRule::Default::kWindowEverywhere, 0, false, Label::kRecurrent}},
    {.is = {"granitemoehybrid", "mamba2_hybrid", Arch::kGraniteHybrid, "executed class"},
     .layers = read_mamba2_hybrid, .tensors = {.moe = "block_sparse_moe"},
     .pattern = PatternRule{PatternRule::Default::kWindowEverywhere, 0, false, Label::kRecurrent},
     .mlps = plan_shared_mlp},
  };
  return kRows;
}
// clang-format on

}  // namespace kvplan
