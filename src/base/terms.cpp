#include "kvplan/terms.h"

#include <algorithm>

namespace kvplan {

Elements Term::elements() const {
  Elements out = Elements(shape.units) * shape.vectors * shape.width;
  if (shape.columns > 0) out = out * (shape.columns - 1);
  return out;
}

std::uint64_t Term::entries(Tokens tokens, Tokens source_tokens) const {
  if (growth == Growth::kSequence) return 1;
  std::uint64_t n = growth == Growth::kSourceToken ? source_tokens.count() : tokens.count();
  if (limit.kind != LimitKind::kNone) n = std::min(n, limit.total().count());
  return n / stride;
}

}  // namespace kvplan
