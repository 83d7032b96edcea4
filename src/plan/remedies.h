// What makes a request fit.
#pragma once

#include <vector>

#include "plan/plan.h"
#include "plan/plan_cache.h"

namespace kvplan {

// What makes a request fit: single changes, the one that gives up least first. They are a narrower KV type, narrower
// weights, more cards, fewer sequences and a shorter context (right after the KV type where the user named no length;
// never where a minimum context was asked for).
std::vector<Remedy> remedies(PlanCache& cache, const Plan& asked);

}  // namespace kvplan
