// A mix of sequence lengths: what contiguous slabs, pages and a shared prefix make of it.
//
// A slab is max_model_len tokens for every sequence, as engines without pages reserve them. Pages are the engine's own
// blocks (16 tokens where it has none). A shared prefix is stored once, in whole pages, in the layers that keep every
// token; windows and states belong to one sequence.
#ifndef KVPLAN_PLAN_MIX_H_
#define KVPLAN_PLAN_MIX_H_

#include "plan/plan.h"

namespace kvplan {

// Tokens of the longest sequence that was stated, or of their mean; 0 where no lengths were.
std::uint64_t longest_stated(const Request& request);

// Error where a length that was stated is beyond max_model_len.
void check_lengths(const Request& request, const Load& load);

// Nothing where the request names no mix. Error where the prefix is longer than a sequence.
std::optional<MixReport> mix_of(const EngineInput& input, const CacheLayout& layout, const Load& load);

}  // namespace kvplan

#endif  // KVPLAN_PLAN_MIX_H_
