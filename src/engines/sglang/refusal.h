// What SGLang refuses at its start, whatever the memory.
#ifndef KVPLAN_ENGINES_SGLANG_REFUSAL_H_
#define KVPLAN_ENGINES_SGLANG_REFUSAL_H_

#include <optional>

#include "engines/engine.h"

namespace kvplan {

// The first that it would meet; absent where none is known. A card that is not named has every kernel.
std::optional<Refusal> sglang_refusal(const EngineInput& input, const Load& load);

}  // namespace kvplan

#endif  // KVPLAN_ENGINES_SGLANG_REFUSAL_H_
