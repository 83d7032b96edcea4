#include "engines/capacity.h"

#include "kvplan/error.h"
#include "kvplan/numbers.h"

namespace kvplan {

static bool within(const CacheLayout& layout, Bytes budget, const Load& load) {
  return unless_misfit([&] { return layout.fits(budget, load); });  // an overflow exceeds any budget
}

std::uint64_t longest_sequence(const CacheLayout& layout, Bytes budget, const Load& load) {
  return largest_near(1, kAnyCount, [&](std::uint64_t tokens) {
    Load longer = load;
    longer.max_model_len = Tokens(tokens);
    return within(layout, budget, longer);
  });
}

std::uint64_t most_sequences(const CacheLayout& layout, Bytes budget, const Load& load) {
  return largest_near(1, kAnyCount, [&](std::uint64_t seqs) {
    Load more = load;
    more.num_seqs = seqs;
    return within(layout, budget, more);
  });
}

}  // namespace kvplan
