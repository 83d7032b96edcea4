#include "formulas/sparse_mla.h"

#include "formulas/pooled_index.h"
#include "formulas/projections.h"

namespace kvplan {

CacheTerms SparseMla::terms(Form form) const {
  CacheTerms out = latent_terms(latent, form);
  constexpr std::uint64_t kKeyAndGate = 2;
  if (index_head_dim > 0) add_index_terms(out, index_head_dim, Storage::kFp8Scaled, index_pool, kKeyAndGate);
  return out;
}

std::vector<Symbol> SparseMla::symbols() const {
  std::vector<Symbol> out = latent_symbols(latent);
  out.push_back({"d_index", index_head_dim, "index_head_dim"});
  if (index_pool > 1) out.push_back({"p", index_pool, "index_kpool"});
  return out;
}

// The indexer scores every token. The attention to index_topk of them does not grow with the number of entries.
std::uint64_t SparseMla::macs_per_entry() const {
  return checked_mul(index_n_heads, index_head_dim, "the work of one cached token");
}

void SparseMla::project(Projections& out) const {
  project_latent(out, latent);
  if (index_head_dim == 0) return;
  const std::uint64_t query_rank = latent.q_lora_rank > 0 ? latent.q_lora_rank : out.hidden;
  out.linear(Component::kAttention, "self_attn.indexer.wq_b", times(index_n_heads, index_head_dim), query_rank);
  // vLLM fuses the keys and the weights of heads, in 16 bit (models/deepseek_v2.py wk_weights_proj).
  out.linear(Component::kAttention, "self_attn.indexer.wk", index_head_dim, out.hidden).kept = Kept::kPlain;
  out.plain(Component::kNorms, "self_attn.indexer.k_norm", times(2, index_head_dim)).kept = Kept::kFloat32;
  out.linear(Component::kAttention, "self_attn.indexer.weights_proj", index_n_heads, out.hidden).kept = Kept::kPlain;
}

}  // namespace kvplan
