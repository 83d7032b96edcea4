// The inverse question, with the same answer in every engine: the largest load that fits a budget.
#pragma once

#include "engines/engine.h"

namespace kvplan {

// The longest sequence, at load.num_seqs sequences, that the engine runs in `budget`: one token more does not fit. 0 if
// not even one token fits. At most 2^40 tokens, for caches that do not grow.
std::uint64_t longest_sequence(const CacheLayout& layout, Bytes budget, const Load& load);

// The most sequences at load.max_model_len; at most 2^40.
std::uint64_t most_sequences(const CacheLayout& layout, Bytes budget, const Load& load);

// Why a cache of `need` bytes does not fit in `budget` bytes of a GPU.
inline Template too_small(Bytes need, Bytes budget) {
  return {"the KV cache needs {needed:size} per GPU, {missing:size} more than the {budget:size} available",
          {{"needed", need}, {"missing", need - budget}, {"budget", budget}}};
}

}  // namespace kvplan
