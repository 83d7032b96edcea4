// Ranges of estimates: how far recorded figures are from the plan, as scripts/ranges.py fitted them.
#pragma once

#include <span>
#include <string_view>

#include "kvplan/quantity.h"

namespace kvplan {

struct Range {
  Bytes low, high;
};

// Nine of ten recorded figures are between `bytes` + low * scale and `bytes` + high * scale. The scale is `bytes` plus
// `floor_mib`, because an estimate near zero is still some MiB off.
struct TermRange {
  std::string_view term;  // "vllm activation"
  double low = 0, high = 0;
  std::uint64_t floor_mib = 0;
};
std::span<const TermRange> term_ranges();
// How much the errors of two estimates within one start correlate: 0 not at all, 1 fully.
double terms_together();

// The range of an estimate of `bytes` for the term. A term without recorded figures has a range of width 0.
Range range_around(std::string_view term, Bytes bytes);

// The range of a sum. The errors of its parts hardly correlate, so they add up as squares rather than end to end.
class RangeSum {
 public:
  void add(Bytes bytes, Range range);
  Range range() const;
  Bytes bytes() const { return bytes_; }

 private:
  Bytes bytes_;
  double below_ = 0, above_ = 0;                  // sums of the distances to the ends
  double below_squared_ = 0, above_squared_ = 0;  // sums of their squares
};

// The sum over the lines of a ledger.
template <typename Lines>
Range range_of(const Lines& lines) {
  RangeSum sum;
  for (const auto& line : lines) sum.add(line.bytes, {line.low, line.high});
  return sum.range();
}

}  // namespace kvplan
