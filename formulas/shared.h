// A layer that attends to another layer's keys and values and caches nothing (Gemma 3n and 4, cross-layer
// attention, YOCO, AFM).
//
//   elements = 0
//
// The attention still runs: the layer has queries and an output, and reads the cache of layer `source_layer`.
//
// Source: Brandon et al. 2024 (arXiv 2405.12981), cross-layer attention; Sun et al. 2024 (2405.05254), YOCO;
//   transformers num_kv_shared_layers.
// Checked against: a llama.cpp run of gemma-3n-e4b: 20 of 35 layers hold a cache, 64 MiB at 4,096 tokens.
// Engines differ: transformers before 4.5x kept a cache in such layers.
#pragma once

#include "formulas/heads.h"

namespace kvplan {

struct Shared {
  std::uint64_t source_layer = 0;  // the layer whose cache it reads
  Heads heads;
  Tokens window;  // the source layer's window; 0 if it attends to everything
  static constexpr KindInfo kInfo[] = {{"shared", "reads another layer's cache", "0",
                                        "num_kv_shared_layers, cla_share_factor, num_kv_reuse_layers", "nothing",
                                        "arXiv 2405.12981, 2405.05254"}};
  CacheTerms terms(Form) const { return {}; }
  std::vector<Symbol> symbols() const {
    return head_symbols(heads, {{"layer", source_layer, "the layer whose cache it reads"}});
  }
  // Files of Gemma 3n and 4 keep the projections of these layers; cross-layer sharing has none.
  void project(Projections& out) const { project_heads(out, heads, false); }
  std::uint64_t macs_per_entry() const { return head_macs(heads); }
  friend bool operator==(const Shared&, const Shared&) = default;
};

}  // namespace kvplan
