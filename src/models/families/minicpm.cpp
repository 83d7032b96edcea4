// OpenBMB's MiniCPM. Source: the checkpoints' modeling_minicpm*.py; SGLang configs/minicpm.py.
#include "kvplan/error.h"
#include "models/blocks/layers.h"
#include "models/family.h"

namespace kvplan {

namespace {

// MiniCPM-SALA: mixer_types names what each layer is, and lightning layers have heads of their own.
// Source: its modeling_minicpm_sala.py; SGLang configs/minicpm.py (the state is lightning_nkv x head_dim x head_dim).
void read_minicpm_sala(Reader& reader) {
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
      reader.model.layers.push_back({{FullAttention{heads}}});
    else if (word.starts_with("lightning"))
      reader.model.layers.push_back({{read_matrix_state(lightning)}});
    else
      fail(Exit::kUnknownArchitecture,
           "\"mixer_types\" names a kind of layer that kvplan does not know: \"" + one_line(word, 60) + "\"",
           "known are minicpm4 and lightning-attn");
  }
}

// clang-format off
constexpr Family kRows[] = {
    {.is = {"minicpm", "plain", Arch::kMinicpm, "executed class"}, .layers = read_plain,
     .tensors = {.ties_by_default = true}},
    {.is = {"minicpmv", "plain", Arch::kOther, "executed class"}, .layers = read_plain,
     .tensors = {.ties_by_default = true}},
    {.is = {"minicpmo", "qwen", Arch::kOther, "executed class"}, .layers = read_qwen, .tensors = {.qkv_bias = "+",
     .o_bias = ""}},
    {.is = {"minicpm3", "mla", Arch::kMinicpm3, "executed class"}, .layers = read_mla,
     .tensors = {.ties_by_default = true}},
    {.is = {"minicpm_sala", "minicpm_sala", Arch::kOther, "published total"}, .layers = read_minicpm_sala,
     .tensors = {.gate = Gate::kWide, .gate_key = "attn_use_output_gate"}},
};
// clang-format on

}  // namespace

std::span<const Family> minicpm_family() {
  return kRows;
}

}  // namespace kvplan
