// Models larger than their cards, in engines that can leave layers in host memory: the result of llama.cpp's own fit,
// and uneven shares of the GPUs for a model that even shares do not hold.
#pragma once

#include <optional>
#include <string>

#include "kvplan/request.h"
#include "plan/plan_cache.h"

namespace kvplan {

// -ngl auto: `request` with the context, layers and experts that llama.cpp chooses at its start, leaving 1 GiB of every
// card free. A named context stays; the model's own is shortened to no less than 4096 tokens a sequence. Then layers go
// to the cards from the last one back; for a mixture of experts first all of them without their experts, then with
// them, from the first one on. Host memory is not checked.
//
// Source: llama.cpp b11739, common/fit.cpp (common_params_fit_impl).
// Checked against: that code, run over 25 models and a GPU that allocates nothing
// (testdata/conformance/llama.cpp-fit.jsonl). It may also put a part of one more layer's experts on a card, and
// distributes a mixture over several cards unevenly: neither is followed.
//   is followed.
Request fitted(PlanCache& cache, const Request& request);

// The request with uneven shares: layers fill the GPUs from the last one back, "-ts 20,13", with -ngl where not all
// fit.
std::optional<Request> unevenly_split(PlanCache& cache, const Request& request);

// "-c 4096 -ngl 24": the options of `after` that place what `before` asks for.
std::string placement_text(const Request& before, const Request& after);

}  // namespace kvplan
