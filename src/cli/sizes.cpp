#include "cli/extras_options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kvplan/error.h"
#include "kvplan/strings.h"

namespace kvplan {

namespace {

struct Unit {
  std::string_view name;
  double bytes;
};
constexpr std::array kUnits{
    Unit{"", 1},     Unit{"b", 1},      Unit{"k", kKiB},   Unit{"kib", kKiB}, Unit{"kb", 1e3},
    Unit{"m", kMiB}, Unit{"mib", kMiB}, Unit{"mb", 1e6},   Unit{"g", kGiB},   Unit{"gib", kGiB},
    Unit{"gb", 1e9}, Unit{"t", kTiB},   Unit{"tib", kTiB}, Unit{"tb", 1e12},
};

// No budget is this small, so a smaller number without a unit was meant in GiB, or in MiB as drivers print it.
constexpr double kLeastBare = kMiB;
constexpr double kMostGib = 2048;

[[noreturn]] void wrong(std::string_view option, std::string_view text, std::string_view wanted) {
  fail(std::string(option) + ": \"" + one_line(text, 40) + "\" is not " + std::string(wanted), "see kvplan --help");
}

// A text that is a number and nothing else.
std::optional<double> real_number(std::string_view text) {
  double value = 0;
  const auto [after, error] = parse_real(text, value);
  return error == std::errc() && after == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

}  // namespace

std::uint64_t parse_count(std::string_view text, std::string_view option) {
  constexpr std::string_view kWanted = "a positive whole number up to 2^60, such as 4096, 32k or 1M";
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [after, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc()) wrong(option, text, kWanted);
  const std::string unit = lower(std::string_view(after, static_cast<std::size_t>(end - after)));
  std::uint64_t factor = 0;
  if (unit.empty()) factor = 1;
  if (unit == "k") factor = 1ULL << 10;
  if (unit == "m") factor = 1ULL << 20;
  if (unit == "g") factor = 1ULL << 30;
  std::uint64_t out = 0;
  if (factor == 0 || __builtin_mul_overflow(value, factor, &out) || out == 0 || out > (1ULL << 60))
    wrong(option, text, kWanted);
  return out;
}

std::uint64_t parse_redundant_experts(std::string_view text, std::string_view option) {
  constexpr std::uint64_t kMost = 1023;
  const std::uint64_t count = text == "0" ? 0 : parse_count(text, option);
  if (count > kMost) wrong(option, text, "a number of at most 1,023");
  return count;
}

Tokens parse_tokens(std::string_view text, std::string_view option) {
  return Tokens(parse_count(text, option));
}

Bytes parse_size(std::string_view text, std::string_view option) {
  constexpr std::string_view kWanted = "a size (24GiB, 80GB, 512MiB, or bytes)";
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [after, error] = parse_real(text, value, std::chars_format::fixed);
  if (error != std::errc() || !(value > 0)) wrong(option, text, kWanted);
  const std::string unit = lower(std::string_view(after, static_cast<std::size_t>(end - after)));
  for (const Unit& row : kUnits) {
    if (row.name != unit) continue;
    const double bytes = value * row.bytes;
    if (!(bytes >= 1 && bytes < 9.0e18)) wrong(option, text, kWanted);
    if (unit.empty() && bytes < kLeastBare) {
      const std::string number(text);
      const std::string meant = number + (value <= kMostGib ? "GiB" : "MiB");
      fail(std::string(option) + ": " + number + " without a unit is " + number + " bytes",
           "did you mean " + meant + "? Bytes are written " + number + "B");
    }
    // Whole bytes, so that numbers beyond 2^53 stay exact.
    std::uint64_t whole = 0;
    const auto [rest, error2] = std::from_chars(text.data(), end, whole);
    if (error2 == std::errc() && rest == after && row.bytes == 1) return Bytes(whole);
    return Bytes(static_cast<std::uint64_t>(bytes));
  }
  wrong(option, text, kWanted);
}

Bytes parse_size_or_none(std::string_view text, std::string_view option) {
  double value = 1;
  const auto [after, error] = parse_real(text, value, std::chars_format::fixed);
  const std::string unit = lower(std::string_view(after, static_cast<std::size_t>(text.data() + text.size() - after)));
  const bool is_none = error == std::errc() && value == 0 && !text.starts_with('-') &&
                       std::any_of(kUnits.begin(), kUnits.end(), [&](const Unit& row) { return row.name == unit; });
  return is_none ? Bytes(0) : parse_size(text, option);
}

double parse_percent(std::string_view text, std::string_view option) {
  const auto value = text.ends_with('%') ? real_number(text.substr(0, text.size() - 1)) : std::nullopt;
  if (!value || *value < 0 || *value > 1e6) wrong(option, text, "a percentage such as 5%");
  return *value;
}

double parse_rate(std::string_view text, std::string_view option) {
  // Outside any machine's range, bounds of speed would be 0 or meaningless.
  constexpr double kLeast = 0.01;
  constexpr double kMost = 1e6;
  const auto value = real_number(text);
  if (!value || *value < kLeast || *value > kMost) wrong(option, text, "a number from 0.01 to 1000000");
  return *value;
}

Bytes parse_gib(std::string_view text, std::string_view option) {
  const auto value = real_number(text);
  if (!value) return parse_size(text, option);
  if (*value < 0 || *value > 1e6) wrong(option, text, "a number of GiB");
  return Bytes(static_cast<std::uint64_t>(*value * kGiB));
}

double parse_share(std::string_view text, std::string_view option) {
  const auto value = real_number(text);
  if (!value || *value <= 0 || *value > 1) wrong(option, text, "a fraction above 0 and at most 1");
  return *value;
}

std::size_t chosen(std::string_view value, std::string_view name, std::string_view words) {
  const std::vector<std::string_view> known = split(words, '|');
  const auto found = std::find(known.begin(), known.end(), value);
  if (found != known.end()) return static_cast<std::size_t>(found - known.begin());
  wrong(name, value, join(std::span(known).first(known.size() - 1)) + " or " + std::string(known.back()));
}

}  // namespace kvplan
