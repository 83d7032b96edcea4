#include "formulas/sliding_window.h"

namespace kvplan {

std::vector<Symbol> SlidingWindow::symbols() const {
  std::vector<Symbol> out = head_symbols(heads);
  out.push_back({"W", window.count(), "sliding_window"});
  return out;
}

}  // namespace kvplan
