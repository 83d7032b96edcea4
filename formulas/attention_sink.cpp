#include "formulas/attention_sink.h"

namespace kvplan {

namespace {
constexpr KindInfo kAttentionSinkInfo{"attention_sink",
                                      "attention sinks and a window",
                                      "min(S, A + W)*H_kv*(d + d_v)",
                                      "attention_sink_size, sliding_window, num_key_value_heads, head_dim",
                                      "tokens up to sink + window",
                                      "arXiv 2309.17453, section 3.2"};
}  // namespace

std::span<const KindInfo> AttentionSink::infos() {
  return {&kAttentionSinkInfo, 1};
}

std::vector<Symbol> AttentionSink::symbols() const {
  std::vector<Symbol> out = head_symbols(heads);
  out.push_back({"A", sink.count(), "attention_sink_size"});
  out.push_back({"W", window.count(), "sliding_window"});
  return out;
}

}  // namespace kvplan
