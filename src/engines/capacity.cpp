#include "engines/capacity.h"

#include "kvplan/error.h"
#include "kvplan/numbers.h"

namespace kvplan {

namespace {

constexpr std::uint64_t kMost = kAnyCount;

// The largest n in [0, kMost] for which `fits` is true, given that it is for all smaller ones.
template <class Fits>
std::uint64_t largest(const Fits& fits) {
  if (!fits(1)) return 0;
  std::uint64_t low = 1;
  while (low < kMost && fits(low * 2)) low *= 2;
  if (low >= kMost) return kMost;
  return last_good(low, low * 2, fits);
}

bool within(const CacheLayout& layout, Bytes budget, const Load& load) {
  try {
    return layout.fits(budget, load);
  } catch (const Error& error) {
    take_as_misfit(error);
    return false;  // an overflow exceeds any budget
  }
}

}  // namespace

std::uint64_t longest_sequence(const CacheLayout& layout, Bytes budget, const Load& load) {
  return largest([&](std::uint64_t tokens) {
    Load longer = load;
    longer.max_model_len = Tokens(tokens);
    return within(layout, budget, longer);
  });
}

std::uint64_t most_sequences(const CacheLayout& layout, Bytes budget, const Load& load) {
  return largest([&](std::uint64_t seqs) {
    Load more = load;
    more.num_seqs = seqs;
    return within(layout, budget, more);
  });
}

}  // namespace kvplan
