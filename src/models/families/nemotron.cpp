// NVIDIA's Nemotron: plain models, models from architecture search (NAS), hybrids (H), and Jet-Nemotron. Source:
// transformers modeling_nemotron*.py; jet_block.py.
#include "models/blocks/blocks.h"

namespace kvplan {

// Models found by architecture search: each block has its own KV heads, a window, or no attention at all.
static void read_nemotron_nas(Reader& reader) {
  const std::uint64_t layers = reader.num_layers();
  const std::uint64_t num_heads = reader.text.count("num_attention_heads");
  const auto blocks = reader.text.objects("block_configs");
  // DeciLM-6B and 7B: blocks that differ only in their KV heads.
  if (!blocks && reader.text.is_list("num_key_value_heads_per_layer")) return read_decoder(reader, {});
  if (!blocks || blocks->size() < layers)
    fail("\"block_configs\" does not name every layer", "give one block for each layer");
  const std::uint64_t hidden_size = reader.text.count("hidden_size");
  const std::uint64_t head_dim = reader.text.count_or("head_dim", hidden_size / num_heads);
  reader.text.touch("num_key_value_heads");
  for (std::uint64_t i = 0; i < layers; ++i) {
    const auto attention = (*blocks)[i].child("attention");
    if (!attention || attention->flag("no_op", false) || attention->flag("replace_with_linear", false)) {
      reader.add({{None{}}});
      continue;
    }
    Heads heads{num_heads, num_heads, head_dim, head_dim};
    if (const auto group = attention->find_count("n_heads_in_group"); group && *group > 0) {
      if (num_heads % *group != 0) fail("\"n_heads_in_group\" does not divide the heads", "correct block_configs");
      heads.num_kv_heads = num_heads / *group;
    } else {
      heads.num_kv_heads = attention->count_or("num_key_value_heads", num_heads);
    }
    check_heads(heads);
    const std::uint64_t window = attention->count_or("window_length", 0);
    reader.add({{attention_mixer(reader, window > 0 ? Label::kSliding : Label::kFull, heads, Tokens(window))}});
  }
}

// Jet-Nemotron: a gated delta net whose values pass through a convolution, with kernels computed from the input. In
// between are full layers and windows. Source: its jet_block.py; SGLang configs/jet_nemotron.py.
static void read_jet_nemotron(Reader& reader) {
  const Fields& text = reader.text;
  const std::uint64_t layers = reader.num_layers();
  const Heads heads = read_heads(text);
  const auto settings = text.child("efficient_attention_config");
  const auto jet = settings ? settings->child("jet") : std::nullopt;
  const auto swa = settings ? settings->child("swa") : std::nullopt;
  text.touch("efficient_attention_config");
  Linear linear;
  linear.num_key_heads = linear.num_value_heads = jet ? jet->count_or("num_heads", 6) : 6;
  linear.key_head_dim = jet ? jet->count_or("head_dim", 256) : 256;
  linear.value_head_dim =
      scaled_width(jet ? jet->find_real("expand_v").value_or(2.0) : 2.0, linear.key_head_dim, "expand_v");
  const ShortConv values{checked_mul(linear.num_value_heads, linear.value_head_dim, "the channels of a convolution"),
                         jet ? jet->count_or("conv_size", 4) : 4};
  if (values.channels == 0 || values.conv_kernel == 0) fail("a jet layer has no heads", "correct the config");
  const Tokens window(swa ? swa->count_or("window_size", 1024) : 1024);
  const std::vector<Label> labels = layer_labels(text, layers, {});
  for (const Label label : labels) {
    if (label == Label::kRecurrent)
      reader.add({{linear, values}});
    else
      reader.add({{attention_mixer(reader, label, heads, window)}});
  }
}

// Jet-Nemotron: the convolution over the values is a second mixer of the layer.
static void write_jet(Inventory& out, const Linear& linear) {
  constexpr Component kMix = Component::kStateMixer;
  const std::uint64_t h = out.hidden;
  const std::uint64_t heads = linear.num_value_heads;
  const std::uint64_t keys = times(heads, linear.key_head_dim);
  const std::uint64_t values = times(heads, linear.value_head_dim);
  for (const char* const name : {"self_attn.q_proj", "self_attn.k_proj"})
    out.linear(kMix, name, keys, h, Split::kRows, heads);
  for (const char* const name : {"self_attn.v_proj", "self_attn.g_proj"})
    out.linear(kMix, name, values, h, Split::kRows, heads);
  for (const char* const name : {"self_attn.a_proj", "self_attn.b_proj"})
    out.linear(kMix, name, heads, h, Split::kRows, heads);
  out.plain(kMix, "self_attn.decay", times(2, heads), Split::kRows);  // A_log, dt_bias
  out.norms("self_attn.o_norm", linear.value_head_dim);
  out.linear(kMix, "self_attn.o_proj", h, values, Split::kColumns, heads);
}

// A small MLP computes the kernels of each token.
static void write_jet_conv(Inventory& out, const ShortConv& conv) {
  const auto settings = out.text.child("efficient_attention_config");
  const auto jet = settings ? settings->child("jet") : std::nullopt;
  const std::uint64_t reduction = jet ? jet->count_or("dconv_generator_reduction", 8) : 8;
  const std::uint64_t inner = conv.channels / std::max<std::uint64_t>(1, reduction);
  out.linear(Component::kStateMixer, "self_attn.dynamic_conv1d.w1", inner, out.hidden);
  out.linear(Component::kStateMixer, "self_attn.dynamic_conv1d.w2", times(conv.channels, conv.conv_kernel), inner,
             Split::kNone, 0, true);
}

static bool write_jet_nemotron(Inventory& out, const Mixer& mixer) {
  const auto* linear = std::get_if<Linear>(&mixer);
  const auto* conv = std::get_if<ShortConv>(&mixer);
  if (linear != nullptr) write_jet(out, *linear);
  if (conv != nullptr) write_jet_conv(out, *conv);
  return linear != nullptr || conv != nullptr;
}

constexpr std::string_view kNemotronHModules = "self_attn=mixer";

// Hymba: attention heads and Mamba 1 in every layer, with three global layers, and pairs that share keys and values.
// Meta tokens are put before the first forward pass (its modeling_hymba.py, HymbaModel.forward, if the cache is empty).
// So their keys and values are cached like any token's, and every window includes them (the prefix mask of its flex
// attention).
static void read_hymba(Reader& reader) {
  const std::uint64_t layers = reader.num_layers();
  const Fields& text = reader.text;
  const Ssm ssm = read_mamba1(text);
  Heads heads = read_heads(text);
  heads.meta_tokens = text.count_or("num_memory_tokens", 0);
  const Tokens window = read_window(text);
  for (const std::string_view key : {"kv_reuse_every_i_layer", "kv_weight_reuse"}) text.touch(key);
  const std::vector<bool> listed = listed_layers(text, "global_attn_idx", layers);
  const auto is_global = [&](std::uint64_t i) { return window == Tokens(0) || listed[i]; };
  // kv_reuse_group lists groups of layers; the first of each group has the cache.
  std::vector<std::uint64_t> source(layers);
  for (std::uint64_t i = 0; i < layers; ++i) source[i] = i;
  for (std::size_t g = 0; g < text.list_size("kv_reuse_group").value_or(0); ++g) {
    const auto group = text.list_item("kv_reuse_group", g)->counts("kv_reuse_group");
    if (!group || group->empty()) continue;
    for (const std::uint64_t i : *group)
      if (i < layers && group->front() < layers) source[i] = group->front();
  }
  for (std::uint64_t i = 0; i < layers; ++i) {
    Layer layer;
    if (source[i] != i)
      layer.mixers.push_back(Shared{source[i], heads, is_global(i) ? Tokens(0) : window});
    else
      layer.mixers.push_back(attention_mixer(reader, is_global(i) ? Label::kFull : Label::kSliding, heads, window));
    layer.mixers.push_back(ssm);
    reader.add(std::move(layer));
  }
}

// Layers that read another layer's cache still have projections.
static bool write_hymba(Inventory& out, const Mixer& mixer) {
  const auto* shared = std::get_if<Shared>(&mixer);
  if (shared != nullptr) project_heads(out, shared->heads);
  return shared != nullptr;
}

// clang-format off
std::span<const Family> nemotron_family() {
  static constexpr Traits kNemotronH{.norms = 2, .has_gated_mlp = false, .alternates = true, .has_router_bias = true,
      .has_gated_experts = false, .layer = "backbone.layers.*", .ssm = "mixer", .mlp = "mixer", .moe = "mixer"};
  static constexpr Family kRows[] = {
    {.is = {"nemotron", kExecutedClass, Arch::kNemotron}, .tensors = {.norm_style = NormStyle::kLayerNorm,
     .has_gated_mlp = false}},
    {.is = {"cosmos3_edge_text", kExecutedClass}, .tensors = {.has_gated_mlp = false}},
    {.is = {"nemotron-nas deci", kPublishedTotal, Arch::kNemotronNas}, .layers = read_nemotron_nas,
     .rule = "nemotron-nas", .tensors = {.may_lack_mlps = true}},
    {.is = {"jet_nemotron", kPublishedTotal}, .layers = read_jet_nemotron, .rule = "jet_nemotron",
     .tensors = {.qkv_bias = "+", .o_bias = ""}, .mixer = write_jet_nemotron},
    {.is = {"nemotron_h", kExecutedClass, Arch::kNemotronH}, .layers = read_mamba2_hybrid, .tensors = kNemotronH,
     .modules = kNemotronHModules},
    {.is = {"nemotron_h_puzzle", kExecutedClass}, .layers = read_mamba2_hybrid, .tensors = kNemotronH,
     .modules = kNemotronHModules},
    // NVIDIA's Hymba. Source: its modeling_hymba.py.
    {.is = {"hymba"}, .layers = read_hymba, .rule = "hymba", .tensors = {.may_have_more = true}, .mixer = write_hymba},
  };
  return kRows;
}
// clang-format on

}  // namespace kvplan
