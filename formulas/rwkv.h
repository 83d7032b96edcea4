// RWKV: a recurrence over tokens with a state for each head and the previous token's activations.
//
//   RWKV 5-7  elements = t * h  +  (h / d) * d * d
//   RWKV 4    elements = t * h  +  3 * h                    numerator, denominator and maximum for each channel
//
//   h     hidden_size (attention_hidden_size)
//   d     head_dim or head_size (64)
//   t     token shifts: 2 (time mix and channel mix), 1 in the RWKV layers of converted Qwen models
//
// Source: Peng et al. 2023 (arXiv 2305.13048), 2025 (2503.14456); llama.cpp token_shift_count, wkv.head_size.
// Checked against: a llama.cpp run of rwkv7-2.9b, 20.62 MiB of float32; testdata/configs/rwkv7-2.9b.json.
// Engines differ: llama.cpp keeps everything in float32, others the shifts in the model's type.
#pragma once

#include "formulas/kind.h"

namespace kvplan {

struct Rwkv {
  std::uint64_t version = 7;
  std::uint64_t hidden_size = 0;   // h
  std::uint64_t head_dim = 0;      // d; 0 in RWKV 4
  std::uint64_t token_shifts = 2;  // t

  static constexpr KindInfo kInfo[] = {{"rwkv", "RWKV recurrence", "t*h + (h/d)*d*d", "hidden_size, head_dim",
                                        "nothing: fixed for a sequence", "arXiv 2305.13048, 2503.14456"}};
  std::string_view variant() const;
  CacheTerms terms(Form form) const;
  std::vector<Symbol> symbols() const;
  void project(Projections& out) const;
  friend bool operator==(const Rwkv&, const Rwkv&) = default;
};

}  // namespace kvplan
