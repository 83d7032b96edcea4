#include "formulas/attention_sink.h"

namespace kvplan {

std::vector<Symbol> AttentionSink::symbols() const {
  std::vector<Symbol> out = head_symbols(heads);
  out.push_back({"A", sink.count(), "attention_sink_size"});
  out.push_back({"W", window.count(), "sliding_window"});
  return out;
}

}  // namespace kvplan
