// Zyphra's Zamba: hybrid layers share one attention block. Source: transformers modeling_zamba.py, modeling_zamba2.py.
#include "models/blocks/blocks.h"

namespace kvplan {

// Zamba's shared attention block is 2 * hidden_size wide, so its heads are twice as wide as usual.
static Heads zamba_heads(const Fields& text) {
  Heads heads;
  heads.num_heads = text.count("num_attention_heads");
  heads.num_kv_heads = text.contains("num_key_value_heads") ? text.count("num_key_value_heads") : heads.num_heads;
  const std::uint64_t twice = checked_mul(text.count("hidden_size"), 2, "the width of the shared block");
  heads.head_dim = text.count_or("attention_head_dim", twice / heads.num_heads);
  heads.v_head_dim = heads.head_dim;
  check_heads(heads);
  return heads;
}

// Mamba in every layer; hybrid layers also run the shared attention block, each with its own cache.
static void push_zamba(Reader& reader, const std::vector<Label>& labels, const Ssm& ssm) {
  const Heads heads = zamba_heads(reader.text);
  for (const Label label : labels) {
    Layer layer{{ssm}};
    if (label == Label::kHybrid || label == Label::kFull)
      layer.mixers.insert(layer.mixers.begin(), FullAttention{heads});
    reader.add(std::move(layer));
  }
}

static void read_zamba(Reader& reader) {
  const std::uint64_t layers = reader.num_layers();
  // Version 1 has no list. From attn_layer_offset on, every attn_layer_period-th layer is hybrid, and all others are
  // Mamba.
  std::vector<Label> labels;
  if (reader.text.is_list("layers_block_type") || reader.text.is_list("layer_types")) {
    labels = layer_labels(reader.text, layers, {});
  } else {
    const std::uint64_t period = std::max<std::uint64_t>(1, reader.text.count_or("attn_layer_period", 6));
    const std::uint64_t offset = reader.text.count_or("attn_layer_offset", 4);
    // The class starts with [mamba, mamba, hybrid]. Period and offset count from there on.
    labels.assign(layers, Label::kRecurrent);
    if (layers > 2) labels[2] = Label::kHybrid;
    for (std::uint64_t i = 3; i < layers; ++i)
      if ((i - 3) % period == offset % period) labels[i] = Label::kHybrid;
  }
  push_zamba(reader, labels, read_mamba1(reader.text));
}

static void read_zamba2(Reader& reader) {
  const std::uint64_t layers = reader.num_layers();
  std::vector<Label> labels;
  if (reader.text.is_list("layers_block_type") || reader.text.is_list("layer_types")) {
    labels = layer_labels(reader.text, layers, {});
    reader.text.counts("hybrid_layer_ids");
  } else {
    labels.assign(layers, Label::kRecurrent);
    const std::vector<std::uint64_t> of_class{6, 12, 18, 24, 30, 36, 42, 47, 51};
    for (const std::uint64_t i : reader.text.counts("hybrid_layer_ids").value_or(of_class))
      if (i < layers) labels[i] = Label::kHybrid;
  }
  push_zamba(reader, labels, read_mamba2(reader.text));
}

// Zamba: one block (or a few) of attention and MLP over the doubled width, which every hybrid layer runs.
static void write_shared_blocks(Inventory& out, bool second) {
  const Fields& text = out.text;
  const ModelSpec& model = out.reader.model;
  const std::uint64_t h = out.hidden;
  std::vector<std::uint64_t> hybrid;
  Heads heads;
  for (std::uint64_t i = 0; i < model.layers.size(); ++i)
    for (const Mixer& mixer : model.layers[i].mixers)
      if (const auto* full = std::get_if<FullAttention>(&mixer)) {
        hybrid.push_back(i);
        heads = full->heads;
      }
  if (hybrid.empty()) return;
  const std::uint64_t blocks = second ? std::max<std::uint64_t>(1, text.count_or("num_mem_blocks", 1)) : 1;
  const std::uint64_t width = text.count_or("intermediate_size", times(4, h));
  const std::uint64_t wide = times(2, h);
  out.in_layers(runs_of(hybrid));
  out.linear(Component::kAttention, "linear", h, h);
  if (second) {
    // Each hybrid layer has its own low-rank adapters for the shared block.
    const std::uint64_t rank = text.count_or("adapter_rank", 128);
    out.linear(Component::kMlp, "shared_transformer.gate_up_proj_adapter.0", rank, h);
    out.linear(Component::kMlp, "shared_transformer.gate_up_proj_adapter.1", times(2, width), rank);
    if (text.flag("use_shared_attention_adapter", false)) {
      TensorGroup& down = out.linear(Component::kAttention, "shared_transformer.attention_adapter.0", rank, wide);
      down.copies = down.used = 3;
      out.linear(Component::kAttention, "shared_transformer.attention_adapter.1",
                 times(heads.num_heads + 2 * heads.num_kv_heads, heads.head_dim), rank);
    }
  }
  std::vector<std::uint64_t> first(
      hybrid.begin(), hybrid.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(blocks, hybrid.size())));
  out.in_layers(runs_of(first));
  const std::uint64_t queries = times(heads.num_heads, heads.head_dim);
  const std::uint64_t keys = times(heads.num_kv_heads, heads.head_dim);
  out.linear(Component::kAttention, "shared_transformer.self_attn.q_proj", queries, wide, Split::kRows,
             heads.num_heads);
  out.linear(Component::kAttention, "shared_transformer.self_attn.k_proj", keys, wide, Split::kRows,
             heads.num_kv_heads);
  out.linear(Component::kAttention, "shared_transformer.self_attn.v_proj", keys, wide, Split::kRows,
             heads.num_kv_heads);
  out.linear(Component::kAttention, "shared_transformer.self_attn.o_proj", h, queries, Split::kColumns,
             heads.num_heads);
  write_dense_mlp(out, Component::kMlp, "shared_transformer.feed_forward.", width, h, true,
                  text.flag("add_bias_linear", false));
  out.norms("shared_transformer.input_layernorm", wide);
  out.norms("shared_transformer.pre_ff_layernorm", h);
}

