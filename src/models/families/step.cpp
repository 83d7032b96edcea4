// StepFun's Step. Source: vLLM models/step3*.py.
#include "models/blocks/layers.h"
#include "models/family.h"

namespace kvplan {

namespace {

// Step-3.5 and 3.7: one full layer in four; the sliding ones have more query heads over the same KV heads.
void read_step3p5(Reader& reader) {
  const std::uint64_t layers = reader.num_layers();
  const Heads full = read_heads(reader.text);
  Heads sliding = full;
  if (const auto other = reader.text.child("attention_other_setting")) {
    reader.text.touch("attention_other_setting");
    sliding = read_heads(*other, {"num_attention_heads", "num_attention_groups", "head_dim", ""}, full);
  }
  const std::vector<Label> labels = layer_labels(reader.text, layers, {PatternRule::Default::kFullFirstOf, 4});
  const Tokens window = read_window(reader.text);
  const LayerHeads own(reader.text);
  for (std::uint64_t i = 0; i < layers; ++i) {
    const Heads& base = labels[i] == Label::kSliding ? sliding : full;
    reader.model.layers.push_back({{attention_mixer(reader, labels[i], own.of(i, base), window)}});
  }
}

// clang-format off
constexpr Family kRows[] = {
    {.is = {"step1", "plain", Arch::kOther, "executed class"}, .layers = read_plain},
    {.is = {"step3p5 step3p7", "step3p5", Arch::kStep3p5}, .layers = read_step3p5,
     .tensors = {.qk_norm = QkNorm::kHead, .gate = Gate::kHead, .dense_first = 3, .has_router_bias = true,
     .moe = "moe"}},
    {.is = {"step3_text", "step3p5", Arch::kOther, "published total"}, .layers = read_step3p5,
     .tensors = {.qkv_bias = "", .o_bias = "", .dense_first = 1}},
};
// clang-format on

}  // namespace

std::span<const Family> step_family() {
  return kRows;
}

}  // namespace kvplan
