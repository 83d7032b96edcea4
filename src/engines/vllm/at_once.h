// How many requests vLLM's scheduler runs together. The concurrency in vLLM's log is a different number. It charges
// every request the blocks needed for admission, although a running request needs fewer.
#pragma once

#include <vector>

#include "engines/engine.h"
#include "engines/vllm/rules.h"
#include "engines/vllm/specs.h"

namespace kvplan {

// The pool of blocks, and the rules by which requests are charged.
struct VllmPool {
  std::uint64_t blocks = 0;             // without the null block
  std::vector<const VllmSpec*> groups;  // one for each group
  const ChargeRules* charge = nullptr;
  const VllmRules* rules = nullptr;
  Tokens max_model_len;
  Tokens source_tokens = {};  // source tokens in a request's cross-attention cache
};

// The most blocks of `spec` that a request of `load` uses while it runs. It never decreases as the load grows.
std::uint64_t running_blocks(const VllmSpec& spec, const VllmPool& pool, const Load& load);

// Absent if the rule is not known: a shared prefix in a release that does not cache states.
std::optional<std::uint64_t> vllm_runs_at_once(const VllmPool& pool, const Running& running);

}  // namespace kvplan
