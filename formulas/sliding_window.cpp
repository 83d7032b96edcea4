#include "formulas/sliding_window.h"

namespace kvplan {

namespace {
constexpr KindInfo kSlidingWindowInfo{"sliding_window",           "sliding-window attention",
                                      "min(S, W)*H_kv*(d + d_v)", "sliding_window, num_key_value_heads, head_dim",
                                      "tokens up to the window",  "arXiv 2310.06825, section 2"};
}  // namespace

std::span<const KindInfo> SlidingWindow::infos() {
  return {&kSlidingWindowInfo, 1};
}

std::vector<Symbol> SlidingWindow::symbols() const {
  std::vector<Symbol> out = head_symbols(heads);
  out.push_back({"W", window.count(), "sliding_window"});
  return out;
}

}  // namespace kvplan
