// Zyphra's ZAYA: compressed convolutional attention (arXiv 2510.04476). Source: transformers modeling_zaya.py.
#include "kvplan/error.h"
#include "models/blocks/inventory.h"
#include "models/blocks/layers.h"
#include "models/family.h"

namespace kvplan {

namespace {

// ZAYA (compressed convolutional attention, arXiv 2510.04476): two convolutions in a row over queries and keys, and
// the half of the values that is delayed by one token.
Layer zaya_layer(const Reader& reader, Label label, const Heads& heads, Tokens window) {
  const std::uint64_t first = reader.text.count_or("cca_time0", 2);
  const std::uint64_t second = reader.text.count_or("cca_time1", 2);
  if (first == 0 || second == 0) fail("\"cca_time0\" and \"cca_time1\" must be positive", "correct the config");
  const std::uint64_t channels =
      checked_add(channels_of(heads.num_heads, heads.head_dim), channels_of(heads.num_kv_heads, heads.head_dim),
                  "the channels of a convolution");
  const std::uint64_t kernel = checked_add(first, second, "a kernel") - 1;  // keeps (first - 1) + (second - 1) tokens
  const ShortConv mixed{channels, kernel};
  const ShortConv delayed{channels_of(heads.num_kv_heads, heads.v_head_dim) / 2, 2};
  return {{attention_mixer(reader, label, heads, window), mixed, delayed}};
}

// The layers slide where a window is set.
void read_zaya(Reader& reader) {
  const Heads heads = read_heads(reader.text);
  const std::vector<Label> labels = layer_labels(
      reader.text, reader.num_layers(), {PatternRule::Default::kWindowEverywhere, 0, false, Label::kHybrid, ""});
  const Tokens window = read_window(reader.text);
  for (const Label label : labels) reader.model.layers.push_back(zaya_layer(reader, label, heads, window));
}

// Weights and biases on the residual stream and on what a block adds to it; routers remember the layer before.
void write_zaya(Inventory& inventory) {
  Builder& out = inventory.out;
  const std::uint64_t h = inventory.hidden;
  const std::uint64_t layers = inventory.reader.model.layers.size();
  out.in_layers(all_layers(inventory));
  out.plain(Component::kOther, "residual_scales", times(8, h));
  out.in_layers({{1, layers - 1, 1}});
  if (layers > 1)
    out.plain(Component::kRouter, "mlp.gate.router_states_scale", inventory.text.count_or("router_hidden_size", 256));
  out.outside(Place::kFirst);
  out.plain(Component::kOther, "model.input_hidden_states", times(2, h));
}

// clang-format off
constexpr Family kRows[] = {
    {.is = {"zaya", "conv_attention", Arch::kZaya, "executed class"}, .layers = read_zaya, .extras = write_zaya},
};
// clang-format on

}  // namespace

std::span<const Family> zaya_family() {
  return kRows;
}

}  // namespace kvplan
