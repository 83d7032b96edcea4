// Sliding-window attention: a token attends to itself and the W - 1 tokens before it.
//
//   elements(S) = min(S, W) * H_kv * (d + d_v)
//
//   W     sliding_window (attention_window_size, window_size ...); the other symbols as in full_attention.h
//
// Beyond W tokens the layer costs nothing more. A config with a window need not use it: Qwen2 and Qwen3 require
// use_sliding_window, Gemma, Cohere2, EXAONE-4 and gpt-oss use it in a pattern of layers. Learned sink logits (gpt-oss)
// are weights, not cache. A window at or beyond the model's maximum length is full attention.
//
// Source: Beltagy et al. 2020 (arXiv 2004.05150), section 3.1; Jiang et al. 2023 (2310.06825), section 2.
// Checked against: testdata/configs/gpt-oss-20b.json: 12 layers of 128 tokens keep 12*128*1024 elements.
// Engines differ: vLLM reserves the window and the prefill chunks in flight, rounded to pages; llama.cpp the window
// and one ubatch, rounded to 256 cells; transformers pins the whole prefill until the first decoded token.
#pragma once

#include "formulas/heads.h"

namespace kvplan {

struct SlidingWindow {
  Heads heads;
  Tokens window;

  static constexpr KindInfo kInfo[] = {{"sliding_window", "sliding-window attention", "min(S, W)*H_kv*(d + d_v)",
                                        "sliding_window, num_key_value_heads, head_dim", "tokens up to the window",
                                        "arXiv 2310.06825, section 2"}};
  CacheTerms terms(Form) const { return key_value_terms(heads, {LimitKind::kWindow, window, Tokens(0)}); }
  std::vector<Symbol> symbols() const { return head_symbols(heads, {{"W", window.count(), "sliding_window"}}); }
  void project(Projections& out) const { project_heads(out, heads); }
  std::uint64_t macs_per_entry() const { return head_macs(heads); }
  friend bool operator==(const SlidingWindow&, const SlidingWindow&) = default;
};

}  // namespace kvplan
