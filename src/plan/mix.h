// Different sequence lengths: the memory they take contiguous, paged, and with a shared prefix.
//
// Contiguous: max_model_len tokens for every sequence, as engines without pages reserve. Paged: the engine's own blocks
// (16 tokens if it has none). A shared prefix is stored once, in whole pages, in layers that keep every token;
// windows and states belong to one sequence.
#pragma once

#include <optional>

#include "engines/engine.h"
#include "plan/answer.h"

namespace kvplan {

// The longest of the stated lengths, their mean and the shared prefix; 0 if none is stated.
std::uint64_t longest_stated(const Request& request);

// Throws Error if a stated length exceeds max_model_len.
void check_lengths(const Request& request, const Load& load);

// Nothing if the request states no mix. Throws Error if the prefix is longer than a sequence.
std::optional<MixReport> mix_of(const EngineInput& input, const CacheLayout& layout, const Load& load);

}  // namespace kvplan
