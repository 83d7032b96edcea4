#include "formulas/mla.h"

#include "formulas/heads.h"

namespace kvplan {

namespace {
constexpr KindInfo kInfo{
    "mla",         "multi-head latent attention",  "S*(r + d_rope)", "kv_lora_rank, qk_rope_head_dim",
    "every token", "arXiv 2405.04434, section 2.1"};
}  // namespace

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

std::span<const KindInfo> Mla::infos() {
  return {&kInfo, 1};
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

}  // namespace kvplan
