#include "kvplan/ranges.h"

#include <algorithm>
#include <cmath>

namespace kvplan {

Range range_around(std::string_view term, Bytes bytes) {
  const std::span<const TermRange> table = term_ranges();
  const auto found = std::find_if(table.begin(), table.end(), [&](const TermRange& row) { return row.term == term; });
  if (found == table.end()) return {bytes, bytes};
  const Bytes scale = bytes + Bytes(found->floor_mib * kMiB);
  const auto part = [&](double share) {
    return Bytes(checked_scale(scale.count(), std::abs(share), "the range of an estimate"));
  };
  return {bytes - std::min(bytes, part(std::min(found->low, 0.0))), bytes + part(std::max(found->high, 0.0))};
}

void RangeSum::add(Bytes bytes, Range range) {
  const auto below = static_cast<double>((bytes - std::min(range.low, bytes)).count());
  const auto above = static_cast<double>((std::max(range.high, bytes) - bytes).count());
  bytes_ += bytes;
  below_ += below;
  above_ += above;
  below_squared_ += below * below;
  above_squared_ += above * above;
}

Range RangeSum::range() const {
  const double together = terms_together();
  const auto distance = [together](double ends, double squares) {
    const double root = std::sqrt((1 - together) * squares + together * ends * ends);
    return Bytes(checked_scale(1, std::round(root), "the range of an estimate"));
  };
  return {bytes_ - std::min(bytes_, distance(below_, below_squared_)), bytes_ + distance(above_, above_squared_)};
}

}  // namespace kvplan
