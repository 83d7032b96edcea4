#include "formulas/mla.h"

#include "formulas/heads.h"
#include "formulas/projections.h"

namespace kvplan {

CacheTerms latent_terms(const Latent& latent, Form form) {
  if (form == Form::kExpanded) {
    const std::uint64_t key = checked_add(latent.qk_nope_head_dim, latent.qk_rope_head_dim, "a key's width");
    return key_value_terms({latent.num_heads, latent.num_heads, key, latent.v_head_dim});
  }
  Term content{.name = "latent", .role = Role::kKey, .part = Part::kLatent};
  content.shape.width = latent.kv_lora_rank;
  Term rope{.name = "rope key", .role = Role::kKey, .part = Part::kRope};
  rope.shape.width = latent.qk_rope_head_dim;
  return {content, rope};
}

std::vector<Symbol> latent_symbols(const Latent& latent) {
  return {{"r", latent.kv_lora_rank, "kv_lora_rank"},
          {"d_rope", latent.qk_rope_head_dim, "qk_rope_head_dim"},
          {"H", latent.num_heads, "num_attention_heads"}};
}

std::uint64_t latent_macs(const Latent& latent) {
  const std::uint64_t twice = checked_mul(latent.kv_lora_rank, 2, "the work of one cached token");
  return checked_mul(latent.num_heads, checked_add(twice, latent.qk_rope_head_dim, "the work of one cached token"),
                     "the work of one cached token");
}

CacheTerms Mla::terms(Form form) const {
  CacheTerms out = latent_terms(latent, form);
  if (window > Tokens(0))
    for (Term& term : out) term.limit = {LimitKind::kWindow, window, Tokens(0)};
  return out;
}

std::vector<Symbol> Mla::symbols() const {
  std::vector<Symbol> out = latent_symbols(latent);
  if (window > Tokens(0)) out.push_back({"W", window.count(), "sliding_window"});
  return out;
}

void project_latent(Projections& out, const Latent& latent) {
  const std::uint64_t h = out.hidden;
  const std::uint64_t n = latent.num_heads;
  const std::uint64_t query = times(n, latent.qk_nope_head_dim + latent.qk_rope_head_dim);
  const LatentProjections form = out.latent_projections();
  const bool bias = form.bias;
  if (latent.q_lora_rank > 0) {
    out.linear(Component::kAttention, "self_attn.q_a_proj", latent.q_lora_rank, h, Split::kNone, 0, bias);
    out.norms("self_attn.q_a_layernorm", latent.q_lora_rank);
    if (form.gate == Gate::kLowRank)
      out.linear(Component::kAttention, "self_attn.q_gate_proj",
                 checked_add(query, times(n, latent.v_head_dim), "a projection"), times(2, latent.q_lora_rank),
                 Split::kRows, n);
    else
      out.linear(Component::kAttention, "self_attn.q_b_proj", query, latent.q_lora_rank, Split::kRows, n);
  } else {
    out.linear(Component::kAttention, "self_attn.q_proj", query, h, Split::kRows, n);
  }
  out.linear(Component::kAttention, "self_attn.kv_a_proj_with_mqa", latent.kv_lora_rank + latent.qk_rope_head_dim, h,
             Split::kNone, 0, bias);
  out.norms("self_attn.kv_a_layernorm", latent.kv_lora_rank);
  out.linear(Component::kAttention, "self_attn.kv_b_proj", times(n, latent.qk_nope_head_dim + latent.v_head_dim),
             latent.kv_lora_rank, Split::kRows, n);
  out.linear(Component::kAttention, "self_attn.o_proj", h, times(n, latent.v_head_dim), Split::kColumns, n, bias);
  if (form.gate == Gate::kHead) out.linear(Component::kAttention, "self_attn.g_proj", n, h, Split::kRows, n);
  if (form.has_output_gate)
    out.linear(Component::kAttention, "self_attn.g_proj", times(n, latent.v_head_dim), h, Split::kRows, n);
  if (form.has_one_scale) {
    TensorGroup& one = out.plain(Component::kAttention, "self_attn.one_scale", 1);
    one.is_derived = one.is_float32 = true;
  }
  if (form.gate == Gate::kWide)
    out.linear(Component::kAttention, "self_attn.gate_proj", times(n, latent.v_head_dim), h, Split::kRows, n);
}

void Mla::project(Projections& out) const {
  project_latent(out, latent);
}

}  // namespace kvplan
