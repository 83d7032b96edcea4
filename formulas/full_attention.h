// Multi-head, grouped-query and multi-query attention over every token so far.
//
// Each decoded token attends to the keys and values of all tokens before it, so a layer keeps both for as long as
// the sequence lives. Queries are not kept. Heads of queries may share a head of keys and values:
//
//   elements(S) = S * H_kv * (d + d_v)
//
//   S     tokens of the sequence
//   H_kv  num_key_value_heads: H (multi-head), a divisor of H (grouped-query), or 1 (multi-query)
//   d     head_dim; hidden_size / num_attention_heads if neither the config nor the class gives it
//   d_v   v_head_dim; d in most models
//
// Memory grows with S and does not depend on the number of query heads H. Experts (MoE) change nothing here. The width
// d does not depend on hidden_size: Qwen3-0.6B has 16 heads of 128 and a hidden size of 1024.
//
// Source: Vaswani et al. 2017 (arXiv 1706.03762), section 3.2; Shazeer 2019 (1911.02150), multi-query; Ainslie et
//   al. 2023 (2305.13245), grouped-query. Engines: vLLM FullAttentionSpec, llama.cpp llama_kv_cache.
// Checked against: testdata/configs/llama-3.1-8b.json: 32 * 2 * 8 * 128 = 65,536 elements, 131,072 B per token in bf16.
// Engines differ: pages (vLLM 16 tokens), cells (llama.cpp 256), none (transformers). The elements are the same.
#pragma once

#include "formulas/heads.h"

namespace kvplan {

struct FullAttention {
  Heads heads;

  static constexpr KindInfo kInfo[] = {
      {"mha", "multi-head attention", "S*H*(d + d_v)", "num_attention_heads, head_dim, hidden_size", "every token",
       "arXiv 1706.03762, section 3.2"},
      {"gqa", "grouped-query attention", "S*H_kv*(d + d_v)", "num_key_value_heads, head_dim", "every token",
       "arXiv 2305.13245"},
      {"mqa", "multi-query attention", "S*(d + d_v)", "num_key_value_heads = 1, multi_query, head_dim", "every token",
       "arXiv 1911.02150"},
  };
  const KindInfo& info() const {
    if (heads.num_kv_heads == heads.num_heads) return kInfo[0];
    return heads.num_kv_heads == 1 ? kInfo[2] : kInfo[1];
  }
  CacheTerms terms(Form) const { return key_value_terms(heads); }
  std::vector<Symbol> symbols() const { return head_symbols(heads); }
  void project(Projections& out) const { project_heads(out, heads); }
  std::uint64_t macs_per_entry() const { return head_macs(heads); }
  friend bool operator==(const FullAttention&, const FullAttention&) = default;
};

}  // namespace kvplan
