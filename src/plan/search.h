// Searches over requests: what fits, which changes to suggest, the layouts in common use, and models larger than their
// GPUs.
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

// Whether a request fits, possibly with a lower cap on sequences than the engine's default. False if the engine refuses
// it.
bool fits(PlanCache& cache, const Request& request);

// If the engine refuses its default cap on sequences but starts with a lower one, sets that in the request and returns
// the option. A cap that the user named stays.
OptionValues lower_seqs_cap(PlanCache& cache, Request& request);

// A layout and what fits in it, from its plan's Capacity. No reserve is kept.
struct LayoutFigures {
  Request request;
  std::uint64_t longest = 0, most = 0;
};
// What fits in the request's own layout. Nothing if the engine refuses it, or if not even the shortest context fits.
std::optional<LayoutFigures> held_by(PlanCache& cache, const Request& request);
// The same for every layout of the request's GPUs, or for the named layout only, best first.
std::vector<LayoutFigures> held_by_layouts(PlanCache& cache, const Request& request);
// The layout with the largest figure. Among equals it is `usual` if that is one of them, otherwise the first.
const LayoutFigures* most_of(const std::vector<LayoutFigures>& layouts, std::uint64_t LayoutFigures::*figure,
                             const Parallel& usual);

// For `request.longest`: the request with the longest context that fits in any of its layouts. The length stays the
// model's own if there is no GPU, or if nothing or any length fits.
Request with_longest_context(PlanCache& cache, Request request);

// The largest n in [0, kAnyCount] that fits with the request's reserve, given that all smaller ones fit. 0 if not even
// 1 does, or if the given lengths do not fit. Used by remedies. The search starts at `guess`.
std::uint64_t longest_that_fits(const ModelSpec& model, const Request& request);
std::uint64_t longest_that_fits(PlanCache& cache, const Request& request, std::uint64_t guess);
std::uint64_t most_that_fit(const ModelSpec& model, const Request& request);
std::uint64_t most_that_fit(PlanCache& cache, const Request& request);

// Changes that `fit` and the verdict suggest, as options to add to the user's command.

struct Change {
  OptionValues options;
  Request request;
};

Request with_context(Request request, std::uint64_t tokens);
Request with_seqs(Request request, std::uint64_t seqs);
// The length of a sequence, with the option that the request uses for it.
std::pair<std::string, std::string> context_option(const Request& request, std::uint64_t tokens);
std::pair<std::string, std::string> seqs_option(std::uint64_t seqs);
std::pair<std::string, std::string> seqs_cap_option(std::uint64_t cap);

// One change per KV type and weight type in use with the engine. `with_small` adds the weight types that lose the most.
std::vector<Change> type_changes(const Request& request, const Plan& asked, bool with_small = false);
// Whether two words name one weight type.
bool same_type(std::string_view a, std::string_view b);
// Whether the engine cannot make such weights from the model's own files when it starts.
bool needs_other_checkpoint(const ModelSpec& model, const Plan& asked, std::string_view type);
// The request on `count` GPUs, in the layout that fits best there. Nothing for different GPUs or a machine with unified
// memory, because more GPUs do not help there.
std::optional<Change> on_more_cards(PlanCache& cache, const Request& request, std::uint64_t count);
// The options that turn the layout of `before` into that of `after`.
OptionValues layout_options(const Request& before, const Request& after);

// Models larger than their GPUs, in engines that can leave layers in host memory: the engine's own placement, and an
// uneven split over the GPUs if an equal one does not fit.

// The request with the engine's own placement, for a request without placement options (Engine::places). For llama.cpp
// that is --fit, which leaves 1 GiB of every GPU free. A named context stays; the model's own is shortened to no less
// than 4096 tokens a sequence. Then layers go to the GPUs from the last one back; for a mixture of experts first all of
// them without their experts, then with them, from the first one on. Layers that the user places stay where they are.
//
// Source: llama.cpp b11739, common/fit.cpp (common_params_fit_impl). Checked against: that code, run over 25 models and
// a GPU that allocates nothing (testdata/conformance/llama.cpp-fit.jsonl). It may also put a part of one more layer's
// experts on a GPU, and distributes a mixture over several GPUs unevenly: kvplan does neither.
Request fitted(PlanCache& cache, const Request& request);

// As `fitted`, but everything that fits stays on the GPUs: -ngl all if the engine would leave more memory free.
Request placed(PlanCache& cache, const Request& request);

// The request with everything on the GPUs, except what one of its options puts in host memory.
Request on_gpus(Request request);

// The request with an uneven split: layers fill the GPUs from the last layer on ("-ts 20,13"), with -ngl if not all of
// them fit.
std::optional<Request> unevenly_split(PlanCache& cache, const Request& request);

// Whether `after` places layers differently from `before`.
bool placed_otherwise(const Request& before, const Request& after);

// The options that change the placement of `before` to that of `after`: "-ngl 24". The second function returns a note
// with them, empty if there are none.
OptionValues placement_options(const Request& before, const Request& after);
Template placement_text(const Request& before, const Request& after);

// The layouts in common use: tensor and pipeline parallel, data parallel copies that share experts, ranks that share a
// sequence's tokens.

// Whether there are several GPUs and the user named no layout. Each command then chooses the layout that fits best.
bool searches_layouts(const Request& request);

// The request on `gpus` GPUs in each common layout, best first. What the user named stays: data parallel copies,
// context parallel ranks, expert parallelism. Engines may refuse some of them.
std::vector<Request> layouts_of(PlanCache& cache, const Request& request, std::uint64_t gpus);

// The first layout of the given GPUs that fits with the usual reserve. If none does, the first that fits without it, or
// else the one that is the least short of memory. Throws if the engine refuses all.
Request chosen_layout(PlanCache& cache, const Request& request);

// The numbers of GPUs to try for each copy of the request: 1, 2, 4, 8 and whole nodes of 8.
std::vector<std::uint64_t> usual_gpu_counts(const Request& request);

// A lower bound of the memory that the request needs on all its GPUs together: its bytes without any replication.
Bytes least_memory(const Plan& asked);
// The fewest GPUs of this type that have that much memory, in any layout.
std::uint64_t fewest_cards(const Plan& asked);

// A note if ranks store the same cache, with the data parallel layout that avoids it. Empty if no cache is repeated.
Template repeated_cache(PlanCache& cache, const Plan& plan);
// The reason for or against a layout: a sentence without a full stop.
Template reason_of_layout(PlanCache& cache, const Request& request);

// The request with a reserve: the requested one, or the one that suggestions keep. That is 1 GiB, or 1 % of the GPU for
// an engine that takes a fraction and leaves the rest free anyway.
Request with_reserve(Request request);

}  // namespace kvplan
