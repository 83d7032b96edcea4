// Searches over requests: what fits, what else to try, the layouts in common use, and models larger than their GPUs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engines/launch_words.h"
#include "kvplan/request.h"
#include "plan/answer.h"
#include "plan/plan.h"
#include "plan/plan_cache.h"

namespace kvplan {

// Whether a request fits, as it is or with a lower cap on sequences than the engine's default; false if the engine
// refuses it.
bool fits(PlanCache& cache, const Request& request);

// If the engine refuses its default cap on sequences and starts with a smaller one, sets that one in the request and
// returns the option. Searches may lower a cap that the user did not name.
OptionValues lower_seqs_cap(PlanCache& cache, Request& request);

// A layout and what fits in it: the figures of its plan's Capacity, which do not keep a reserve.
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

// For `request.longest`: the request with the longest context that fits in any of its layouts. Without a GPU, or if
// nothing or any length fits, the length stays the model's own.
Request with_longest_context(PlanCache& cache, Request request);

// The largest n in [0, kAnyCount] whose verdict is that it fits, with the reserve that the request names, given that
// all smaller ones fit; 0 if not even 1 does, or if the given lengths do not fit. Used by remedies. The search starts
// at `guess`.
std::uint64_t longest_that_fits(const ModelSpec& model, const Request& request);
std::uint64_t longest_that_fits(PlanCache& cache, const Request& request, std::uint64_t guess);
std::uint64_t most_that_fit(const ModelSpec& model, const Request& request);
std::uint64_t most_that_fit(PlanCache& cache, const Request& request);

// Changes of a request, as options to add to the user's command: what `fit` and the verdict suggest.

struct Change {
  OptionValues options;
  Request request;
};

Request with_context(Request request, std::uint64_t tokens);
Request with_seqs(Request request, std::uint64_t seqs);
// The length of a sequence, under the option that the request uses for it.
std::pair<std::string, std::string> context_option(const Request& request, std::uint64_t tokens);
std::pair<std::string, std::string> seqs_option(std::uint64_t seqs);
std::pair<std::string, std::string> seqs_cap_option(std::uint64_t cap);

// A change to each other KV type and weight type in use with the engine; `with_small` adds the weight types that lose
// the most.
std::vector<Change> type_changes(const Request& request, const Plan& asked, bool with_small = false);
// Whether two words name one weight type.
bool same_type(std::string_view a, std::string_view b);
// Whether the engine cannot make such weights from the model's own files when it starts.
bool needs_other_checkpoint(const ModelSpec& model, const Plan& asked, std::string_view type);
// The request on `count` GPUs, in the layout that fits best there. Nothing if more GPUs do not help: for different
// GPUs, and for a machine with unified memory.
std::optional<Change> on_more_cards(PlanCache& cache, const Request& request, std::uint64_t count);
// The options that change the layout of `before` to that of `after`, for a command with the layout of `before`.
OptionValues layout_options(const Request& before, const Request& after);

// Models larger than their GPUs, in engines that can leave layers in host memory: the engine's own placement, and an
// uneven split over the GPUs if an even one does not fit.

// The request with the engine's own placement, for a request without placement options (Engine::places). For llama.cpp
// that is --fit, which leaves 1 GiB of every GPU free. A named context stays; the model's own is shortened to no less
// than 4096 tokens a sequence. Then layers go to the GPUs from the last one back; for a mixture of experts first all of
// them without their experts, then with them, from the first one on. Layers that the user places stay where they are.
//
// Source: llama.cpp b11739, common/fit.cpp (common_params_fit_impl). Checked against: that code, run over 25 models and
// a GPU that allocates nothing (testdata/conformance/llama.cpp-fit.jsonl). It may also put a part of one more layer's
// experts on a GPU, and distributes a mixture over several GPUs unevenly: kvplan does neither.
Request fitted(PlanCache& cache, const Request& request);

// The same, but everything that fits stays on the GPUs: -ngl all if the engine would leave more memory free.
Request placed(PlanCache& cache, const Request& request);

// The request with everything on the GPUs, except what one of its options leaves in host memory.
Request on_gpus(Request request);

// The request with an uneven split: layers fill the GPUs from the last layer on, "-ts 20,13", with -ngl if not all of
// them fit.
std::optional<Request> unevenly_split(PlanCache& cache, const Request& request);

// Whether `after` places layers differently from `before`.
bool placed_otherwise(const Request& before, const Request& after);

// "-ngl 24": the options of `after` that place the request `before`; and a note with them, empty if there are
// none.
OptionValues placement_options(const Request& before, const Request& after);
Template placement_text(const Request& before, const Request& after);

// The layouts in common use: tensor and pipeline parallel, data parallel copies that share experts, ranks that share a
// sequence's tokens.

// Whether there are several GPUs and the user named no layout. Each command then uses the layout that fits best.
bool searches_layouts(const Request& request);

// The request on `gpus` GPUs in each common layout, best first. Options that the user named stay: data parallel copies,
// context parallel ranks, expert parallelism. Engines may refuse some of them.
std::vector<Request> layouts_of(PlanCache& cache, const Request& request, std::uint64_t gpus);

// The first layout of the given GPUs that fits with the usual reserve, else without it, else the one that is short by
// least. Throws if the engine refuses all.
Request chosen_layout(PlanCache& cache, const Request& request);

// The numbers of GPUs to try: 1, 2, 4, 8 and whole nodes of 8, for each copy of the request.
std::vector<std::uint64_t> usual_gpu_counts(const Request& request);

// A lower bound of the memory that the request needs on all its GPUs together: its bytes without any replication.
Bytes least_memory(const Plan& asked);
// The fewest of its GPUs with that much memory, in any layout.
std::uint64_t fewest_cards(const Plan& asked);

// A note for a plan whose ranks store the same cache, with the data parallel layout that avoids it; empty if no cache
// is repeated.
Template repeated_cache(PlanCache& cache, const Plan& plan);
// The reason for or against a layout, as a sentence without a full stop.
Template reason_of_layout(PlanCache& cache, const Request& request);

// The request with a reserve: the requested one, or the one that suggestions leave. That is 1 GiB, or 1 % of the GPU if
// the engine takes a fraction and leaves the rest free anyway.
Request with_reserve(Request request);

}  // namespace kvplan
