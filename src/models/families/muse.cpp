// Muse Glimmer and Spark. Source: transformers modeling_muse_*.py.
#include "models/blocks/blocks.h"

namespace kvplan {

// Three norms and two residual gates in a layer.
static void write_muse_spark(Inventory& out) {
  out.in_layers(all_layers(out));
  out.norms("post_feedforward_layernorm", out.hidden);
  out.plain(Component::kOther, "post_attention_residual_gate.gate", out.hidden);
  out.plain(Component::kOther, "post_feedforward_residual_gate.gate", out.hidden);
  if (const std::uint64_t latent = out.text.count_or("moe_hidden_size", 0); latent > 0)
    out.norms("mlp.expert_norms", latent, 2);
}

// clang-format off
std::span<const Family> muse_family() {
  static constexpr Family kRows[] = {
    {.is = {"muse_glimmer_text", kExecutedClass, Arch::kMuseGlimmer}, .layers = read_windowed,
     .tensors = {.gate = Gate::kWide, .norms = 4}},
    {.is = {"muse_glimmer_assistant", kExecutedClass, Arch::kMuseGlimmer}, .layers = read_windowed},
    {.is = {"muse_spark_text", kExecutedClass}, .layers = read_windowed, .tensors = {.gate = Gate::kWide,
     .has_router_bias = true}, .pattern = PatternRule{PatternRule::Default::kFullFromLast, 4},
     .extras = write_muse_spark},
  };
  return kRows;
}
// clang-format on

}  // namespace kvplan
