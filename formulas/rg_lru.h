// Real-gated linear recurrent unit (Griffin, RecurrentGemma): one number for each channel, and a short convolution.
//
//   elements = (k - 1) * w  +  w
//
//   w     lru_width (hidden_size where it is absent)
//   k     conv1d_width
//
// Source: De et al. 2024 (arXiv 2402.19427), section 2.4; transformers models/recurrent_gemma.
// Checked against: testdata/configs/recurrentgemma-2b.json: 18 layers of 3 * 2560 + 2560 elements.
// Engines differ: transformers keeps the recurrent part in float32.
#pragma once

#include "formulas/kind.h"

namespace kvplan {

struct RgLru {
  std::uint64_t width = 0;        // w
  std::uint64_t conv_kernel = 0;  // k
  std::uint64_t num_heads = 0;    // blocks of the gates' projections

  static constexpr KindInfo kInfo[] = {{"rg_lru", "real-gated linear recurrent unit", "(k - 1)*w + w",
                                        "lru_width, conv1d_width", "nothing: fixed for a sequence",
                                        "arXiv 2402.19427, section 2.4"}};
  CacheTerms terms(Form form) const;
  std::vector<Symbol> symbols() const;
  void project(Projections& out) const;
  friend bool operator==(const RgLru&, const RgLru&) = default;
};

}  // namespace kvplan
