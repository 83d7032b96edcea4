// Layers of plain attention: all alike, or windows in a pattern; and those that read another layer's cache.
#include <algorithm>

#include "kvplan/error.h"
#include "models/blocks/layers.h"
#include "models/registry.h"

namespace kvplan {

void read_plain(Reader& reader) {
  read_decoder(reader, {});
}

void read_windowed(Reader& reader) {
  PatternRule rule = pattern_of(reader, {PatternRule::Default::kWindowEverywhere});
  // EXAONE-4's small model and others switch the window off with a null.
  for (const std::string_view key : {"use_sliding_window", "max_window_layers", "sliding_window_pattern",
                                     "_sliding_window_pattern", "prefix_dense_sliding_window_pattern"})
    reader.text.touch(key);
  if (read_window(reader.text) == Tokens(0)) rule = {};
  read_decoder(reader, rule);
}

void read_qwen(Reader& reader) {
  for (const std::string_view key : {"sliding_window", "max_window_layers"}) reader.text.touch(key);
  read_decoder(reader, {PatternRule::Default::kQwen});
}

bool attends_plainly(const Family& family) {
  return family.layers == read_plain || family.layers == read_windowed || family.layers == read_qwen;
}

void push_full(Reader& reader, const Heads& heads) {
  check_heads(heads);
  for (std::uint64_t i = 0; i < reader.num_layers(); ++i) reader.model.layers.push_back({{FullAttention{heads}}});
}

Heads heads_of_width(const Fields& config, std::uint64_t num_heads, std::uint64_t num_kv_heads) {
  const std::uint64_t hidden_size = config.count("hidden_size");
  const std::uint64_t head_dim = config.count_or("head_dim", hidden_size / num_heads);
  if (head_dim == 0) fail("there are more heads than the hidden size is wide", "correct the config");
  config.derived("head_dim", head_dim);
  return {num_heads, num_kv_heads, head_dim, head_dim};
}

// Hunyuan Large: with use_cla only every cla_share_factor-th layer holds K and V. AFM: the last num_kv_reuse_layers
// read the last cache before them.
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
      reader.model.layers.push_back({{FullAttention{heads}}});
    else
      reader.model.layers.push_back({{Shared{source, heads, Tokens(0)}}});
  }
}

// Granite Switch: one more attention of a single head behind the layers routes to adapters.
void read_router_layer(Reader& reader) {
  read_decoder(reader, {});
  Heads heads = read_heads(reader.text);
  heads.num_heads = heads.num_kv_heads = 1;
  reader.model.layers.push_back({{FullAttention{heads}}});
}

// Encoders and diffusion models of a GGUF, whichever they are.
void read_no_cache(Reader& reader) {
  reader.inform("no_cache", "a model of this architecture keeps no cache of its own");
  reader.model.layers.assign(reader.num_layers(), Layer{{None{}}});
}

}  // namespace kvplan
