// How sure a plan is: the range of each estimate, and what to do where the limit lies inside it.
//
// Exact lines have no range. An estimate has the range that its engine's file gives it (held against logs), +-5 % where
// it gives none, and +-P % of --margin P% in place of both. Ranges of a total are closer than the sums of its
// lines' ends: errors of one start hardly go together (kvplan/ranges.h).
#ifndef KVPLAN_PLAN_CERTAINTY_H_
#define KVPLAN_PLAN_CERTAINTY_H_

#include <optional>
#include <string>

#include "kvplan/ranges.h"
#include "plan/plan.h"

namespace kvplan {

void apply_margin(LedgerLine& line, const std::optional<double>& margin);

// The first thing to lower, so that the high end of the range fits too: `over` bytes are too much for it.
Template what_to_lower(const CacheLayout& layout, const Plan& plan, const GpuMemory& fullest, Bytes over);

// A budget is as uncertain as what it is taken from: the parts beside the cache, and what of the card is free at the
// start, where the engine goes by that. Absent where it was given.
std::optional<Range> budget_range(const EngineInput& input, const Engine& engine, const Plan& plan, Bytes budget);

}  // namespace kvplan

#endif  // KVPLAN_PLAN_CERTAINTY_H_
