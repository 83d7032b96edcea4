#include "formulas/rg_lru.h"

namespace kvplan {

namespace {
constexpr KindInfo kInfo{"rg_lru",
                         "real-gated linear recurrent unit",
                         "(k - 1)*w + w",
                         "lru_width, conv1d_width",
                         "nothing: fixed for a sequence",
                         "arXiv 2402.19427, section 2.4"};
}  // namespace

std::span<const KindInfo> RgLru::infos() {
  return {&kInfo, 1};
}

CacheTerms RgLru::terms(Form) const {
  Term conv{.name = "conv state", .role = Role::kState, .growth = Growth::kSequence};
  conv.shape = {.units = width, .vectors = 1, .width = 1, .columns = conv_kernel};
  conv.storage = Storage::kModel;
  Term state{.name = "lru state", .role = Role::kState, .growth = Growth::kSequence};
  state.shape = {.units = width, .vectors = 1, .width = 1};
  state.storage = Storage::kState;
  return {conv, state};
}

std::vector<Symbol> RgLru::symbols() const {
  return {{"w", width, "lru_width"}, {"k", conv_kernel, "conv1d_width"}};
}

}  // namespace kvplan
