#include "kvplan/quantity.h"

#include <doctest/doctest.h>

#include <limits>
#include <string>

#include "kvplan/error.h"

namespace kvplan {
namespace {

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

TEST_CASE("arithmetic that fits is plain arithmetic") {
  CHECK((Bytes(70272) * 32768).count() == 2302672896);
  CHECK((Tokens(4) + Tokens(4096)).count() == 4100);
  CHECK((Elements(10) - Elements(10)).count() == 0);
  CHECK(checked_mul(std::uint64_t{1} << 32, (std::uint64_t{1} << 32) - 1, "x") == 18446744069414584320U);
  CHECK(ceil_div(1, 16) == 1);
  CHECK(ceil_div(16, 16) == 1);
  CHECK(ceil_div(kMax, 2) == std::uint64_t{1} << 63);
  CHECK(round_up(17, 16, "x") == 32);
}

TEST_CASE("an overflow is an error that names what overflowed") {
  CHECK_THROWS_AS(Bytes(kMax) + Bytes(1), Error);
  CHECK_THROWS_AS(Elements(std::uint64_t{1} << 32) * (std::uint64_t{1} << 32), Error);
  CHECK_THROWS_AS(Tokens(1) - Tokens(2), Error);
  CHECK_THROWS_AS(round_up(kMax, 16, "pages"), Error);
  CHECK_THROWS_AS(checked_scale(kMax / 2, 2.5, "an estimate"), Error);
  CHECK(checked_scale(1000, 0.5, "an estimate") == 500);
  CHECK(signed_difference(5, 7) == -2);
  CHECK(signed_difference(kMax, kMax) == 0);
  CHECK_THROWS_AS(signed_difference(kMax, 0), Error);
  CHECK_THROWS_AS(signed_difference(0, kMax), Error);
  try {
    checked_mul(kMax, 2, "the bytes of a page");
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.code() == Exit::kBadInput);
    CHECK(std::string(error.what()).find("the bytes of a page") != std::string::npos);
  }
}

}  // namespace
}  // namespace kvplan
