// Linear attention: a matrix of fixed size for each head replaces all past keys and values.
//
// S_t = decay_t * S_(t-1) + k_t v_t^T (the delta rules first subtract what the state already says about k_t). Kept for
// each sequence, whatever its length:
//
//   gated delta net  elements = (k - 1) * (2 * n_k * d_k + n_v * d_v)  +  n_v * d_v * d_k
//   KDA              elements = (k - 1) * 3 * n * d                    +  n * d * d        state always float32
//   lightning        elements =                                           n * d * d
//   mLSTM            elements =                                           n * (d_k * d_v + d_k + 1), float32
//
//   n_k, d_k  linear_num_key_heads, linear_key_head_dim (KDA: linear_attn_config.num_heads, head_dim; lightning: n, d)
//   n_v, d_v  linear_num_value_heads, linear_value_head_dim
//   k         linear_conv_kernel_dim (KDA: short_conv_kernel_size): q, k and v pass a short convolution
//
// Source: Yang et al. 2024 (arXiv 2412.06464), gated delta net; Kimi Linear (2510.26692), KDA; Qin et al. 2024
//   (2401.04658), lightning; Beck et al. 2024 (2405.04517), mLSTM; vLLM MambaStateShapeCalculator.
// Checked against: testdata/configs/qwen3.5-27b.json: 48 layers of 48*128*128 float32 and 3 * 10,240 bf16 are
//   153,944,064 B per sequence, the figure behind vLLM's 784-token blocks.
// Engines differ: SGLang and llama.cpp keep the delta net's state in float32 always, vLLM as the config names it.
#pragma once

#include "formulas/kind.h"

namespace kvplan {

struct Linear {
  enum class Rule { kGatedDeltaNet, kKda, kLightning, kMlstm };
  Rule rule = Rule::kGatedDeltaNet;
  std::uint64_t num_key_heads = 0;    // n_k
  std::uint64_t key_head_dim = 0;     // d_k
  std::uint64_t num_value_heads = 0;  // n_v
  std::uint64_t value_head_dim = 0;   // d_v
  std::uint64_t conv_kernel = 0;      // k; 0 if there is no convolution

  static constexpr KindInfo kInfo[] = {
      {"linear", "linear attention (gated delta net, KDA, lightning, mLSTM)",
       "(k - 1)*(2*n_k*d_k + n_v*d_v) + n_v*d_v*d_k",
       "linear_num_key_heads, linear_key_head_dim, linear_num_value_heads, linear_attn_config",
       "nothing: fixed for a sequence", "arXiv 2412.06464, 2510.26692, 2401.04658"}};
  std::string_view variant() const;
  CacheTerms terms(Form form) const;
  std::vector<Symbol> symbols() const;
  void project(Projections& out) const;
  friend bool operator==(const Linear&, const Linear&) = default;
};

}  // namespace kvplan
