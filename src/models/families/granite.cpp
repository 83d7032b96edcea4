// IBM's Granite: plain, mixtures of experts, windows, Mamba 2 hybrids; and Bamba. Source: transformers
// modeling_granite*.py, modeling_bamba.py.
#include "models/blocks/blocks.h"

namespace kvplan {

// The shared MLP is a separate block in every layer.
static void plan_shared_mlp(const Inventory& inventory, MlpPlan& plan) {
  plan.always = inventory.text.count_or("shared_intermediate_size", 0);
}

constexpr std::string_view kGranitemoeModules =
    "mlp.gate_proj=shared_mlp.input_linear "
    "mlp.up_proj=shared_mlp.input_linear mlp.down_proj=shared_mlp.output_linear "
    "block_sparse_moe.gate=block_sparse_moe.router.layer experts.*.gate_proj=input_linear "
    "experts.*.up_proj=input_linear experts.*.down_proj=output_linear | mlp.gate_proj=shared_mlp.input_linear "
    "mlp.up_proj=shared_mlp.input_linear mlp.down_proj=shared_mlp.output_linear "
    "block_sparse_moe.gate=block_sparse_moe.router";

// clang-format off
std::span<const Family> granite_family() {
  static constexpr Family kRows[] = {
    {.is = {"granite", kExecutedClass, Arch::kGranite}},
    {.is = {"granitemoe", kExecutedClass, Arch::kGranite}, .tensors = {.moe = "block_sparse_moe"},
     .modules = kGranitemoeModules},
    {.is = {"granitemoeshared", kExecutedClass}, .tensors = {.moe = "block_sparse_moe"}, .mlps = plan_shared_mlp,
     .modules = kGranitemoeModules},
    {.is = {"granite_speech granite4_vision_text granite_docling_text", kExecutedClass}},
    {.is = {"granite_swa", kExecutedClass, Arch::kGraniteSwa}, .layers = read_windowed, .tensors = {.has_sinks = true,
     .ties_by_default = true}, .pattern = full_first_of(4)},
    {.is = {"granitemoe_swa", kExecutedClass, Arch::kGraniteMoeSwa}, .layers = read_windowed,
     .tensors = {.has_sinks = true, .moe = "block_sparse_moe"}, .pattern = full_first_of(4),
     .modules = kGranitemoeModules},
    {.is = {"bamba", kExecutedClass, Arch::kBamba}, .layers = read_mamba2_hybrid,
     .pattern = in_all_layers(Label::kRecurrent), .modules = kFeedForwardModules},
    {.is = {"granitemoehybrid", kExecutedClass, Arch::kGraniteHybrid}, .layers = read_mamba2_hybrid,
     .tensors = {.moe = "block_sparse_moe"}, .pattern = in_all_layers(Label::kRecurrent), .mlps = plan_shared_mlp,
     .modules = kGranitemoeModules},
  };
  return kRows;
}
// clang-format on

}  // namespace kvplan
