// How much fits: the largest number of tokens or sequences whose plan holds.
#ifndef KVPLAN_PLAN_SEARCH_H_
#define KVPLAN_PLAN_SEARCH_H_

#include <cstdint>
#include <optional>

#include "plan/plan_cache.h"

namespace kvplan {

// Whether a request fits, and the room that it leaves (negative where it lacks some), where the plan says.
struct Probe {
  bool fits = false;
  std::optional<double> room;
};
Probe probe(PlanCache& cache, const Request& request);

// The model's own maximum of tokens, or what the request asks for beyond it; kAnyCount where the model names none.
std::uint64_t model_maximum(const PlanCache& cache, const Request& request);

// The largest n in [0, kAnyCount] whose plan fits, where it fits for all smaller ones; 0 where even 1 does not, and
// where no context fits that holds the stated lengths. `guess` is where the search begins.
std::uint64_t longest_that_fits(const ModelSpec& model, const Request& request);
std::uint64_t longest_that_fits(PlanCache& cache, const Request& request, std::uint64_t guess);
std::uint64_t most_that_fit(const ModelSpec& model, const Request& request);
std::uint64_t most_that_fit(PlanCache& cache, const Request& request);

}  // namespace kvplan

#endif  // KVPLAN_PLAN_SEARCH_H_
