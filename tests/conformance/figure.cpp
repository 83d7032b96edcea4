#include "conformance/figure.h"

#include <cmath>
#include <limits>

namespace kvplan::conformance {

bool Figure::is_exact() const {
  if (!truth) return refused;
  return planned && std::abs(*planned - *truth) <= tolerance;
}

std::optional<double> Figure::off() const {
  if (!truth || !planned) return std::nullopt;
  if (is_exact()) return 0;
  return *truth == 0 ? std::numeric_limits<double>::infinity() : (*planned - *truth) / *truth;
}

std::size_t Figure::band() const {
  if (is_exact()) return 0;
  const std::size_t more = kBands.size() - 2;
  if (!truth) return more;  // kvplan has a plan although the engine does not start
  if (!planned) return kBands.size() - 1;
  std::size_t i = 1;
  while (i < more && std::abs(*off()) > kBands[i].most) ++i;
  return i;
}

}  // namespace kvplan::conformance
