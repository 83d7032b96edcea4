// How much fits: the largest number of tokens or sequences whose plan fits.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plan/answer.h"
#include "plan/plan_cache.h"

namespace kvplan {

// Whether a request fits, as it is or with a lower cap on sequences than the engine's default; false if the engine
// refuses it.
bool fits(PlanCache& cache, const Request& request);

// Where the engine refuses its default cap on sequences and starts with a smaller one: names that one in the request,
// and returns the option. Searches may lower a cap that the user did not name.
OptionValues lower_seqs_cap(PlanCache& cache, Request& request);

// A layout, and what fits in it: the figures of its plan's Capacity, which keep no reserve.
struct LayoutFigures {
  Request request;
  std::uint64_t longest = 0, most = 0;
};
// What fits in the request's own plan; nothing if the engine refuses it or not even the shortest context fits.
std::optional<LayoutFigures> held_by(PlanCache& cache, const Request& request);
// The same for every layout of the request's GPUs, or only for the one that was named, best first.
std::vector<LayoutFigures> held_by_layouts(PlanCache& cache, const Request& request);
// The one with the largest figure; among equals the layout `usual` if it is there, else the first.
const LayoutFigures* most_of(const std::vector<LayoutFigures>& layouts, std::uint64_t LayoutFigures::*figure,
                             const Parallel& usual);

// For `request.longest`: the request with the longest context that fits in any of its layouts. Without a GPU, and where
// nothing or any length fits, the length stays the model's own.
Request with_longest_context(PlanCache& cache, Request request);

// The largest n in [0, kAnyCount] whose verdict is that it fits, with the reserve that the request names, given that
// all smaller ones fit; 0 if not even 1 does, or where the stated lengths do not fit. Used by remedies. The search
// begins at `guess`.
std::uint64_t longest_that_fits(const ModelSpec& model, const Request& request);
std::uint64_t longest_that_fits(PlanCache& cache, const Request& request, std::uint64_t guess);
std::uint64_t most_that_fit(const ModelSpec& model, const Request& request);
std::uint64_t most_that_fit(PlanCache& cache, const Request& request);

}  // namespace kvplan
