// The compute buffers of a context by llama.cpp's own steps: the graph of a full micro-batch, distributed over the
// devices, with its tensors placed.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engines/engine.h"

namespace kvplan {

// One for each GPU, then the host's. Nothing for a config, which does not tell every tensor, and where kvplan cannot
// build the model's graph.
std::optional<std::vector<std::uint64_t>> llama_compute_buffers(const EngineInput& input, const Load& load);

}  // namespace kvplan
