// The layouts in common use: tensor and pipeline parallel, data parallel copies that share experts, ranks that share a
// sequence's tokens.
#pragma once

#include <vector>

#include "engines/launch_words.h"
#include "plan/plan.h"
#include "plan/plan_cache.h"

namespace kvplan {

// Whether there are several GPUs and no layout was named: each command then uses the layout that fits best.
bool searches_layouts(const Request& request);

// The request on `gpus` GPUs in each common layout, best first. What was named stays: data parallel copies, context
// parallel ranks, expert parallelism. Engines may refuse some of them.
std::vector<Request> layouts_of(PlanCache& cache, const Request& request, std::uint64_t gpus);

// The first layout of the GPUs at hand that fits with the usual reserve, else without it, else the one that is short by
// least. Throws if the engine refuses all.
Request chosen_layout(PlanCache& cache, const Request& request);

// Numbers of GPUs that people rent: 1, 2, 4, 8 and whole nodes of 8, for each copy of the request.
std::vector<std::uint64_t> usual_gpu_counts(const Request& request);

// A lower bound of what the request takes on all its GPUs: its bytes with nothing replicated.
Bytes least_memory(const Plan& asked);
// The fewest of its GPUs with that much memory, in any layout.
std::uint64_t fewest_cards(const Plan& asked);

// A note for a plan whose ranks store the same cache, with the data parallel layout that would not; empty if no cache
// is repeated.
Template repeated_cache(PlanCache& cache, const Plan& plan);
// The reason for a layout, or against it, as a sentence without a full stop.
Template reason_of_layout(PlanCache& cache, const Request& request);

// The request with a reserve: the requested one, else the one suggestions leave, 1 GiB, or 1 % of the GPU if the
// engine takes a fraction of it and leaves the rest free anyway.
Request with_reserve(Request request);

}  // namespace kvplan
