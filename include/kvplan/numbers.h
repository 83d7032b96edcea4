// Searches for the largest number that is good.
#pragma once

#include <cstdint>

namespace kvplan {

// The last good number from `low`, which is taken as good, to `high`, which is not good.
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

// As above, starting from a guess that may be too low or too high.
template <class Good>
std::uint64_t largest_near(std::uint64_t guess, std::uint64_t most, const Good& good) {
  if (guess > 0 && !good(guess)) return last_good(0, guess, good);
  std::uint64_t low = guess;
  std::uint64_t high = guess + 1;
  for (; low < most && good(high); high *= 2) low = high;
  return low >= most ? most : last_good(low, high, good);
}

}  // namespace kvplan
