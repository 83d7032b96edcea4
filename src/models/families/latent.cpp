// Latent attention: DeepSeek-V2 and V3 and their kin, the sparse ones with an indexer, LongCat's double layers,
// DeepSeek-V4's compressed caches; and MiniMax-M3, whose index keys stand beside grouped-query attention.
#include <algorithm>

#include "kvplan/error.h"
#include "models/families.h"

namespace kvplan {

namespace {

Latent read_latent(const Fields& config) {
  Latent latent;
  // The latent is one for all heads: a config that names none still says what is kept.
  latent.num_heads = config.find_count("num_attention_heads") ? config.count("num_attention_heads") : 1;
  latent.kv_lora_rank = config.count("kv_lora_rank");
  latent.qk_rope_head_dim = config.count_or("qk_rope_head_dim", 64);
  latent.qk_nope_head_dim = config.count_or("qk_nope_head_dim", 128);
  latent.v_head_dim = config.count_or("v_head_dim", latent.qk_nope_head_dim);
  if (latent.v_head_dim == 0) fail("\"v_head_dim\" is 0", "a latent has values: correct the config");
  latent.q_lora_rank = config.count_or("q_lora_rank", 0);
  // Both are in the files and mean nothing for the cache.
  config.touch("num_key_value_heads");
  config.touch("head_dim");
  return latent;
}

// The latent of one layer: per_layer_config over what all have.
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

// Which layers have an indexer of their own: named, as letters (F and S), or every n-th.
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
    // The first `offset` layers have their own, then every `every`-th one, counted so that layer offset - 1 is one.
    const std::uint64_t offset = config.count_or("index_skip_topk_offset", 2);
    for (std::uint64_t i = offset; i < layers; ++i) own[i] = (i + 1 - offset) % every == 0;
  }
  return own;
}

}  // namespace

Mixer latent_mixer(const Fields& config) {
  return Mla{read_latent(config)};
}

Mixer sparse_latent_mixer(const Fields& config) {
  SparseMla out{read_latent(config), config.count_or("index_head_dim", 128), config.count_or("index_n_heads", 64),
                config.count_or("index_topk", 2048)};
  if (out.index_head_dim == 0 || out.index_n_heads == 0)
    fail("\"index_head_dim\" is " + std::to_string(out.index_head_dim) + " and \"index_n_heads\" " +
             std::to_string(out.index_n_heads),
         "an indexer has heads: correct the config");
  return out;
}

Mixer sparse_gqa_mixer(const Fields& config) {
  for (const std::string_view key : {"index_block_size", "index_topk_blocks", "index_local_blocks"}) config.touch(key);
  return SparseGqa{read_heads(config), config.count_or("index_head_dim", 128), config.count_or("index_n_heads", 4)};
}

void read_mla(Reader& reader) {
  const std::uint64_t layers = reader.num_layers();
  const Fields& text = reader.text;
  // DeepSeek-VL2 and DeepSeek-OCR have small members without a latent: plain heads of hidden_size / heads, whatever
  // the class says of head_dim (it speaks of the rotary part) and the zeros in the latent's fields.
  if (text.count_or("kv_lora_rank", 0) == 0 || !text.flag("use_mla", true)) {
    if (text.flag("use_mla", true) && text.is_number("kv_lora_rank") && text.is_number("qk_nope_head_dim") &&
        text.count_or("qk_nope_head_dim", 0) > 0)
      fail("\"kv_lora_rank\" is 0 beside a \"qk_nope_head_dim\"", "correct the config, or set use_mla to false");
    Heads heads;
    heads.num_heads = text.count("num_attention_heads");
    heads.num_kv_heads = text.count_or("num_key_value_heads", heads.num_heads);
    heads.head_dim = heads.v_head_dim = text.count("hidden_size") / heads.num_heads;
    check_heads(heads);
    text.derived("head_dim", heads.head_dim);
    for (const std::string_view key : {"q_lora_rank", "kv_lora_rank"}) text.touch(key);
    for (std::uint64_t i = 0; i < layers; ++i) reader.model.layers.push_back({{FullAttention{heads}}});
    return;
  }
  const Mixer latent = latent_mixer(text);
  for (std::uint64_t i = 0; i < layers; ++i) reader.model.layers.push_back({{latent}});
}

