#include "formulas/sparse_gqa.h"

#include "formulas/pooled_index.h"
#include "formulas/projections.h"

namespace kvplan {

CacheTerms SparseGqa::terms(Form) const {
  CacheTerms out = key_value_terms(heads);
  add_index_terms(out, index_head_dim, index_storage, index_pool, 1);
  return out;
}

std::vector<Symbol> SparseGqa::symbols() const {
  std::vector<Symbol> out = head_symbols(heads);
  out.push_back({"d_index", index_head_dim, "index_head_dim"});
  if (index_pool > 1) out.push_back({"p", index_pool, "indexer_compress_ratio"});
  return out;
}

std::uint64_t SparseGqa::macs_per_entry() const {
  return checked_mul(index_n_heads, index_head_dim, "the work of one cached token");
}

void SparseGqa::project(Projections& out) const {
  project_heads(out, heads);
  if (index_head_dim == 0) return;
  out.linear(Component::kAttention, "self_attn.index_q_proj", times(index_n_heads, index_head_dim), out.hidden);
  out.linear(Component::kAttention, "self_attn.index_k_proj", index_head_dim, out.hidden);
  out.norms("self_attn.index_q_norm", index_head_dim);
  out.norms("self_attn.index_k_norm", index_head_dim);
}

}  // namespace kvplan
