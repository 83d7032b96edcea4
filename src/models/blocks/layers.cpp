// The layers that several families share: plain and windowed attention, latents, linear attention, recurrences.
#include "models/blocks/layers.h"

#include "kvplan/error.h"
#include "models/family.h"

namespace kvplan {

void read_plain(Reader& reader) {
  read_decoder(reader, {});
}

void read_windowed(Reader& reader) {
  PatternRule rule = pattern_of(reader, {PatternRule::Default::kWindowEverywhere});
  // EXAONE-4's small model and others disable the window by a null.
  for (const std::string_view key : {"use_sliding_window", "max_window_layers", "sliding_window_pattern",
                                     "_sliding_window_pattern", "prefix_dense_sliding_window_pattern"})
    reader.text.touch(key);
  if (read_window(reader.text) == Tokens(0)) rule = {};
  read_decoder(reader, rule);
}

void read_qwen(Reader& reader) {
  // Only a list of layers counts, not these keys.
  for (const std::string_view key : {"sliding_window", "use_sliding_window", "max_window_layers"})
    reader.text.touch(key);
  read_decoder(reader, {PatternRule::Default::kQwen});
}

bool attends_plainly(const Family& family) {
  return family.layers == read_plain || family.layers == read_windowed || family.layers == read_qwen;
}

void push_full(Reader& reader, const Heads& heads) {
  check_heads(heads);
  reader.model.layers.assign(reader.num_layers(), Layer{{FullAttention{heads}}});
}

Heads heads_of_width(const Fields& config, std::uint64_t num_heads, std::uint64_t num_kv_heads) {
  const std::uint64_t hidden_size = config.count("hidden_size");
  const std::uint64_t head_dim = config.count_or("head_dim", hidden_size / num_heads);
  if (head_dim == 0) fail("there are more heads than the hidden size is wide", "correct the config");
  config.derived("head_dim", head_dim);
  return {num_heads, num_kv_heads, head_dim, head_dim};
}

// Hunyuan Large: with use_cla only every cla_share_factor-th layer has K and V. AFM: the last num_kv_reuse_layers
// layers read the last cache before them.
void read_cross_layer(Reader& reader) {
  const std::uint64_t layers = reader.num_layers();
  const Heads heads = read_heads(reader.text);
  const std::uint64_t factor =
      reader.text.flag("use_cla", false) ? reader.text.count_or("cla_share_factor", 1) : std::uint64_t{1};
  if (factor == 0) fail("\"cla_share_factor\" is 0", "correct the config");
  const std::uint64_t reuse = reader.text.count_or("num_kv_reuse_layers", 0);
  if (reuse >= layers) fail("\"num_kv_reuse_layers\" leaves no layer with a cache", "correct the config");
  for (std::uint64_t i = 0; i < layers; ++i) {
    const std::uint64_t source = i >= layers - reuse ? layers - reuse - 1 : i - i % factor;
    if (source == i)
      reader.add({{FullAttention{heads}}});
    else
      reader.add({{Shared{source, heads, Tokens(0)}}});
  }
}

// Granite Switch: after the layers there is an additional attention with one head, which routes to adapters.
void read_router_layer(Reader& reader) {
  read_decoder(reader, {});
  Heads heads = read_heads(reader.text);
  heads.num_heads = heads.num_kv_heads = 1;
  reader.add({{FullAttention{heads}}});
}

// For encoders and diffusion models in a GGUF.
void read_no_cache(Reader& reader) {
  reader.inform("no_cache", "a model of this architecture has no KV cache by itself");
  reader.model.layers.assign(reader.num_layers(), Layer{{None{}}});
}

Latent read_latent(const Fields& config) {
  Latent latent;
  // All heads share one latent, so the cache does not depend on the number of heads.
  latent.num_heads = config.find_count("num_attention_heads") ? config.count("num_attention_heads") : 1;
  latent.kv_lora_rank = config.count("kv_lora_rank");
  latent.qk_rope_head_dim = config.count_or("qk_rope_head_dim", 64);
  latent.qk_nope_head_dim = config.count_or("qk_nope_head_dim", 128);
  latent.v_head_dim = config.count_or("v_head_dim", latent.qk_nope_head_dim);
  if (latent.v_head_dim == 0) fail("\"v_head_dim\" is 0", "a latent cannot be empty: correct the config");
  latent.q_lora_rank = config.count_or("q_lora_rank", 0);
  // Files have both keys. They do not affect the cache.
  config.touch("num_key_value_heads");
  config.touch("head_dim");
  return latent;
}

// One layer's latent: per_layer_config overrides the settings of all layers.
Latent layer_latent(const Fields& config, std::uint64_t layer) {
  Latent latent = read_latent(config);
  const auto own = layer_config(config, layer);
  if (!own) return latent;
  latent.num_heads = own->count_or("num_attention_heads", latent.num_heads);
  latent.kv_lora_rank = own->count_or("kv_lora_rank", latent.kv_lora_rank);
  latent.qk_rope_head_dim = own->count_or("qk_rope_head_dim", latent.qk_rope_head_dim);
  latent.qk_nope_head_dim = own->count_or("qk_nope_head_dim", latent.qk_nope_head_dim);
  latent.v_head_dim = own->count_or("v_head_dim", latent.v_head_dim);
  latent.q_lora_rank = own->count_or("q_lora_rank", latent.q_lora_rank);
  own->touch("num_key_value_heads");
  return latent;
}

// Which layers have their own indexer: by a list, by letters (F and S), or every n-th layer.
std::vector<bool> own_indexers(const Fields& config, std::uint64_t layers) {
  std::vector<bool> own(layers, true);
  if (const auto types = config.strings("indexer_types")) {
    if (types->size() < layers) fail("\"indexer_types\" does not name every layer", "give one entry for each layer");
    for (std::uint64_t i = 0; i < layers; ++i) own[i] = (*types)[i] != "shared";
    config.touch("index_topk_freq");
    config.touch("index_skip_topk_offset");
  } else if (config.is_string("index_topk_pattern")) {
    const std::string letters = *config.find_string("index_topk_pattern");
    if (letters.size() < layers)
      fail("\"index_topk_pattern\" does not name every layer", "give one letter for each layer");
    for (std::uint64_t i = 0; i < layers; ++i) own[i] = letters[i] != 'S';
  } else if (const std::uint64_t every = config.count_or("index_topk_freq", 1); every > 1) {
    // The first `offset` layers have their own indexer, and then every `every`-th layer, starting from layer offset -
    // 1.
    const std::uint64_t offset = config.count_or("index_skip_topk_offset", 2);
    for (std::uint64_t i = offset; i < layers; ++i) own[i] = (i + 1 - offset) % every == 0;
  }
  return own;
}

Mixer latent_mixer(const Fields& config) {
  return Mla{read_latent(config)};
}

Mixer sparse_latent_mixer(const Fields& config) {
  SparseMla out{read_latent(config), config.count_or("index_head_dim", 128), config.count_or("index_n_heads", 64),
                config.count_or("index_topk", 2048)};
  if (out.index_head_dim == 0 || out.index_n_heads == 0)
    fail("\"index_head_dim\" is " + std::to_string(out.index_head_dim) + " and \"index_n_heads\" " +
             std::to_string(out.index_n_heads),
         "an indexer needs heads: correct the config");
  return out;
}

Mixer sparse_gqa_mixer(const Fields& config) {
  for (const std::string_view key : {"index_block_size", "index_topk_blocks", "index_local_blocks"}) config.touch(key);
  return SparseGqa{read_heads(config), config.count_or("index_head_dim", 128), config.count_or("index_n_heads", 4)};
}

void read_mla(Reader& reader) {
  const std::uint64_t layers = reader.num_layers();
  const Fields& text = reader.text;
  // The small models of DeepSeek-VL2 and DeepSeek-OCR have plain heads of hidden_size / heads instead of a latent.
  // Their class's head_dim (the width of the rotary part) and the zeros in the latent's fields are ignored.
  if (text.count_or("kv_lora_rank", 0) == 0 || !text.flag("use_mla", true)) {
    if (text.flag("use_mla", true) && text.is_number("kv_lora_rank") && text.is_number("qk_nope_head_dim") &&
        text.count_or("qk_nope_head_dim", 0) > 0)
      fail("\"kv_lora_rank\" is 0 although there is a \"qk_nope_head_dim\"",
           "correct the config, or set use_mla to false");
    Heads heads;
    heads.num_heads = text.count("num_attention_heads");
    heads.num_kv_heads = text.count_or("num_key_value_heads", heads.num_heads);
    heads.head_dim = heads.v_head_dim = text.count("hidden_size") / heads.num_heads;
    check_heads(heads);
    text.derived("head_dim", heads.head_dim);
    for (const std::string_view key : {"q_lora_rank", "kv_lora_rank"}) text.touch(key);
    reader.model.layers.assign(layers, Layer{{FullAttention{heads}}});
    return;
  }
  const Mixer latent = latent_mixer(text);
  reader.model.layers.assign(layers, Layer{{latent}});
}

// dots3.note: layers with a window have a latent of another width: one key for all heads, and no value.
static void keep_windows(Reader& reader) {
  const std::uint64_t width = reader.text.count_or("swa_head_dim", 0);
  const Tokens window = read_window(reader.text);
  if (width == 0 || window == Tokens(0)) return;
  reader.text.touch("swa_v_head_dim");
  const std::vector<Label> labels = layer_labels(reader.text, reader.model.layers.size(), {});
  const Heads latent{reader.text.count("num_attention_heads"), 1, width, 0};
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (labels[i] == Label::kSliding) reader.model.layers[i] = {{SlidingWindow{latent, window}}};
}

void read_sparse_mla(Reader& reader) {
  const std::uint64_t layers = reader.num_layers();
  reader.text.touch("index_share_for_mtp_iteration");
  const SparseMla sparse = std::get<SparseMla>(sparse_latent_mixer(reader.text));
  SparseMla shared = sparse;
  shared.index_head_dim = 0;
  for (const bool own : own_indexers(reader.text, layers)) reader.add({{own ? sparse : shared}});
  keep_windows(reader);
}

Linear read_delta_net(const Fields& config) {
  Linear linear;
  linear.rule = Linear::Rule::kGatedDeltaNet;
  linear.num_key_heads = config.count("linear_num_key_heads");
  linear.num_value_heads = config.count("linear_num_value_heads");
  linear.key_head_dim = config.count("linear_key_head_dim");
  linear.value_head_dim = config.count("linear_value_head_dim");
  linear.conv_kernel = config.count_or("linear_conv_kernel_dim", 4);
  return linear;
}

Linear read_kda(const Fields& settings) {
  Linear kda;
  kda.rule = Linear::Rule::kKda;
  kda.num_key_heads = kda.num_value_heads = settings.count("num_heads");
  kda.key_head_dim = kda.value_head_dim = settings.count("head_dim");
  kda.conv_kernel = settings.count_or("short_conv_kernel_size", 4);
  return kda;
}

Linear read_linear_heads(const Fields& text, std::uint64_t num_heads, std::uint64_t head_dim) {
  if (const auto settings = text.child("linear_attn_config")) {
    text.touch("linear_attn_config");
    return read_kda(*settings);
  }
  Linear kda;
  kda.rule = Linear::Rule::kKda;
  kda.num_key_heads = kda.num_value_heads = text.count_or("linear_num_heads", num_heads);
  kda.key_head_dim = kda.value_head_dim = text.count_or("linear_head_dim", head_dim);
  kda.conv_kernel = text.count_or("linear_conv_kernel_dim", 4);
  return kda;
}

Linear read_matrix_state(const Heads& heads) {
  Linear linear;
  linear.rule = Linear::Rule::kLightning;
  linear.num_key_heads = linear.num_value_heads = heads.num_heads;
  linear.key_head_dim = linear.value_head_dim = heads.head_dim;
  return linear;
}

// Linear layers, alternating with latent ones, or with plain ones if the config has no latent.
void push_linear_and_latent(Reader& reader, const std::vector<Label>& labels, const Linear& linear) {
  ModelSpec scratch;
  scratch.model_type = reader.model.model_type;
  Reader inner{reader.root, reader.text, scratch};
  read_mla(inner);
  const Mixer& full = scratch.layers.front().mixers.front();
  for (const Label label : labels) reader.add({{label == Label::kRecurrent ? Mixer(linear) : full}});
}

// Qwen3-Next, 3.5 and 3.6: gated delta nets, and full attention every fourth layer.
void read_gated_delta_net(Reader& reader) {
  read_hybrid(reader, full_every(4, Label::kRecurrent), read_delta_net(reader.text));
}

// Kimi-Linear and Kimi-K3: KDA, and latent attention in the layers of full_attn_layers (both lists count from 1).
// transformers writes layer_types and linear_* keys instead.
void read_kimi_linear(Reader& reader) {
  const Fields& text = reader.text;
  if (!text.is_object("linear_attn_config") && !text.has("linear_num_heads")) return read_mla(reader);
  const PatternRule rule = full_every(4, Label::kRecurrent);
  // Reads the keys in separate statements: reports list them in the order of reading, and C++ does not specify the
  // order of arguments.
  const Linear linear = read_linear_heads(text, 32, 128);
  push_linear_and_latent(reader, layer_labels(text, reader.num_layers(), rule), linear);
}

// MiniMax-01, Ring and Ling linear: lightning attention keeps one d x d matrix per head. Ling 2.5 and 3 have latent
// attention in between, and the linear layers of Ling 3 are KDA (with its short convolutions).
void read_lightning(Reader& reader) {
  const Fields& text = reader.text;
  const PatternRule rule = pattern_of(reader, {});
  if (text.count_or("kv_lora_rank", 0) == 0) return read_hybrid(reader, rule, read_matrix_state(read_heads(text)));
  Heads heads;
  heads.num_heads = text.count("num_attention_heads");
  heads.head_dim = text.count_or("head_dim", text.count("hidden_size") / heads.num_heads);
  Linear linear = read_matrix_state(heads);
  if (text.has("linear_num_heads")) {
    // transformers' form, whose head_dim is the width of the rotary part.
    linear = read_linear_heads(text, heads.num_heads, heads.head_dim);
  } else if (text.has("short_conv_kernel_size") || text.has("kda_lower_bound")) {
    linear.rule = Linear::Rule::kKda;
    linear.conv_kernel = text.count_or("short_conv_kernel_size", 4);
  }
  push_linear_and_latent(reader, layer_labels(text, reader.num_layers(), rule), linear);
}

// For a model with only Mamba 2 layers, num_heads and head_dim are the mixer's.
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

Ssm read_ssm(const Fields& config) {
  for (const std::string_view key : {"mamba_num_heads", "mamba_n_heads", "n_mamba_heads"})
    if (config.has(key)) return read_mamba2(config);
  if (config.has("num_heads")) return read_mamba2_alone(config);
  return read_mamba1(config);
}

// Bamba, Granite 4, Nemotron-H: Mamba 2 and attention alternate, by a list or a string of letters.
void read_mamba2_hybrid(Reader& reader) {
  const Fields& text = reader.text;
  // A Granite model with only attention layers has Mamba keys too, but no layer uses them.
  read_hybrid(reader, pattern_of(reader, {}), read_mamba2(text));
}

std::uint64_t channels_of(std::uint64_t heads, std::uint64_t head_dim) {
  return checked_mul(heads, head_dim, "the channels of a convolution");
}

ShortConv read_short_conv(const Fields& config) {
  const ShortConv conv{config.count("hidden_size"), config.count_or("conv_L_cache", 3)};
  if (conv.conv_kernel == 0) fail("\"conv_L_cache\" is 0", "correct the config");
  return conv;
}

RgLru read_rg_lru(const Fields& config) {
  RgLru lru;
  lru.width = config.count_or("lru_width", 0);
  if (lru.width == 0) lru.width = config.count("hidden_size");
  lru.conv_kernel = config.count_or("conv1d_width", 4);
  lru.num_heads = config.count("num_attention_heads");
  return lru;
}

}  // namespace kvplan
