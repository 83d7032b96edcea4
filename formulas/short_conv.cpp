#include "formulas/short_conv.h"

#include "formulas/projections.h"

namespace kvplan {

CacheTerms ShortConv::terms(Form) const {
  Term conv{.name = "conv state", .role = Role::kState, .growth = Growth::kSequence};
  conv.shape = {.units = channels, .vectors = 1, .width = 1, .columns = conv_kernel};
  conv.storage = Storage::kModel;
  return {conv};
}

std::vector<Symbol> ShortConv::symbols() const {
  return {{"h", channels, "hidden_size"}, {"k", conv_kernel, "conv_L_cache"}};
}

void ShortConv::project(Projections& out) const {
  const std::uint64_t h = out.hidden;
  const bool bias = out.has_short_conv_bias();
  out.linear(Component::kStateMixer, "conv.in_proj", times(3, h), h, Split::kRows, 0, bias);
  out.conv(Component::kStateMixer, "conv.conv", h, conv_kernel, Split::kRows);
  if (bias) out.plain(Component::kStateMixer, "conv.conv.bias", h, Split::kRows);
  out.linear(Component::kStateMixer, "conv.out_proj", h, h, Split::kColumns, 0, bias);
}

}  // namespace kvplan
