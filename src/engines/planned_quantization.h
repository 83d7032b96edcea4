// How the weights of a plan are quantized, in the words of a checkpoint: by --weights, else by the checkpoint itself.
// Refusals ask this, so that a type is refused wherever it came from.
#pragma once

#include "engines/engine.h"

namespace kvplan {

// Undeclared where the weights are in 16 or 32 bit.
QuantDeclaration planned_quantization(const EngineInput& input);

}  // namespace kvplan
