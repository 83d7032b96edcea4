// How certain a plan is: the range of each estimate, and what to do where the limit lies within it.
//
// Exact lines have no range. An estimate has the range that was fitted to recorded logs for its engine, +-5 % where
// there is none, or +-P % of --margin P% instead. The range of a total is narrower than the sum of its lines'
// ends: the errors of one start hardly correlate (kvplan/ranges.h).
#pragma once

#include <optional>

#include "engines/engine.h"
#include "kvplan/ranges.h"
#include "plan/answer.h"

namespace kvplan {

void apply_margin(LedgerLine& line, const std::optional<double>& margin);

// The first thing to lower so that the range's high end fits too: it is `over` bytes too much.
Template what_to_lower(const CacheLayout& layout, const Plan& plan, const GpuMemory& fullest, Bytes over);

// The range of the cache's budget: as uncertain as the parts beside the cache, and as the GPU's free memory at the
// start if the engine uses that. Absent if the user gave the budget.
std::optional<Range> budget_range(const EngineInput& input, const Engine& engine, const Plan& plan, Bytes budget);

}  // namespace kvplan
