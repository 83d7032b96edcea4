// IBM's Granite: plain, mixtures of experts, windows, Mamba 2 hybrids; and Bamba. Source: transformers
// modeling_granite*.py, modeling_bamba.py.
#include "models/blocks/blocks.h"

namespace kvplan {

// The shared MLP is a separate block in every layer.
static void plan_shared_mlp(const Inventory& inventory, MlpPlan& plan) {
  plan.always = inventory.text.count_or("shared_intermediate_size", 0);
}

// Names of the modules in files and in the class.
constexpr std::string_view kGranitemoeModules[] = {
    "mlp.gate_proj=shared_mlp.input_linear mlp.up_proj=shared_mlp.input_linear "
    "mlp.down_proj=shared_mlp.output_linear block_sparse_moe.gate=block_sparse_moe.router.layer "
    "experts.*.gate_proj=input_linear experts.*.up_proj=input_linear experts.*.down_proj=output_linear",
    "mlp.gate_proj=shared_mlp.input_linear mlp.up_proj=shared_mlp.input_linear "
    "mlp.down_proj=shared_mlp.output_linear block_sparse_moe.gate=block_sparse_moe.router"};

// clang-format off
std::span<const Family> granite_family() {
  static constexpr Family kRows[] = {
    {.is = {"granite", "plain", Arch::kGranite, "executed class"}, .layers = read_plain},
    {.is = {"granitemoe", "plain", Arch::kGranite, "executed class"}, .layers = read_plain,
     .tensors = {.moe = "block_sparse_moe"}, .modules = kGranitemoeModules},
    {.is = {"granitemoeshared", "plain", Arch::kOther, "executed class"}, .layers = read_plain,
     .tensors = {.moe = "block_sparse_moe"}, .mlps = plan_shared_mlp, .modules = kGranitemoeModules},
    {.is = {"granite_speech granite4_vision_text granite_docling_text", "plain", Arch::kOther, "executed class"}, .layers = read_plain},
    {.is = {"granite_swa", "windowed", Arch::kGraniteSwa, "executed class"}, .layers = read_windowed,
     .tensors = {.has_sinks = true, .ties_by_default = true}, .pattern = PatternRule{PatternRule::Default::kFullFirstOf,
     4}},
    {.is = {"granitemoe_swa", "windowed", Arch::kGraniteMoeSwa, "executed class"}, .layers = read_windowed,
     .tensors = {.has_sinks = true, .moe = "block_sparse_moe"},
     .pattern = PatternRule{PatternRule::Default::kFullFirstOf, 4}, .modules = kGranitemoeModules},
    {.is = {"bamba", "mamba2_hybrid", Arch::kBamba, "executed class"}, .layers = read_mamba2_hybrid,
     .pattern = PatternRule{PatternRule::Default::kWindowEverywhere, 0, false, Label::kRecurrent},
     .modules = kFeedForwardModules},
    {.is = {"granitemoehybrid", "mamba2_hybrid", Arch::kGraniteHybrid, "executed class"}, .layers = read_mamba2_hybrid,
     .tensors = {.moe = "block_sparse_moe"}, .pattern = PatternRule{PatternRule::Default::kWindowEverywhere, 0, false,
     Label::kRecurrent}, .mlps = plan_shared_mlp, .modules = kGranitemoeModules},
  };
  return kRows;
}
// clang-format on

}  // namespace kvplan
