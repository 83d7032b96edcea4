// Numbers as text.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace kvplan {

// The whole number that a text begins with; nothing if it begins with none, or with one beyond 2^64.
std::optional<std::uint64_t> whole_number(std::string_view text, int base = 10);

// The decimal number that a text begins with, read as std::from_chars would (libc++ 14 has none for doubles), except
// that infinity and NaN are not accepted.
std::from_chars_result parse_real(std::string_view text, double& value,
                                  std::chars_format format = std::chars_format::general);

// The last good number between `low`, which counts as good, and `high`, which is not.
template <class Good>
std::uint64_t last_good(std::uint64_t low, std::uint64_t high, const Good& good) {
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    (good(middle) ? low : high) = middle;
  }
  return low;
}
// The largest good number up to `most`, given that all smaller ones are good; 0 if 1 is not.
template <class Good>
std::uint64_t largest_good(std::uint64_t most, const Good& good) {
  return most == 0 || good(most) ? most : last_good(0, most, good);
}

// The same from a guess that may be too low or too high.
template <class Good>
std::uint64_t largest_near(std::uint64_t guess, std::uint64_t most, const Good& good) {
  if (guess > 0 && !good(guess)) return last_good(0, guess, good);
  std::uint64_t low = guess;
  std::uint64_t high = guess + 1;
  for (; low < most && good(high); high *= 2) low = high;
  return low >= most ? most : last_good(low, high, good);
}

}  // namespace kvplan