namespace {
// dots3.note: layers with a window have a latent of their own width: one key for all heads, no value.
void keep_windows(Reader& reader) {
  const std::uint64_t width = reader.text.count_or("swa_head_dim", 0);
  const Tokens window = read_window(reader.text);
  if (width == 0 || window == Tokens(0)) return;
  reader.text.touch("swa_v_head_dim");
  const std::vector<Label> labels = layer_labels(reader.text, reader.model.layers.size(), {});
  const Heads latent{reader.text.count("num_attention_heads"), 1, width, 0};
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (labels[i] == Label::kSliding) reader.model.layers[i] = {{SlidingWindow{latent, window}}};
}
}  // namespace

void read_sparse_mla(Reader& reader) {
  const std::uint64_t layers = reader.num_layers();
  reader.text.touch("index_share_for_mtp_iteration");
  const SparseMla sparse = std::get<SparseMla>(sparse_latent_mixer(reader.text));
  SparseMla shared = sparse;
  shared.index_head_dim = 0;
  for (const bool own : own_indexers(reader.text, layers)) reader.model.layers.push_back({{own ? sparse : shared}});
  keep_windows(reader);
}

// dots.note: latents with an indexer, and between them latents of another shape in a window (per_layer_config).
// Source: transformers modeling_dots3_note.py.
void read_dots3_note(Reader& reader) {
  const std::uint64_t layers = reader.num_layers();
  const Tokens window = read_window(reader.text);
  const std::vector<Label> labels = layer_labels(reader.text, layers, {PatternRule::Default::kFullEvery, 4});
  for (std::uint64_t i = 0; i < layers; ++i) {
    const Latent latent = layer_latent(reader.text, i);
    if (labels[i] == Label::kSliding) {
      reader.model.layers.push_back({{Mla{latent, window}}});
      continue;
    }
    SparseMla sparse = std::get<SparseMla>(sparse_latent_mixer(reader.text));
    sparse.latent = latent;
    reader.model.layers.push_back({{sparse}});
  }
}

// Mistral Large 4: layers without a rotary embedding have no rotary part; their keys are as wide all the same. A layer
// may read the cache of another (kv_source_layers). Source: transformers modeling_mistral_large4.py.
void read_mistral_large4(Reader& reader) {
  const std::uint64_t layers = reader.num_layers();
  const Fields& text = reader.text;
  const SparseMla sparse = std::get<SparseMla>(sparse_latent_mixer(text));
  SparseMla unrotated = sparse;
  unrotated.latent.qk_nope_head_dim =
      checked_add(sparse.latent.qk_nope_head_dim, sparse.latent.qk_rope_head_dim, "a key's width");
  unrotated.latent.qk_rope_head_dim = 0;
  const auto rope = text.counts("no_rope_layers");
  const std::vector<bool> own = own_indexers(text, layers);
  for (std::uint64_t i = 0; i < layers; ++i) {
    SparseMla layer = rope && i < rope->size() && (*rope)[i] == 0 ? unrotated : sparse;
    if (!own[i]) layer.index_head_dim = 0;
    reader.model.layers.push_back({{layer}});
  }
  if (const auto sources = text.counts("kv_source_layers"))
    for (std::uint64_t i = 0; i < layers && i < sources->size(); ++i)
      if ((*sources)[i] != i)
        return reader.warn("shared_latents", "kv_source_layers: a latent that layers share is counted in each of them");
}

// LongCat-Flash: each layer holds two latent attentions; num_layers counts the layers, num_hidden_layers the
// attentions.
void read_longcat(Reader& reader) {
  const Latent latent = read_latent(reader.text);
  const std::uint64_t attentions = reader.text.contains("num_layers")
                                       ? checked_mul(reader.text.count("num_layers"), 2, "the attention layers")
                                       : reader.text.count("num_hidden_layers");
  for (const std::string_view key : {"num_hidden_layers", "mla_scale_q_lora", "mla_scale_kv_lora"})
    reader.text.touch(key);
  check_layers(attentions, "num_layers");
  for (std::uint64_t i = 0; i < attentions; ++i) reader.model.layers.push_back({{Mla{latent}}});
}

