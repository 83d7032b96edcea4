// Multi-head latent attention (DeepSeek-V2, V3, Kimi-K2, MiniCPM3, GLM-4.7-Flash ...).
//
// Keys and values of all heads are linear maps of one small vector of the token, the latent c = W_dkv * x. So the
// cache keeps c. Each head's keys and values are rebuilt from it, or never built if the maps are folded into the query
// and output projections. Rotary embedding does not commute with those maps, so the cache keeps a second small vector,
// one key of d_rope for all heads:
//
//   elements(S) = S * (r + d_rope)                                   for each layer, K and V together
//
//   r       kv_lora_rank (512 in DeepSeek-V3)
//   d_rope  qk_rope_head_dim (64)
//
// This is for K and V together and for all heads, but per layer: DeepSeek-V3 keeps 61 * 576 = 35,136 elements per
// token. Its config has num_key_value_heads = num_attention_heads (128), which would give 57 times as much, and a
// head_dim that means something else. Tensor parallelism cannot split the latent: every rank keeps all of it.
//
// Expanded form, for engines that do not fold the maps (transformers before 5.x, llama.cpp with old files):
//
//   elements(S) = S * H * (d_nope + d_rope + d_v)
//
// Source: DeepSeek-V2 (arXiv 2405.04434), section 2.1 and table 1; vLLM MLAAttentionSpec.
// Checked against: testdata/configs/deepseek-v3.json: 70,272 B per token in bf16, the figure of vLLM's and SGLang's
// logs. Engines differ: FlashMLA pages of 64 tokens; fp8_ds_mla 656 B per token; llama.cpp's K-only cache (V is a view
// of K).
#pragma once

#include "formulas/kind.h"

namespace kvplan {

// The dimensions of the latent attention; shared with sparse_mla.h.
struct Latent {
  std::uint64_t num_heads = 0;         // H
  std::uint64_t kv_lora_rank = 0;      // r
  std::uint64_t qk_rope_head_dim = 0;  // d_rope
  std::uint64_t qk_nope_head_dim = 0;  // d_nope
  std::uint64_t v_head_dim = 0;        // d_v
  std::uint64_t q_lora_rank = 0;       // the query's latent; 0 if queries are projected directly
  friend bool operator==(const Latent&, const Latent&) = default;
};

CacheTerms latent_terms(const Latent& latent, Form form);
std::vector<Symbol> latent_symbols(const Latent& latent);
// In the folded form, for each head: scores over r + d_rope, and values over r.
std::uint64_t latent_macs(const Latent& latent);
// Adds the projections down to the latents and up again. The query has a latent if q_lora_rank is set.
void project_latent(Projections& out, const Latent& latent);

struct Mla {
  Latent latent;
  Tokens window{};  // W; 0 if every token is kept (dots.note's sliding layers have one)

  static constexpr KindInfo kInfo[] = {{"mla", "multi-head latent attention", "S*(r + d_rope)",
                                        "kv_lora_rank, qk_rope_head_dim", "every token",
                                        "arXiv 2405.04434, section 2.1"}};
  CacheTerms terms(Form form) const;
  std::vector<Symbol> symbols() const;
  void project(Projections& out) const;
  std::uint64_t macs_per_entry() const { return latent_macs(latent); }
  friend bool operator==(const Mla&, const Mla&) = default;
};

}  // namespace kvplan
