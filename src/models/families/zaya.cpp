// Zyphra's ZAYA: compressed convolutional attention (arXiv 2510.04476). Source: transformers modeling_zaya.py.
#include "models/blocks/blocks.h"

namespace kvplan {

// ZAYA (compressed convolutional attention, arXiv 2510.04476): two convolutions in a row over queries and keys, and
// the half of the values that is delayed by one token.
static Layer zaya_layer(const Reader& reader, Label label, const Heads& heads, Tokens window) {
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
static void read_zaya(Reader& reader) {
  const Heads heads = read_heads(reader.text);
  const std::vector<Label> labels = layer_labels(
      reader.text, reader.num_layers(), {PatternRule::Default::kWindowEverywhere, 0, false, Label::kHybrid, ""});
  const Tokens window = read_window(reader.text);
  for (const Label label : labels) reader.model.layers.push_back(zaya_layer(reader, label, heads, window));
}

// Weights and biases on the residual stream and on what a block adds to it; routers remember the layer before.
static void write_zaya(Inventory& inventory) {
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

// One convolution a channel, then one a head; the values' delay has no weights.
static bool write_zaya_conv(Inventory& inventory, const Mixer& mixer) {
  const auto* conv = std::get_if<ShortConv>(&mixer);
  if (conv == nullptr) return false;
  const Heads heads = read_heads(inventory.text);
  if (conv->channels != times(heads.num_heads + heads.num_kv_heads, heads.head_dim)) return true;
  Builder& out = inventory.out;
  const std::uint64_t first = inventory.text.count_or("cca_time0", 2);
  const std::uint64_t second = times(inventory.text.count_or("cca_time1", 2), heads.head_dim);
  out.conv(Component::kStateMixer, "self_attn.conv_qk_depthwise", conv->channels, first, Split::kRows);
  out.conv(Component::kStateMixer, "self_attn.conv_qk_grouped", conv->channels, second, Split::kRows);
  out.plain(Component::kStateMixer, "self_attn.conv_qk.bias", times(2, conv->channels), Split::kRows);
  out.plain(Component::kAttention, "self_attn.qk_norm.temp", heads.num_kv_heads, Split::kRows);
  return true;
}

// An MLP of its own width chooses, among the experts and none of them.
static bool write_zaya_experts(Inventory& inventory, const Ffn& ffn) {
  Builder& out = inventory.out;
  const std::uint64_t width = inventory.text.count_or("router_hidden_size", 256);
  out.linear(Component::kRouter, "mlp.gate.down_proj", width, inventory.hidden, Split::kNone, 0, true);
  out.norms("mlp.gate.router_mlp.norm", width);
  out.linear(Component::kRouter, "mlp.gate.router_mlp.fc1", width, width, Split::kNone, 0, true);
  out.linear(Component::kRouter, "mlp.gate.router_mlp.fc2", width, width, Split::kNone, 0, true);
  out.linear(Component::kRouter, "mlp.gate.router_mlp.out_proj", checked_add(ffn.experts, 1, "the experts"), width);
  write_expert_matrices(inventory, ffn, "mlp.");
  return true;
}

// clang-format off
std::span<const Family> zaya_family() {
  static constexpr Family kRows[] = {
    {.is = {"zaya", "conv_attention", Arch::kZaya, "executed class"}, .layers = read_zaya, .extras = write_zaya,
     .mixer = write_zaya_conv, .experts = write_zaya_experts},
  };
  return kRows;
}
// clang-format on

}  // namespace kvplan