void read_deepseek_v4(Reader& reader) {
  const std::uint64_t layers = reader.num_layers();
  const Fields& text = reader.text;
  Compressed window;
  window.num_heads = text.count("num_attention_heads");
  window.head_dim = text.count_or("head_dim", 512);
  window.qk_rope_head_dim = text.count_or("qk_rope_head_dim", 64);
  window.window = Tokens(text.count_or("sliding_window", 128));
  window.q_lora_rank = text.count_or("q_lora_rank", 0);
  window.o_lora_rank = text.count_or("o_lora_rank", 0);
  window.o_groups = text.count_or("o_groups", 1);
  window.index_n_heads = text.count_or("index_n_heads", 64);
  for (const std::string_view key : {"num_key_value_heads", "index_topk", "compress_rope_theta", "compress_rates"})
    text.touch(key);
  const std::uint64_t index_head_dim = text.count_or("index_head_dim", 128);
  auto ratios = text.counts("compress_ratios");
  if (!ratios) {
    // transformers 5 names the sort of each layer and one rate for each sort.
    const auto types = text.strings("layer_types");
    std::uint64_t sparse = 4;
    std::uint64_t heavy = 128;
    if (const auto rates = text.child("compress_rates")) {
      sparse = rates->count_or("compressed_sparse_attention", sparse);
      heavy = rates->count_or("heavily_compressed_attention", heavy);
    }
    std::vector<std::uint64_t> out;
    for (std::uint64_t i = 0; i < layers; ++i) {
      const std::string type = types && i < types->size() ? (*types)[i] : "";
      if (type == "sliding_attention")
        out.push_back(0);
      else if (type == "compressed_sparse_attention" || (type.empty() && i >= 3 && i % 2 == 1))
        out.push_back(sparse);
      else
        out.push_back(heavy);
    }
    ratios = out;
  }
  if (ratios->size() < layers) fail("\"compress_ratios\" does not name every layer", "give one entry for each layer");
  for (std::uint64_t i = 0; i < layers; ++i) {
    Compressed layer = window;
    layer.compress_ratio = (*ratios)[i];
    if (layer.compress_ratio > 1 && layer.compress_ratio < 32) layer.index_head_dim = index_head_dim;
    if (layer.index_head_dim == 0) layer.index_n_heads = 0;
    reader.model.layers.push_back({{layer}});
  }
}

// MiniMax-M3: index keys in the layers that read sparsely, by sparse_attention_freq or layer_types.
void read_minimax_m3(Reader& reader) {
  const std::uint64_t layers = reader.num_layers();
  SparseGqa sparse = std::get<SparseGqa>(sparse_gqa_mixer(reader.text));
  const Heads heads = sparse.heads;
  // The class's own default is full attention everywhere.
  std::vector<bool> reads_sparsely(layers, false);
  const auto settings = reader.text.child("sparse_attention_config");
  const auto types = reader.text.strings("layer_types");
  if (settings) {
    reader.text.touch("sparse_attention_config");
    sparse.index_head_dim = settings->count_or("sparse_index_dim", sparse.index_head_dim);
    sparse.index_n_heads = settings->count_or("sparse_num_index_heads", sparse.index_n_heads);
    if (const auto freq = settings->counts("sparse_attention_freq"))
      for (std::uint64_t i = 0; i < layers && i < freq->size(); ++i) reads_sparsely[i] = (*freq)[i] != 0;
  } else if (types) {
    for (std::uint64_t i = 0; i < layers && i < types->size(); ++i)
      reads_sparsely[i] = parse_label((*types)[i], "layer_types") == Label::kSparse;
  }
  for (const bool sparsely : reads_sparsely)
    reader.model.layers.push_back({{sparsely ? Mixer(sparse) : Mixer(FullAttention{heads})}});
}

}  // namespace kvplan
