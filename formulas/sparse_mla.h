// MLA with a learned index (DeepSeek sparse attention: DeepSeek-V3.2, GLM-5).
//
// A small "lightning indexer" scores every past token, and the attention then reads only the best ones. That saves
// work, but not memory: the latent of every token stays, and the indexer adds a key per token:
//
//   elements(S) = S * (r + d_rope)  +  S * d_index
//
//   r, d_rope  as in mla.h
//   d_index    index_head_dim (128): one key for all index heads
//
// The index key is stored in FP8 with a float32 scale for every 128 elements, whatever the KV type: 132 bytes. A
// layer whose indexer is shared (GLM-5.2: indexer_types "shared") reuses another layer's choice and keeps no keys.
//
// Source: DeepSeek-V3.2 (arXiv 2512.02556), section 2; vLLM DeepseekV32IndexerCache (deepseek_v2.py).
// Checked against: testdata/configs/deepseek-v3.2.json: 61 * (576*2 + 132) = 78,324 B per token in bf16; a vLLM log of
//   GLM-5.2 with 22 indexer caches over 79 layers.
// Engines differ: llama.cpp keeps index keys at the K type; SGLang gives every layer index keys.
#pragma once

#include "formulas/mla.h"

namespace kvplan {

struct SparseMla {
  Latent latent;
  std::uint64_t index_head_dim = 0;  // 0 if the indexer is shared: no index keys
  std::uint64_t index_n_heads = 0;   // query heads of the indexer
  std::uint64_t index_topk = 0;      // tokens that the attention then reads
  std::uint64_t index_pool = 1;      // tokens of an index key: pooled_index.h

  static constexpr KindInfo kInfo[] = {{"sparse_mla", "latent attention with an indexer", "S*(r + d_rope) + S*d_index",
                                        "kv_lora_rank, qk_rope_head_dim, index_head_dim, indexer_types", "every token",
                                        "arXiv 2512.02556, section 2"}};
  std::string_view variant() const { return index_head_dim == 0 ? "shared_indexer" : ""; }
  CacheTerms terms(Form form) const;
  std::vector<Symbol> symbols() const;
  void project(Projections& out) const;
  std::uint64_t macs_per_entry() const;
  friend bool operator==(const SparseMla&, const SparseMla&) = default;
};

}  // namespace kvplan
