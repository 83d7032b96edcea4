// Cross attention: decoder layers attend to an encoder's output (Whisper, T5, BART) or to image tokens (Llama 3.2
// Vision). Keys and values of the source are computed once and kept:
//
//   elements = E * H_kv * (d + d_v)
//
//   E     source tokens: frames after the encoder (Whisper 1500), text, or image patches; --encoder-len
//
// A decoded token adds nothing. The encoder itself keeps no cache.
//
// Source: Vaswani et al. 2017 (arXiv 1706.03762), section 3.2.3; vLLM CrossAttentionSpec.
// Checked against: testdata/configs/whisper-medium.json: 24 layers * 2 * 1024 * 1500 elements.
// Engines differ: vLLM rounds E to pages; Llama 3.2 Vision keeps (tiles * patches) of the prompt's images.
#pragma once

#include "formulas/heads.h"

namespace kvplan {

struct Cross {
  Heads heads;

  static constexpr KindInfo kInfo[] = {{"cross", "cross attention", "E*H_kv*(d + d_v)",
                                        "cross_attention_layers, max_source_positions, num_key_value_heads",
                                        "source tokens", "arXiv 1706.03762, section 3.2.3"}};
  CacheTerms terms(Form) const { return key_value_terms(heads, {}, Growth::kSourceToken); }
  std::vector<Symbol> symbols() const { return head_symbols(heads); }
  void project(Projections& out) const { project_heads(out, heads, true, "encoder_attn."); }
  std::uint64_t macs_per_entry() const { return head_macs(heads); }
  friend bool operator==(const Cross&, const Cross&) = default;
};

}  // namespace kvplan
