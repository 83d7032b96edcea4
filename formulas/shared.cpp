#include "formulas/shared.h"

namespace kvplan {

std::vector<Symbol> Shared::symbols() const {
  std::vector<Symbol> out = head_symbols(heads);
  out.push_back({"layer", source_layer, "the layer whose cache it reads"});
  return out;
}

}  // namespace kvplan
