// What makes a request fit.
#pragma once

#include <vector>

#include "plan/plan.h"
#include "plan/plan_cache.h"

namespace kvplan {

// What makes a request fit: single changes, the smallest first. They are a narrower KV type, narrower
// weights, more GPUs, fewer sequences and a shorter context (right after the KV type where the user named no length;
// never if a minimum context was requested).
std::vector<Remedy> remedies(PlanCache& cache, const Plan& asked);

}  // namespace kvplan
