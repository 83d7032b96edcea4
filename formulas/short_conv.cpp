#include "formulas/short_conv.h"

namespace kvplan {

namespace {
constexpr KindInfo kInfo{"short_conv",
                         "gated short convolution",
                         "(k - 1)*h",
                         "conv_L_cache, hidden_size",
                         "nothing: fixed for a sequence",
                         "transformers models/lfm2"};
}  // namespace

std::span<const KindInfo> ShortConv::infos() {
  return {&kInfo, 1};
}

CacheTerms ShortConv::terms(Form) const {
  Term conv{.name = "conv state", .role = Role::kState, .growth = Growth::kSequence};
  conv.shape = {.units = channels, .vectors = 1, .width = 1, .columns = conv_kernel};
  conv.storage = Storage::kModel;
  return {conv};
}

std::vector<Symbol> ShortConv::symbols() const {
  return {{"h", channels, "hidden_size"}, {"k", conv_kernel, "conv_L_cache"}};
}

}  // namespace kvplan
