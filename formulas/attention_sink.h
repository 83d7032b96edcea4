// Attention sinks (StreamingLLM): the first A tokens stay in the cache, and after them a window of W tokens slides.
//
//   elements(S) = min(S, A + W) * H_kv * (d + d_v)
//
//   A     attention_sink_size
//   W     sliding_window; the other symbols as in full_attention.h
//
// These are not the learned sink logits of gpt-oss, which are weights and need no cache.
//
// Source: Xiao et al. 2023 (arXiv 2309.17453), section 3.2.
// Checked against: arithmetic: 80 layers, 8 KV heads of 128, 4 + 4096 tokens in 16 bit are 1,343,488,000 B.
// Engines differ: vLLM has no such cache for a stock model; transformers' SinkCache was removed in 4.53.
#pragma once

#include "formulas/heads.h"

namespace kvplan {

struct AttentionSink {
  Heads heads;
  Tokens sink;
  Tokens window;

  static constexpr KindInfo kInfo[] = {{"attention_sink", "attention sinks and a window",
                                        "min(S, A + W)*H_kv*(d + d_v)",
                                        "attention_sink_size, sliding_window, num_key_value_heads, head_dim",
                                        "tokens up to sink + window", "arXiv 2309.17453, section 3.2"}};
  CacheTerms terms(Form) const { return key_value_terms(heads, {LimitKind::kSink, window, sink}); }
  std::vector<Symbol> symbols() const {
    return head_symbols(heads, {{"A", sink.count(), "attention_sink_size"}, {"W", window.count(), "sliding_window"}});
  }
  void project(Projections& out) const { project_heads(out, heads); }
  std::uint64_t macs_per_entry() const { return head_macs(heads); }
  friend bool operator==(const AttentionSink&, const AttentionSink&) = default;
};

}  // namespace kvplan
