// Gated short convolution (LFM2): the layer mixes the last k tokens and keeps k - 1 of them for each sequence.
//
//   elements = (k - 1) * h
//
//   k     conv_L_cache
//   h     hidden_size
//
// Source: LFM2 (transformers models/lfm2, Lfm2ShortConv); llama.cpp shortconv.l_cache.
// Checked against: a llama.cpp run of lfm2-1.2b, 0.156 MiB; testdata/configs/lfm2-1.2b.json: 10 * 2 * 2048 elements.
// Engines differ: transformers keeps all k columns; llama.cpp float32.
#pragma once

#include "formulas/kind.h"

namespace kvplan {

struct ShortConv {
  std::uint64_t channels = 0;     // h
  std::uint64_t conv_kernel = 0;  // k

  static constexpr KindInfo kInfo[] = {{"short_conv", "gated short convolution", "(k - 1)*h",
                                        "conv_L_cache, hidden_size", "nothing: fixed for a sequence",
                                        "transformers models/lfm2"}};
  CacheTerms terms(Form form) const;
  std::vector<Symbol> symbols() const;
  void project(Projections& out) const;
  friend bool operator==(const ShortConv&, const ShortConv&) = default;
};

}  // namespace kvplan
