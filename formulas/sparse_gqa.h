// Grouped-query attention with block-sparse reading (MiniMax-M3).
//
// Index keys, one small vector a token, choose the blocks of tokens that the attention reads. All keys and values
// stay in memory:
//
//   elements(S) = S * H_kv * (d + d_v)  +  S * d_index
//
//   d_index   index_head_dim (128): one key for all index heads, in the model's type
//   the other symbols as in full_attention.h
//
// Source: MiniMax-M3 (transformers models/minimax_m3_vl, MiniMaxM3VLSparseCacheLayer; vLLM sparse_index_dim).
// Checked against: testdata/configs/minimax-m3.json: 60 * 1,024 + 57 * 128 elements, 137,472 B per token in bf16.
// Engines differ: SGLang keeps one key head as here; calculators that multiply by index_n_heads overstate it.
#pragma once

#include "formulas/heads.h"

namespace kvplan {

struct SparseGqa {
  Heads heads;
  std::uint64_t index_head_dim = 0;
  std::uint64_t index_n_heads = 0;
  std::uint64_t index_pool = 1;  // tokens of an index key: pooled_index.h
  Storage index_storage = Storage::kModel;

  static constexpr KindInfo kInfo[] = {{"sparse_gqa", "grouped-query attention with index keys",
                                        "S*H_kv*(d + d_v) + S*d_index",
                                        "num_key_value_heads, head_dim, index_head_dim, sparse_attention_config",
                                        "every token", "vLLM and transformers, minimax_m3"}};
  CacheTerms terms(Form form) const;
  std::vector<Symbol> symbols() const;
  void project(Projections& out) const;
  std::uint64_t macs_per_entry() const;
  friend bool operator==(const SparseGqa&, const SparseGqa&) = default;
};

}  // namespace kvplan
