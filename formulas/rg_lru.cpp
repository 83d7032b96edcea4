#include "formulas/rg_lru.h"

#include "formulas/projections.h"

namespace kvplan {

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

void RgLru::project(Projections& out) const {
  const std::uint64_t w = width;
  const std::uint64_t n = num_heads > 0 ? num_heads : 1;
  const std::uint64_t block = w / n;
  const std::string at = "temporal_block.";
  out.linear(Component::kStateMixer, at + "linear_x", w, out.hidden, Split::kRows, 0, true);
  out.linear(Component::kStateMixer, at + "linear_y", w, out.hidden, Split::kRows, 0, true);
  out.linear(Component::kStateMixer, at + "linear_out", out.hidden, w, Split::kColumns, 0, true);
  out.conv(Component::kStateMixer, at + "conv_1d", w, conv_kernel, Split::kRows);
  out.plain(Component::kStateMixer, at + "conv_1d.bias", w, Split::kRows);
  out.plain(Component::kStateMixer, at + "rg_lru.recurrent_param", w, Split::kRows);
  TensorGroup& gates = out.plain(Component::kStateMixer, at + "rg_lru.gates",
                                 checked_add(times(n, times(block, block)), w, "the gates"), Split::kRows);
  gates.copies = gates.used = 2;
}

}  // namespace kvplan
