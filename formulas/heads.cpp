#include "formulas/heads.h"

#include <string>

#include "formulas/projections.h"

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

std::vector<Symbol> head_symbols(const Heads& heads, std::initializer_list<Symbol> more) {
  std::vector<Symbol> out{{"H", heads.num_heads, "num_attention_heads"},
                          {"H_kv", heads.num_kv_heads, "num_key_value_heads"},
                          {"d", heads.head_dim, "head_dim"}};
  if (heads.v_head_dim != heads.head_dim) out.push_back({"d_v", heads.v_head_dim, "v_head_dim"});
  if (heads.meta_tokens > 0) out.push_back({"M", heads.meta_tokens, "num_memory_tokens"});
  out.insert(out.end(), more);
  return out;
}

std::uint64_t head_macs(const Heads& heads) {
  return checked_mul(heads.num_heads, checked_add(heads.head_dim, heads.v_head_dim, "a head's width"),
                     "the work of one cached token");
}

constexpr Component kAttention = Component::kAttention;

static void project_qk_norm(Projections& out, const Heads& heads, QkNorm qk_norm, const std::string& block,
                            bool has_own_kv) {
  if (qk_norm == QkNorm::kNone) return;
  const bool wide = qk_norm == QkNorm::kWide || qk_norm == QkNorm::kEveryHead;
  const std::uint64_t bias = qk_norm == QkNorm::kHeadBias ? 2 : 1;
  const auto norm = [&](const char* module, std::uint64_t count) {
    TensorGroup& group = out.plain(Component::kNorms, block + module, times(wide ? count : 1, heads.head_dim));
    group.copies = group.used = bias;
    if (wide) {
      group.split = Split::kRows;
      group.units = count;
    }
  };
  norm("q_norm", heads.num_heads);
  if (has_own_kv) norm("k_norm", heads.num_kv_heads);
}

void project_heads(Projections& out, const Heads& heads, bool has_own_kv, std::string_view block) {
  const AttentionProjections form = out.attention_of(heads, has_own_kv);
  const std::string at(block);
  const std::uint64_t queries = times(heads.num_heads, heads.head_dim);
  const std::uint64_t keys = times(heads.num_kv_heads, heads.head_dim);
  const std::uint64_t values = times(heads.num_kv_heads, heads.v_head_dim);
  const std::uint64_t outputs = times(heads.num_heads, heads.v_head_dim);
  const auto named = [&](const char* own) { return at + (form.fuses_qkv ? "qkv_proj" : own); };
  out.linear(kAttention, named("q_proj"), form.gate == Gate::kDoubledQuery ? times(queries, 2) : queries, out.hidden,
             Split::kRows, heads.num_heads, form.qkv_bias);
  // A layer that reads another layer's cache has no key and value projections.
  if (has_own_kv) {
    out.linear(kAttention, named("k_proj"), keys, out.hidden, Split::kRows, heads.num_kv_heads, form.qkv_bias);
    // If the keys are also the values there is one projection, but vLLM's fused matrix has space for two.
    out.linear(kAttention, named("v_proj"), values, out.hidden, Split::kRows, heads.num_kv_heads,
               form.qkv_bias && !form.shares_value)
        .is_derived = form.shares_value;
  }
  out.linear(kAttention, at + "o_proj", out.hidden, outputs, Split::kColumns, heads.num_heads, form.o_bias);
  if (form.gate == Gate::kWide)
    out.linear(kAttention, at + "gate_proj", outputs, out.hidden, Split::kRows, heads.num_heads);
  if (form.gate == Gate::kHead)
    out.linear(kAttention, at + "g_proj", heads.num_heads, out.hidden, Split::kRows, heads.num_heads);
  if (form.has_sinks) out.plain(kAttention, at + "sinks", heads.num_heads, Split::kRows, heads.num_heads);
  project_qk_norm(out, heads, form.qk_norm, at, has_own_kv);
}

}  // namespace kvplan
