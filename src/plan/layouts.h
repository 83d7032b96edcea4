// How people deal a model to GPUs: tensor and pipeline parallel, data parallel copies with shared experts, ranks that
// share a sequence's tokens.
#ifndef KVPLAN_PLAN_LAYOUTS_H_
#define KVPLAN_PLAN_LAYOUTS_H_

#include <string>
#include <vector>

#include "engines/launch_words.h"
#include "plan/plan.h"
#include "plan/plan_cache.h"

namespace kvplan {

// Several cards and no layout named: each question finds the layout that fits best.
bool searches_layouts(const Request& request);

// The request on `gpus` GPUs in each layout that is in use, the first choice first. What was named stays: copies, ranks
// of a sequence, experts dealt whole. Engines refuse some of them.
std::vector<Request> layouts_of(PlanCache& cache, const Request& request, std::uint64_t gpus);

// The first of the layouts of the cards at hand that fits with the usual reserve, else without; else the one that lacks
// least. Throws where the engine refuses all of them.
Request chosen_layout(PlanCache& cache, const Request& request);

// Numbers of GPUs that people rent: 1, 2, 4, 8 and whole nodes of 8, each for every copy of the request.
std::vector<std::uint64_t> usual_gpu_counts(const Request& request);

// What a plan should say of ranks that hold the same cache, and of the copies that would not; empty where there are
// none.
Template repeated_cache(PlanCache& cache, const Plan& plan);
// What speaks for a layout, or against it, in a sentence without a full stop.
Template reason_of_layout(PlanCache& cache, const Request& request);

// The request with the memory kept free that was asked for, else as much as suggestions leave: 1 GiB, or 1 % of the
// card where the engine takes a share of it and leaves the rest anyway.
Request with_reserve(Request request);

}  // namespace kvplan

#endif  // KVPLAN_PLAN_LAYOUTS_H_