// The attention is the block that all hybrid layers share. write_shared_blocks adds it.
static bool skips_shared_block(Inventory&, const Mixer& mixer) {
  return std::holds_alternative<FullAttention>(mixer);
}

// ZAYA (compressed convolutional attention, arXiv 2510.04476): two consecutive convolutions over queries and keys, and
// half of the values delayed by one token.
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

// Layers have a window if one is set.
static void read_zaya(Reader& reader) {
  const Heads heads = read_heads(reader.text);
  const std::vector<Label> labels = layer_labels(reader.text, reader.num_layers(), in_all_layers(Label::kHybrid));
  const Tokens window = read_window(reader.text);
  for (const Label label : labels) reader.add(zaya_layer(reader, label, heads, window));
}

// Weights and biases on the residual stream and on what a block adds to it. A router also sees the previous layer's
// router.
static void write_zaya(Inventory& out) {
  const std::uint64_t h = out.hidden;
  const std::uint64_t layers = out.reader.model.layers.size();
  out.in_layers(all_layers(out));
  out.plain(Component::kOther, "residual_scales", times(8, h));
  out.in_layers({{1, layers - 1, 1}});
  if (layers > 1)
    out.plain(Component::kRouter, "mlp.gate.router_states_scale", out.text.count_or("router_hidden_size", 256));
  out.outside(Place::kFirst);
  out.plain(Component::kOther, "model.input_hidden_states", times(2, h));
}

// One convolution per channel, then one per head. The delay of values has no weights.
static bool write_zaya_conv(Inventory& out, const Mixer& mixer) {
  const auto* conv = std::get_if<ShortConv>(&mixer);
  if (conv == nullptr) return false;
  const Heads heads = read_heads(out.text);
  if (conv->channels != times(heads.num_heads + heads.num_kv_heads, heads.head_dim)) return true;
  const std::uint64_t first = out.text.count_or("cca_time0", 2);
  const std::uint64_t second = times(out.text.count_or("cca_time1", 2), heads.head_dim);
  out.conv(Component::kStateMixer, "self_attn.conv_qk_depthwise", conv->channels, first, Split::kRows);
  out.conv(Component::kStateMixer, "self_attn.conv_qk_grouped", conv->channels, second, Split::kRows);
  out.plain(Component::kStateMixer, "self_attn.conv_qk.bias", times(2, conv->channels), Split::kRows);
  out.plain(Component::kAttention, "self_attn.qk_norm.temp", heads.num_kv_heads, Split::kRows);
  return true;
}

// An MLP with its own width chooses one of the experts, or no expert.
static bool write_zaya_experts(Inventory& out, const Ffn& ffn) {
  const std::uint64_t width = out.text.count_or("router_hidden_size", 256);
  out.linear(Component::kRouter, "mlp.gate.down_proj", width, out.hidden, Split::kNone, 0, true);
  out.norms("mlp.gate.router_mlp.norm", width);
  out.linear(Component::kRouter, "mlp.gate.router_mlp.fc1", width, width, Split::kNone, 0, true);
  out.linear(Component::kRouter, "mlp.gate.router_mlp.fc2", width, width, Split::kNone, 0, true);
  out.linear(Component::kRouter, "mlp.gate.router_mlp.out_proj", checked_add(ffn.experts, 1, "the experts"), width);
  write_expert_matrices(out, ffn, "mlp.");
  return true;
}

// clang-format off
std::span<const Family> zamba_family() {
  static constexpr Family kRows[] = {
    {.is = {"zamba", kExecutedClass}, .layers = read_zamba, .rule = "zamba", .tensors = {.norms = 1, .has_mlps = false,
     .ties_by_default = true}, .extras = [](Inventory& out) { write_shared_blocks(out, false); },
     .mixer = skips_shared_block},
    {.is = {"zamba2", kExecutedClass}, .layers = read_zamba2, .rule = "zamba2", .tensors = {.norms = 1,
     .has_mlps = false, .ties_by_default = true}, .extras = [](Inventory& out) { write_shared_blocks(out, true); },
     .mixer = skips_shared_block},
    // Zyphra's ZAYA: compressed convolutional attention (arXiv 2510.04476). Source: transformers modeling_zaya.py.
    {.is = {"zaya", kExecutedClass, Arch::kZaya}, .layers = read_zaya, .rule = "conv_attention", .extras = write_zaya,
     .mixer = write_zaya_conv, .experts = write_zaya_experts},
  };
  return kRows;
}
// clang-format on

}  // namespace kvplan
