#include "formulas/shared.h"

namespace kvplan {

namespace {
constexpr KindInfo kSharedInfo{"shared",  "reads another layer's cache",
                               "0",       "num_kv_shared_layers, cla_share_factor, num_kv_reuse_layers",
                               "nothing", "arXiv 2405.12981, 2405.05254"};
}  // namespace

std::span<const KindInfo> Shared::infos() {
  return {&kSharedInfo, 1};
}

std::vector<Symbol> Shared::symbols() const {
  std::vector<Symbol> out = head_symbols(heads);
  out.push_back({"layer", source_layer, "the layer whose cache it reads"});
  return out;
}

}  // namespace kvplan
