// Numbers as text: the result is the same whether the C++ library reads doubles or not.
#include "kvplan/numbers.h"
#include "kvplan/strings.h"

#include <doctest/doctest.h>

#include <string_view>

using namespace kvplan;

namespace {

struct Row {
  std::string_view text;
  double value;
  std::size_t used;  // characters of the text; 0: it begins with no number
};

void check(const Row& row, std::chars_format format) {
  CAPTURE(row.text);
  double value = -7;
  const auto [after, error] = parse_real(row.text, value, format);
  CHECK(error == (row.used > 0 ? std::errc() : std::errc::invalid_argument));
  CHECK(static_cast<std::size_t>(after - row.text.data()) == row.used);
  CHECK(value == (row.used > 0 ? row.value : -7));
}

}  // namespace

TEST_CASE("numbers: decimal, with a fraction and an exponent, and the text after it") {
  for (const Row& row : {Row{"0", 0, 1}, Row{"12", 12, 2}, Row{"0.9", 0.9, 3}, Row{".5", 0.5, 2}, Row{"5.", 5, 2},
                         Row{"-3.25x", -3.25, 5}, Row{"1.5GiB", 1.5, 3}, Row{"1..2", 1, 2}, Row{"0x10", 0, 1}})
    for (const auto format : {std::chars_format::general, std::chars_format::fixed}) check(row, format);
  for (const Row& row : {Row{"1e3", 1000, 3}, Row{"1e-1", 0.1, 4}, Row{"2E+2", 200, 4}, Row{"1e", 1, 1},
                         Row{"1e+", 1, 1}, Row{"4.5e18", 4.5e18, 6}, Row{"4.9e-324", 4.9e-324, 8}})
    check(row, std::chars_format::general);
  for (const Row& row : {Row{"1e3", 1, 1}, Row{"4.5e18", 4.5, 3}}) check(row, std::chars_format::fixed);
}

TEST_CASE("numbers: infinity, NaN and other words are not numbers") {
  for (const std::string_view text :
       {"", ".", "-", "-.", "+1", " 1", "x", "-.e1", "inf", "-inf", "infinity", "nan", "NaN", "-nan(1)", "e5"})
    for (const auto format : {std::chars_format::general, std::chars_format::fixed}) check({text, 0, 0}, format);
}

TEST_CASE("numbers: beyond a double is out of range, and nothing is written") {
  for (const std::string_view text : {"1e400", "-1e400", "1e-400"}) {
    CAPTURE(text);
    double value = -7;
    CHECK(parse_real(text, value).ec == std::errc::result_out_of_range);
    CHECK(value == -7);
  }
}

TEST_CASE("numbers: whole ones at the start of a text") {
  CHECK(whole_number("123 kB") == 123);
  CHECK(whole_number("18446744073709551615") == ~std::uint64_t{0});
  CHECK(whole_number("7f00-7f10", 16) == 0x7f00);
  for (const std::string_view text : {"", "max", "-1", "+1", " 1", "18446744073709551616"}) {
    CAPTURE(text);
    CHECK_FALSE(whole_number(text));
  }
}

TEST_CASE("numbers: the last value of a range that is accepted") {
  const auto up_to = [](std::uint64_t most) { return [=](std::uint64_t n) { return n <= most; }; };
  CHECK(last_good(0, 100, up_to(41)) == 41);
  CHECK(last_good(5, 6, up_to(100)) == 5);
  CHECK(largest_good(100, up_to(41)) == 41);
  CHECK(largest_good(100, up_to(500)) == 100);
  CHECK(largest_good(100, up_to(0)) == 0);
  CHECK(largest_good(0, up_to(5)) == 0);
}
