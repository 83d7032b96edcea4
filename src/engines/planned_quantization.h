// How the weights of a plan are quantized, as a checkpoint would declare it: from --weights, else from the checkpoint.
// Refusals use it, so that a type is refused either way.
#pragma once

#include "engines/engine.h"

namespace kvplan {

// Undeclared if the weights are in 16 or 32 bit.
QuantDeclaration planned_quantization(const EngineInput& input);

}  // namespace kvplan
