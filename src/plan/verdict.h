// Whether a plan fits: the engine's own rule, the card, and the limits that the user set.
#ifndef KVPLAN_PLAN_VERDICT_H_
#define KVPLAN_PLAN_VERDICT_H_

#include "engines/engine.h"
#include "plan/plan.h"

namespace kvplan {

// The share of a card that an engine without a rule of its own (cache_budget) uses, and what that is of `memory`.
double usable_share(const Engine& engine, const EngineInput& input);
Bytes usable_memory(const Engine& engine, const EngineInput& input, Bytes memory);

// All of the memory where processor and GPU share one; nothing for a card of its own.
std::optional<Bytes> shared_memory(const Request& request);

// Fills plan.verdict from its ledger, cache and capacity.
void judge(const EngineInput& input, const Engine& engine, const CacheLayout& layout, Plan& plan);
// What a reader is told besides: how many sequences run at once, and where it is close what to lower first.
void advise(const CacheLayout& layout, Plan& plan);

}  // namespace kvplan

#endif  // KVPLAN_PLAN_VERDICT_H_
