// Compressed attention (DeepSeek-V4): a short window of plain entries, and one learned entry for every m tokens.
//
// One vector of d elements (d_rope of them rotated) is both key and value for all heads. Each layer keeps the last W of
// these vectors. A layer that compresses also keeps one such vector for every m tokens, which a compressor builds from
// running sums:
//
//   elements(S) = min(S, W) * d                                window, every layer
//               + floor(S / m) * d                             m = 4 (CSA) or 128 (HCA); none if m is 0
//               + floor(S / m) * d_index                       index keys, CSA only
//               + min(S, w_m) * s_m * d                        compressor state, float32
//               + min(S, w_m) * s_m * d_index                  the indexer's compressor state, CSA only, float32
//
//   W        sliding_window (128)
//   m        compress_ratios[layer]: 0 or 1, 4, 128
//   d        head_dim (512), d_rope = qk_rope_head_dim (64) of them
//   d_index  index_head_dim (128)
//   w_m, s_m CSA blocks overlap: the state spans 2m = 8 tokens of 4 vectors (key and score, two blocks); HCA: 128 of 2
//
// In V4-Flash a long context takes 21 * 640 / 4 + 20 * 512 / 128 elements per token, about 6.9 KB in 16 bit. Users may
// not expect the state: HCA takes 0.5 MiB per layer and sequence, even for a short text.
//
// In DeepSeek-V4.1 only the layers of kv_source_layer_ids have entries, with m = 2, or m = 1 for every token. The
// layers after such a source read its entries and index keys, and have only their own window. The sums are of m tokens,
// with 2 vectors each.
//
// Source: vLLM models/deepseek_v4, models/deepseek_v41 (compressor.py, sparse_swa.py); transformers DeepseekV4HCACache
// and CSACache;
//   llama.cpp llama_kv_cache_dsv4, whose float32 states have the same sizes.
// Checked against: testdata/configs/deepseek-v4-flash.json; vLLM 0.22's "6.66 GiB" gate line for 30,000 tokens.
// Engines differ: vLLM packs an entry as 584 bytes (448 FP8 + 8 scales + 64 bf16) and an index key as 132.
#pragma once

#include "formulas/kind.h"

namespace kvplan {

struct Compressed {
  std::uint64_t num_heads = 0;
  std::uint64_t head_dim = 0;          // d
  std::uint64_t qk_rope_head_dim = 0;  // d_rope, part of d
  std::uint64_t compress_ratio = 0;    // m; 0 or 1: window only
  std::uint64_t index_head_dim = 0;    // d_index; 0 if the layer has no indexer
  std::uint64_t index_n_heads = 0;
  bool by_source = false;  // DeepSeek-V4.1
  bool is_source = false;  // and this layer owns entries
  Tokens window;           // W
  // For the projections: the query's low rank, the output's rank and groups.
  std::uint64_t q_lora_rank = 0;
  std::uint64_t o_lora_rank = 0;
  std::uint64_t o_groups = 0;

  static constexpr KindInfo kInfo[] = {{"compressed", "compressed attention (DeepSeek-V4)",
                                        "min(S, W)*d + floor(S/m)*(d + d_index) + min(S, w_m)*s_m*(d + d_index)",
                                        "compress_ratios, head_dim, index_head_dim, sliding_window",
                                        "tokens, one entry for m of them", "vLLM models/deepseek_v4/compressor.py"}};
  std::string_view variant() const;  // window, csa, hca
  CacheTerms terms(Form form) const;
  std::vector<Symbol> symbols() const;
  void project(Projections& out) const;
  std::uint64_t macs_per_entry() const;
  bool owns_entries() const;
  void project_source(Projections& out) const;
  friend bool operator==(const Compressed&, const Compressed&) = default;
};

}  // namespace kvplan
