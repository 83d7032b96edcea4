#include "formulas/heads.h"

namespace kvplan {

CacheTerms key_value_terms(const Heads& heads, const Limit& limit, Growth growth) {
  Term key{.name = "key", .role = Role::kKey, .growth = growth, .limit = limit};
  key.shape = {.units = heads.num_kv_heads, .vectors = 1, .width = heads.head_dim};
  Term value = key;
  value.name = "value";
  value.role = Role::kValue;
  value.shape.width = heads.v_head_dim;
  if (heads.meta_tokens == 0 || growth != Growth::kToken) return {key, value};
  CacheTerms out{key, value};
  for (Term meta : {key, value}) {
    meta.name = meta.role == Role::kKey ? "meta key" : "meta value";
    meta.growth = Growth::kSequence;
    meta.limit = {};
    meta.shape.vectors = heads.meta_tokens;
    out.push_back(meta);
  }
  return out;
}

std::vector<Symbol> head_symbols(const Heads& heads) {
  std::vector<Symbol> out{{"H", heads.num_heads, "num_attention_heads"},
                          {"H_kv", heads.num_kv_heads, "num_key_value_heads"},
                          {"d", heads.head_dim, "head_dim"}};
  if (heads.v_head_dim != heads.head_dim) out.push_back({"d_v", heads.v_head_dim, "v_head_dim"});
  if (heads.meta_tokens > 0) out.push_back({"M", heads.meta_tokens, "num_memory_tokens"});
  return out;
}

std::uint64_t head_macs(const Heads& heads) {
  return checked_mul(heads.num_heads, checked_add(heads.head_dim, heads.v_head_dim, "a head's width"),
                     "the work of one cached token");
}

}  // namespace kvplan
