// Models larger than their GPUs, in engines that can leave layers in host memory: the engine's own placement, and
// uneven parts for the GPUs if even parts do not fit.
#pragma once

#include <optional>

#include "kvplan/request.h"
#include "plan/answer.h"
#include "plan/plan_cache.h"

namespace kvplan {

// The request as the engine itself places it if no option does (Engine::places). For llama.cpp that is --fit, which
// leaves 1 GiB of every GPU free. A named context stays; the model's own is shortened to no less than 4096 tokens a
// sequence. Then layers go to the GPUs from the last one back; for a mixture of experts first all of them without
// their experts, then with them, from the first one on. Layers that the user places stay where they are.
//
// Source: llama.cpp b11739, common/fit.cpp (common_params_fit_impl).
// Checked against: that code, run over 25 models and a GPU that allocates nothing
// (testdata/conformance/llama.cpp-fit.jsonl). It may also put a part of one more layer's experts on a GPU, and
// distributes a mixture over several GPUs unevenly: neither is followed.
Request fitted(PlanCache& cache, const Request& request);

// The same, but what fits the GPUs stays there: -ngl all if the engine would leave more of them free.
Request placed(PlanCache& cache, const Request& request);

// The request with everything on the GPUs, except what one of its options leaves in host memory.
Request on_gpus(Request request);

// The request with uneven shares: layers fill the GPUs from the last one back, "-ts 20,13", with -ngl if not all
// fit.
std::optional<Request> unevenly_split(PlanCache& cache, const Request& request);

// Whether `after` places layers differently from `before`.
bool placed_otherwise(const Request& before, const Request& after);

// "-ngl 24": the options of `after` that place the request `before`; and a note with them, empty if there are
// none.
OptionValues placement_options(const Request& before, const Request& after);
Template placement_text(const Request& before, const Request& after);

}  // namespace kvplan
