// What vLLM refuses at its start for reasons other than memory: by model, release and card.
#ifndef KVPLAN_ENGINES_VLLM_REFUSAL_H_
#define KVPLAN_ENGINES_VLLM_REFUSAL_H_

#include <optional>

#include "engines/engine.h"

namespace kvplan {

// The first refusal it would meet, in its own words where it has some; absent where none is known. Where no card is
// named, all kernels are taken to be there.
std::optional<Refusal> vllm_refusal(const EngineInput& input, const Load& load);

}  // namespace kvplan

#endif  // KVPLAN_ENGINES_VLLM_REFUSAL_H_
