// Selective state space layers (Mamba 1 and Mamba 2).
//
// A recurrence h_t = A_t h_(t-1) + B_t x_t replaces the attention. It keeps the state h and the last inputs of a short
// convolution, for each *sequence* and not for each token:
//
//   Mamba 1   elements = (k - 1) * I  +  I * N
//   Mamba 2   elements = (k - 1) * (I + 2 * G * N)  +  n * p * N          I = n * p
//
//   I   inner width: expand * hidden_size (mamba_d_ssm in Falcon-H1)
//   N   state size (state_size, d_state, ssm_state_size, mamba_d_state)
//   k   convolution kernel (conv_kernel, d_conv, mamba_d_conv)
//   n   heads (num_heads, mamba_num_heads, mamba_n_heads), p their width (head_dim, mamba_head_dim, mamba_d_head)
//   G   groups that share B and C (n_groups, mamba_n_groups)
//
// Memory does not grow with the length, but it is not small: Mamba-2.8B keeps 64 * (3*5120 + 16*5120) elements, 23.75
// MiB in float32. "state_size times layers" would be 4 KiB. Many models keep the state in float32
// (mamba_ssm_cache_dtype) and the convolution in the model's type.
//
// Source: Gu and Dao 2023 (arXiv 2312.00752), section 3.4; Dao and Gu 2024 (2405.21060), section 7; vLLM
//   MambaStateShapeCalculator.
// Checked against: a llama.cpp run of mamba-2.8b (23.75 MiB) and mamba2-2.7b (163.94 MiB);
// testdata/configs/mamba-2.8b.json. Engines differ: transformers keeps k columns, vLLM k - 1 plus one for each
// speculative token; llama.cpp float32.
#pragma once

#include "formulas/kind.h"

namespace kvplan {

struct Ssm {
  enum class Version { kMamba1, kMamba2 };
  Version version = Version::kMamba2;
  std::uint64_t d_inner = 0;      // I
  std::uint64_t d_state = 0;      // N
  std::uint64_t conv_kernel = 0;  // k
  std::uint64_t num_heads = 0;    // n; Mamba 2 only
  std::uint64_t head_dim = 0;     // p; Mamba 2 only
  std::uint64_t n_groups = 0;     // G; Mamba 2 only
  bool conv_over_groups = true;   // B and C pass the convolution too (not in PLaMo-2)
  std::uint64_t dt_rank = 0;      // Mamba 1: rank of the time step's projection

  static constexpr KindInfo kInfo[] = {{"ssm", "selective state space (Mamba 1 and 2)", "(k - 1)*(I + 2*G*N) + I*N",
                                        "mamba_d_state, mamba_d_conv, mamba_expand, mamba_n_heads, n_groups",
                                        "nothing: fixed for a sequence", "arXiv 2312.00752, 2405.21060"}};
  std::string_view variant() const { return version == Version::kMamba1 ? "mamba1" : "mamba2"; }
  CacheTerms terms(Form form) const;
  std::vector<Symbol> symbols() const;
  void project(Projections& out) const;
  friend bool operator==(const Ssm&, const Ssm&) = default;
};

}  // namespace kvplan
