// How many requests vLLM's scheduler runs together: what its log prints as concurrency charges every request what it
// takes to be admitted, a window's batches in flight for one; those that run hold less.
#ifndef KVPLAN_ENGINES_VLLM_AT_ONCE_H_
#define KVPLAN_ENGINES_VLLM_AT_ONCE_H_

#include <vector>

#include "engines/engine.h"
#include "engines/vllm/rules.h"
#include "engines/vllm/specs.h"

namespace kvplan {

// What the pool has to say of it.
struct VllmPool {
  std::uint64_t blocks = 0;             // without the null block
  std::vector<const VllmSpec*> groups;  // one of each group's layers
  const ChargeRules* charge = nullptr;
  const VllmRules* rules = nullptr;
  Tokens max_model_len;
};

// Blocks that a request of `load` has of `spec` while it runs, at most; never falls as the load grows.
std::uint64_t running_blocks(const VllmSpec& spec, const VllmPool& pool, const Load& load);

// Absent where the rule is not known: a prefix that is shared by a release that keeps no states of it.
std::optional<std::uint64_t> vllm_runs_at_once(const VllmPool& pool, const Running& running);

}  // namespace kvplan

#endif  // KVPLAN_ENGINES_VLLM_AT_ONCE_H_
