// Rounding, powers and numbers as text, against what the C++ library says.
#include <doctest/doctest.h>

#include <charconv>
#include <cmath>
#include <string_view>

#include "kvplan/real.h"
#include "kvplan/rounding.h"

using namespace kvplan;

TEST_CASE("rounding: as libm rounds, below and beyond 2^53") {
  for (const double value : {0.0, 0.25, 0.49999999999999994, 0.5, 1.5, 2.5, 1e9 + 0.5, 4503599627370495.5, 9e18}) {
    CAPTURE(value);
    CHECK(rounded_down(value) == static_cast<std::uint64_t>(std::floor(value)));
    CHECK(rounded_up(value) == static_cast<std::uint64_t>(std::ceil(value)));
    CHECK(rounded(value) == static_cast<std::uint64_t>(std::llround(value)));
  }
}

TEST_CASE("rounding: whole powers") {
  CHECK(power(0.75, 0) == 1);
  CHECK(power(2, 40) == 1099511627776.0);
  for (const std::uint64_t exponent : {1U, 7U, 100U, 4096U})
    CHECK(power(0.96875, exponent) == doctest::Approx(std::pow(0.96875, static_cast<double>(exponent))).epsilon(1e-12));
  CHECK(power(0.5, std::uint64_t{1} << 32) == 0);
  for (const double value : {1.0, 2.0, 768.0, 2560.0, 4096.0, 4.6e18}) {
    CHECK(root(value, 2) == doctest::Approx(std::sqrt(value)).epsilon(1e-12));
    CHECK(power(root(value, 5), 4) == doctest::Approx(std::pow(value, 0.8)).epsilon(1e-12));
  }
}

TEST_CASE("numbers as text: what std::from_chars reads, and as far") {
  for (const std::string_view text :
       {"0", "12", "0.9", ".5", "5.", "-3.25x", "1e3",  "1e-1", "1e",   "1e+",   "1.5GiB",
        "",  ".",  "-",   "+1", " 1", "x",      "0x10", "1..2", "-.e1", "1e400", "4.5e18"}) {
    for (const auto format : {std::chars_format::general, std::chars_format::fixed}) {
      CAPTURE(text);
      double wanted = -7;
      double got = -7;
      const auto theirs = std::from_chars(text.data(), text.data() + text.size(), wanted, format);
      const auto ours = read_real(text.data(), text.data() + text.size(), got, format);
      CHECK(ours.ec == theirs.ec);
      CHECK(ours.ptr == theirs.ptr);
      CHECK(got == wanted);
    }
  }
}
