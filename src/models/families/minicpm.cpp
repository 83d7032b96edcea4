// OpenBMB's MiniCPM. Source: the checkpoints' modeling_minicpm*.py; SGLang configs/minicpm.py.
#include "models/blocks/blocks.h"

namespace kvplan {

// MiniCPM-SALA: mixer_types has the kind of each layer, and lightning layers have their own heads. Source: its
// modeling_minicpm_sala.py; SGLang configs/minicpm.py (the state is lightning_nkv x head_dim x head_dim).
static void read_minicpm_sala(Reader& reader) {
  const Fields& text = reader.text;
  const std::uint64_t layers = reader.num_layers();
  const Heads heads = read_heads(text);
  Heads lightning = read_heads(text, {"lightning_nh", "lightning_nkv", "lightning_head_dim", ""}, heads);
  lightning.num_heads = lightning.num_kv_heads;
  const auto words = text.strings("mixer_types");
  if (!words || words->size() < layers)
    fail("\"mixer_types\" does not name every layer", "give one entry for each layer");
  for (std::uint64_t i = 0; i < layers; ++i) {
    const std::string& word = (*words)[i];
    if (word == "minicpm4")
      reader.add({{FullAttention{heads}}});
    else if (word.starts_with("lightning"))
      reader.add({{read_matrix_state(lightning)}});
    else
      fail(Exit::kUnknownArchitecture,
           "\"mixer_types\" names a kind of layer that kvplan does not know: \"" + one_line(word, 60) + "\"",
           "known are minicpm4 and lightning-attn");
  }
}

// Lightning attention; the gate and each norm have a switch.
static bool write_minicpm_sala(Inventory& out, const Mixer& mixer) {
  const auto* linear = std::get_if<Linear>(&mixer);
  if (linear == nullptr) return false;
  const std::uint64_t h = out.hidden;
  const std::uint64_t n = linear->num_key_heads;
  const std::uint64_t wide = times(n, linear->key_head_dim);
  out.linear(Component::kStateMixer, "self_attn.qkv_proj", times(3, wide), h, Split::kRows, n);
  if (out.on("use_output_gate")) out.linear(Component::kStateMixer, "self_attn.output_gate", wide, h, Split::kRows, n);
  out.linear(Component::kStateMixer, "self_attn.out_proj", h, wide, Split::kColumns, n);
  if (out.on("use_output_norm")) out.norms("self_attn.norm", wide);
  if (out.on("qk_norm")) out.norms("self_attn.qk_norm", linear->key_head_dim, 2);
  return true;
}

// clang-format off
std::span<const Family> minicpm_family() {
  static constexpr Family kRows[] = {
    {.is = {"minicpm", kExecutedClass, Arch::kMinicpm}, .tensors = {.ties_by_default = true}},
    {.is = {"minicpmv", kExecutedClass}, .tensors = {.ties_by_default = true}},
    {.is = {"minicpmo", kExecutedClass}, .layers = read_qwen, .tensors = {.qkv_bias = "+", .o_bias = ""}},
    {.is = {"minicpm3", kExecutedClass, Arch::kMinicpm3}, .layers = read_mla, .tensors = {.ties_by_default = true}},
    {.is = {"minicpm_sala", kPublishedTotal}, .layers = read_minicpm_sala, .rule = "minicpm_sala",
     .tensors = {.gate = Gate::kWide, .gate_key = "attn_use_output_gate"}, .mixer = write_minicpm_sala},
  };
  return kRows;
}
// clang-format on

}  // namespace kvplan
