// Latent attention, with an indexer or without, and index keys beside grouped-query attention.
#include <algorithm>

#include "kvplan/error.h"
#include "models/blocks/layers.h"
#include "models/registry.h"

namespace kvplan {

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

}  // namespace kvplan
