// Turns a model, a request and an engine into a plan: a ledger for each GPU, totals, capacity and a verdict.
#pragma once

#include <vector>

#include "engines/engine.h"
#include "formulas/model.h"
#include "kvplan/request.h"
#include "plan/answer.h"

namespace kvplan {

// Plans `model`. Throws Error if the request makes no sense for it.
Plan make_plan(const ModelSpec& model, const Request& request);
// Stores what many plans of one model share.
class PlanCache;
Plan make_plan(PlanCache& cache, const Request& request);
// The verdict of make_plan without the rest of the plan, for searches.
VerdictReport verdict_of(PlanCache& cache, const Request& request);
// The most GPUs that a plan can have.
inline constexpr std::uint64_t kMostGpusOfPlan = 2048;
// Figures from kvplan verify ("weights_bytes=1,block_bytes=2"), as a record for later plans.
CalibrationRecord said_by_engine(const ModelSpec& model, const Request& request, const std::string& said,
                                 std::string_view date);
// One GPU of each pipeline stage: what a search over placements needs.
std::vector<GpuMemory> stages_of(PlanCache& cache, const Request& request);

}  // namespace kvplan
