// How much fits: the largest number of tokens or sequences whose plan holds.
#ifndef KVPLAN_PLAN_SEARCH_H_
#define KVPLAN_PLAN_SEARCH_H_

#include <cstdint>
#include <optional>

#include "plan/plan_cache.h"

namespace kvplan {

// Whether a request fits, and the room it leaves where the plan says (negative where it lacks some).
struct Probe {
  bool fits = false;
  std::optional<double> room;
};
Probe probe(PlanCache& cache, const Request& request);

// The model's maximum context, or the request's where that is longer; kAnyCount where the model names none.
std::uint64_t model_maximum(const PlanCache& cache, const Request& request);

// The largest n in [0, kAnyCount] whose plan fits, given that all smaller ones do; 0 where not even 1 does, or where
// the stated lengths do not fit. The search begins at `guess`.
std::uint64_t longest_that_fits(const ModelSpec& model, const Request& request);
std::uint64_t longest_that_fits(PlanCache& cache, const Request& request, std::uint64_t guess);
std::uint64_t most_that_fit(const ModelSpec& model, const Request& request);
std::uint64_t most_that_fit(PlanCache& cache, const Request& request);

}  // namespace kvplan

#endif  // KVPLAN_PLAN_SEARCH_H_
