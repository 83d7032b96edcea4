// Models larger than their cards, in engines that leave layers in host memory: what llama.cpp's own fit makes of them,
// and shares of GPUs that hold a model which even ones do not.
#ifndef KVPLAN_PLAN_OFFLOAD_H_
#define KVPLAN_PLAN_OFFLOAD_H_

#include <optional>
#include <string>

#include "kvplan/request.h"
#include "plan/plan_cache.h"

namespace kvplan {

// -ngl auto: `request` with the context, the layers and the experts that llama.cpp chooses when it starts. It leaves
// 1 GiB of every card free. A context that was named stays; the model's own falls to 4096 tokens a sequence at least.
// Then layers go to the cards from the last one back; of a mixture all of them without their experts, and then with
// them, from the first one on. It looks at no host memory.
//
// Source: llama.cpp b11739, common/fit.cpp (common_params_fit_impl).
// Checked against: that code, run over 25 models and a GPU that holds nothing
// (testdata/conformance/llama.cpp-fit.jsonl).
//   It may put a part of one more layer's experts on a card, and deals a mixture over several cards unevenly: neither
//   is followed.
Request fitted(PlanCache& cache, const Request& request);

// Layers of each GPU, filled from the last one back: "-ts 20,13", and with -ngl where not all of them find room.
std::optional<Request> unevenly_split(PlanCache& cache, const Request& request);

// "-c 4096 -ngl 24": how `after` places what `before` asks for.
std::string placement_text(const Request& before, const Request& after);

}  // namespace kvplan

#endif  // KVPLAN_PLAN_OFFLOAD_H_
