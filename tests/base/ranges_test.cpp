// Ranges of estimates: around a figure, and of a sum.
#include "kvplan/ranges.h"

#include <doctest/doctest.h>

#include <cmath>

namespace kvplan {
namespace {

TEST_CASE("A term's range contains its estimate, from the table that a script fitted") {
  REQUIRE_FALSE(term_ranges().empty());
  for (const TermRange& row : term_ranges()) {
    CAPTURE(row.term);
    CHECK(row.low <= 0);
    CHECK(row.high >= 0);
    CHECK(row.high - row.low > 0);
    const Bytes bytes(std::uint64_t{10} << 30);
    const auto scale = static_cast<double>(bytes.count() + (row.floor_mib << 20));
    const Range range = range_around(row.term, bytes);
    CHECK(static_cast<double>(range.high.count()) ==
          doctest::Approx(static_cast<double>(bytes.count()) + row.high * scale).epsilon(1e-6));
    CHECK(static_cast<double>(range.low.count()) ==
          doctest::Approx(std::max(0.0, static_cast<double>(bytes.count()) + row.low * scale)).epsilon(1e-6));
  }
  CHECK(range_around("nothing recorded", Bytes(7)).low == Bytes(7));
  CHECK(range_around("nothing recorded", Bytes(7)).high == Bytes(7));
}

TEST_CASE("The range of a sum is between the root of the squares' sum and the sum of the ends") {
  RangeSum sum;
  CHECK(sum.range().high == Bytes(0));
  sum.add(Bytes(1000), {Bytes(1000), Bytes(1000)});
  CHECK(sum.range().low == Bytes(1000));
  CHECK(sum.range().high == Bytes(1000));
  sum.add(Bytes(1000), {Bytes(700), Bytes(1300)});
  CHECK(sum.bytes() == Bytes(2000));
  CHECK(sum.range().low == Bytes(1700));
  CHECK(sum.range().high == Bytes(2300));
  sum.add(Bytes(1000), {Bytes(600), Bytes(1400)});
  const double together = terms_together();
  CHECK(together >= 0);
  CHECK(together <= 1);
  // 300 and 400 apart are 500 together, not 700.
  const double reach = std::sqrt((1 - together) * 500 * 500 + together * 700 * 700);
  CHECK(sum.range().high.count() == static_cast<std::uint64_t>(std::round(3000 + reach)));
  CHECK(sum.range().low.count() == 3000 - static_cast<std::uint64_t>(std::round(reach)));
}

}  // namespace
}  // namespace kvplan
