// State space models, alone and beside attention, and the other recurrences of fixed size.
#include <algorithm>
#include <cmath>

#include "kvplan/error.h"
#include "models/families.h"

namespace kvplan {

void read_mamba(Reader& reader) {
  const Ssm ssm = read_mamba1(reader.text);
  for (std::uint64_t i = 0; i < reader.num_layers(); ++i) reader.model.layers.push_back({{ssm}});
}

namespace {
// Mamba 2 alone: num_heads and head_dim are the mixer's.
Ssm read_mamba2_alone(const Fields& text) {
  Ssm ssm;
  ssm.d_state = text.count_or("state_size", 128);
  ssm.conv_kernel = text.count_or("conv_kernel", 4);
  ssm.n_groups = text.count_or("n_groups", 1);
  ssm.head_dim = text.count_or("head_dim", 64);
  const auto hidden_size = static_cast<double>(text.count("hidden_size"));
  const double inner = text.find_real("expand").value_or(2.0) * hidden_size;
  if (!(inner >= 1 && inner < 1e12) || ssm.head_dim == 0) fail("\"expand\" is out of range", "correct the config");
  const std::uint64_t derived_heads = static_cast<std::uint64_t>(inner) / ssm.head_dim;
  ssm.num_heads = text.contains("num_heads") ? text.count("num_heads") : derived_heads;
  ssm.d_inner = checked_mul(ssm.num_heads, ssm.head_dim, "the inner width of a Mamba layer");
  return ssm;
}
}  // namespace

void read_mamba2_model(Reader& reader) {
  const bool spelled_as_hybrid = reader.text.has("mamba_num_heads");
  const Ssm ssm = spelled_as_hybrid ? read_mamba2(reader.text) : read_mamba2_alone(reader.text);
  for (std::uint64_t i = 0; i < reader.num_layers(); ++i) reader.model.layers.push_back({{ssm}});
}

Ssm read_ssm(const Fields& config) {
  for (const std::string_view key : {"mamba_num_heads", "mamba_n_heads", "n_mamba_heads"})
    if (config.has(key)) return read_mamba2(config);
  if (config.has("num_heads")) return read_mamba2_alone(config);
  return read_mamba1(config);
}

// Jamba: Mamba 1, and attention where i % attn_layer_period == attn_layer_offset.
void read_jamba(Reader& reader) {
  read_hybrid(reader, {}, read_mamba1(reader.text));
}

// Bamba, Granite 4, Nemotron-H: Mamba 2 and attention in turn, by a list or a word of letters.
void read_mamba2_hybrid(Reader& reader) {
  const Fields& text = reader.text;
  // A Granite model of attention layers alone carries Mamba keys all the same; that is fine: no layer uses them.
  PatternRule rule;
  if (text.class_name() == "granitemoehybrid" || text.class_name() == "bamba")
    rule = {PatternRule::Default::kWindowEverywhere, 0, false, Label::kRecurrent, ""};
  read_hybrid(reader, rule, read_mamba2(text));
}

// PLaMo-2: the Mamba heads have the attention's width, the convolution runs over x alone, every mamba_step-th layer
// attends: to everything where full_attention_idx names it, else within a window.
void read_plamo2(Reader& reader) {
  const Fields& text = reader.text;
  Ssm ssm;
  ssm.d_state = text.count_or("mamba_d_state", 64);
  ssm.conv_kernel = text.count_or("mamba_d_conv", 4);
  ssm.num_heads = text.count_or("mamba_num_heads", 64);
  Heads heads;
  heads.num_heads = text.count("num_attention_heads");
  heads.num_kv_heads = text.count_or("num_key_value_heads", 4);
  heads.head_dim = heads.v_head_dim = text.count_or("hidden_size_per_head", 128);
  check_heads(heads);
  ssm.head_dim = heads.head_dim;
  ssm.d_inner = checked_mul(ssm.num_heads, ssm.head_dim, "the inner width of a Mamba layer");
  ssm.conv_over_groups = false;
  const std::uint64_t layers = reader.num_layers();
  const std::uint64_t step = text.count_or("mamba_step", 2);
  // Absent is the class's 2048; a null is full attention everywhere.
  const Tokens window =
      text.contains("attention_window_size") || text.contains("sliding_window") ? read_window(text) : Tokens(2048);
  const bool mamba = text.flag("mamba_enabled", true);
  std::vector<bool> full(layers, false);
  for (const std::uint64_t i : text.counts("full_attention_idx").value_or(std::vector<std::uint64_t>{}))
    if (i < layers) full[i] = true;
  for (std::uint64_t i = 0; i < layers; ++i) {
    // As its code has it: short models attend in the last layer only.
    const bool attends = !mamba || step == 0 || (layers <= step / 2 ? i == layers - 1 : i % step == step / 2);
    if (!attends)
      reader.model.layers.push_back({{ssm}});
    else
      reader.model.layers.push_back(
          {{attention_mixer(reader, full[i] ? Label::kFull : Label::kSliding, heads, window)}});
  }
}

namespace {
// Zamba's shared attention block is 2 * hidden_size wide, so its heads are twice as wide as usual.
Heads zamba_heads(const Fields& text) {
  Heads heads;
  heads.num_heads = text.count("num_attention_heads");
  heads.num_kv_heads = text.contains("num_key_value_heads") ? text.count("num_key_value_heads") : heads.num_heads;
  const std::uint64_t twice = checked_mul(text.count("hidden_size"), 2, "the width of the shared block");
  heads.head_dim = text.count_or("attention_head_dim", twice / heads.num_heads);
  heads.v_head_dim = heads.head_dim;
  check_heads(heads);
  return heads;
}

// Mamba in every layer; hybrid layers run the shared attention block besides, with a cache of their own.
void push_zamba(Reader& reader, const std::vector<Label>& labels, const Ssm& ssm) {
  const Heads heads = zamba_heads(reader.text);
  for (const Label label : labels) {
    Layer layer{{ssm}};
    if (label == Label::kHybrid || label == Label::kFull)
      layer.mixers.insert(layer.mixers.begin(), FullAttention{heads});
    reader.model.layers.push_back(std::move(layer));
  }
}
}  // namespace

void read_zamba(Reader& reader) {
  const std::uint64_t layers = reader.num_layers();
  // Version 1 spells "m" and "g" as mamba and hybrid, from attn_layer_offset on every attn_layer_period-th.
  std::vector<Label> labels;
  if (reader.text.is_list("layers_block_type") || reader.text.is_list("layer_types")) {
    labels = layer_labels(reader.text, layers, {});
  } else {
    const std::uint64_t period = std::max<std::uint64_t>(1, reader.text.count_or("attn_layer_period", 6));
    const std::uint64_t offset = reader.text.count_or("attn_layer_offset", 4);
    // The class builds [mamba, mamba, hybrid] and counts the period and the offset from there on.
    labels.assign(layers, Label::kRecurrent);
    if (layers > 2) labels[2] = Label::kHybrid;
    for (std::uint64_t i = 3; i < layers; ++i)
      if ((i - 3) % period == offset % period) labels[i] = Label::kHybrid;
  }
  push_zamba(reader, labels, read_mamba1(reader.text));
}

void read_zamba2(Reader& reader) {
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

// Falcon-H1: attention and Mamba 2 side by side in every layer; the inner width is mamba_d_ssm, or follows from
// mamba_expand where that is null.
void read_falcon_h1(Reader& reader) {
  const Fields& text = reader.text;
  Ssm ssm = read_mamba2(text);
  if (const auto named = text.find_count("mamba_d_ssm"); named && *named > 0) {
    ssm.d_inner = *named;
  } else {
    const std::uint64_t hidden_size = text.count("hidden_size");
    ssm.d_inner = scaled_width(text.find_real("expand").value_or(2.0), hidden_size, "mamba_expand");
  }
  if (ssm.d_inner % ssm.num_heads != 0) fail("\"mamba_d_ssm\" is no multiple of mamba_n_heads", "correct the config");
  ssm.head_dim = ssm.d_inner / ssm.num_heads;
  read_hybrid(reader, {PatternRule::Default::kWindowEverywhere, 0, false, Label::kHybrid, ""}, ssm);
}

// Hymba: attention heads and Mamba 1 in every layer; three global layers, and pairs that share their keys and values.
// Meta tokens go before the first forward pass (its modeling_hymba.py, HymbaModel.forward, where the cache is empty),
// so their keys and values are cached as any token's, and every window sees them (the prefix mask of its flex
// attention).
void read_hymba(Reader& reader) {
  const std::uint64_t layers = reader.num_layers();
  const Fields& text = reader.text;
  const Ssm ssm = read_mamba1(text);
  Heads heads = read_heads(text);
  heads.meta_tokens = text.count_or("num_memory_tokens", 0);
  const Tokens window = read_window(text);
  for (const std::string_view key : {"kv_reuse_every_i_layer", "kv_weight_reuse"}) text.touch(key);
  std::vector<bool> global(layers, window == Tokens(0));
  for (const std::uint64_t i : text.counts("global_attn_idx").value_or(std::vector<std::uint64_t>{}))
    if (i < layers) global[i] = true;
  // kv_reuse_group lists groups of layers; the first of each holds the cache.
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
      layer.mixers.push_back(Shared{source[i], heads, global[i] ? Tokens(0) : window});
    else
      layer.mixers.push_back(attention_mixer(reader, global[i] ? Label::kFull : Label::kSliding, heads, window));
    layer.mixers.push_back(ssm);
    reader.model.layers.push_back(std::move(layer));
  }
}

ShortConv read_short_conv(const Fields& config) {
  const ShortConv conv{config.count("hidden_size"), config.count_or("conv_L_cache", 3)};
  if (conv.conv_kernel == 0) fail("\"conv_L_cache\" is 0", "correct the config");
  return conv;
}

// LFM2: short convolutions between layers of grouped-query attention.
void read_lfm2(Reader& reader) {
  read_hybrid(reader, {}, read_short_conv(reader.text));
}

RgLru read_rg_lru(const Fields& config) {
  RgLru lru;
  lru.width = config.count_or("lru_width", 0);
  if (lru.width == 0) lru.width = config.count("hidden_size");
  lru.conv_kernel = config.count_or("conv1d_width", 4);
  lru.num_heads = config.count("num_attention_heads");
  return lru;
}

// Griffin: two recurrent layers, then one with a window.
void read_recurrent_gemma(Reader& reader) {
  const Fields& text = reader.text;
  const std::uint64_t layers = reader.num_layers();
  const RgLru lru = read_rg_lru(text);
  if (text.is_list("block_types") || text.is_list("layer_types")) return read_hybrid(reader, {}, lru);
  const Heads heads = read_heads(text);
  const Tokens window = read_window(text);
  for (std::uint64_t i = 0; i < layers; ++i) {
    if (i % 3 == 2)
      reader.model.layers.push_back({{attention_mixer(reader, Label::kSliding, heads, window)}});
    else
      reader.model.layers.push_back({{lru}});
  }
}

Rwkv read_rwkv_mixer(const Fields& config) {
  const std::string_view type = config.class_name();
  Rwkv rwkv;
  rwkv.version = type == "rwkv" ? 4 : type == "rwkv5" ? 5 : type.find('6') != std::string_view::npos ? 6 : 7;
  rwkv.hidden_size = config.count("hidden_size");
  if (const auto width = config.find_count("attention_hidden_size"); width && *width > 0 && rwkv.version < 7)
    rwkv.hidden_size = *width;
  rwkv.token_shifts = config.count_or("token_shift_count", type == "rwkv6qwen2" || type == "arwkv7" ? 1 : 2);
  if (rwkv.version > 4) {
    rwkv.head_dim = config.count_or("head_dim", 64);
    if (rwkv.head_dim == 0 || rwkv.hidden_size % rwkv.head_dim != 0)
      fail("\"head_dim\" is " + std::to_string(rwkv.head_dim) + ", which does not divide a \"hidden_size\" of " +
               std::to_string(rwkv.hidden_size),
           "correct the config");
  }
  return rwkv;
}

void read_rwkv(Reader& reader) {
  const Rwkv rwkv = read_rwkv_mixer(reader.text);
  for (std::uint64_t i = 0; i < reader.num_layers(); ++i) reader.model.layers.push_back({{rwkv}});
}

}  // namespace kvplan
