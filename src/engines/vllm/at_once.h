// How many requests vLLM's scheduler runs together. The concurrency in its log is a different number: it charges every
// request what admission needs, such as a window's batches in flight, although running requests need less.
#pragma once

#include <vector>

#include "engines/engine.h"
#include "engines/vllm/rules.h"
#include "engines/vllm/specs.h"

namespace kvplan {

// What is needed to know about the pool.
struct VllmPool {
  std::uint64_t blocks = 0;             // without the null block
  std::vector<const VllmSpec*> groups;  // one for each group
  const ChargeRules* charge = nullptr;
  const VllmRules* rules = nullptr;
  Tokens max_model_len;
  Tokens source_tokens = {};  // that a request's cross attention keeps
};

// The most blocks of `spec` that a request of `load` has while it runs; never decreases as the load grows.
std::uint64_t running_blocks(const VllmSpec& spec, const VllmPool& pool, const Load& load);

// Absent if the rule is not known: for a shared prefix in a release that caches no states.
std::optional<std::uint64_t> vllm_runs_at_once(const VllmPool& pool, const Running& running);

}  // namespace kvplan
