#include "formulas/rwkv.h"

#include "formulas/projections.h"

namespace kvplan {

std::string_view Rwkv::variant() const {
  switch (version) {
    case 4: return "rwkv4";
    case 5: return "rwkv5";
    case 6: return "rwkv6";
    default: return "rwkv7";
  }
}

CacheTerms Rwkv::terms(Form) const {
  Term shift{.name = "token shift", .role = Role::kState, .growth = Growth::kSequence};
  shift.shape = {.units = token_shifts, .vectors = 1, .width = hidden_size};
  shift.storage = Storage::kModel;
  Term state{.name = "wkv state", .role = Role::kState, .growth = Growth::kSequence};
  if (version == 4)
    state.shape = {.units = 3, .vectors = 1, .width = hidden_size};
  else
    state.shape = {.units = hidden_size / head_dim, .vectors = head_dim, .width = head_dim};
  state.storage = Storage::kState;
  return {shift, state};
}

std::vector<Symbol> Rwkv::symbols() const {
  return {{"h", hidden_size, "hidden_size"}, {"d", head_dim, "head_dim"}, {"t", token_shifts, "token shifts"}};
}

// Every version mixes tokens differently. A family that knows its version adds the tensors itself.
void Rwkv::project(Projections& out) const {
  const Elements square = Elements(times(out.hidden, out.hidden)) * out.num_layers();
  out.unknown(
      {Component::kStateMixer, "the mixers of RWKV " + std::to_string(version), square * 4, square * 5, square * 7});
}

}  // namespace kvplan
