// What llama.cpp allocates on a GPU besides weights and cache: the compute buffer and the driver's context.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engines/engine.h"

namespace kvplan {

std::vector<LedgerLine> llama_cpp_overhead(const OverheadInput& in);
// Buffers in host memory, wherever the layers are.
std::vector<LedgerLine> llama_cpp_host_buffers(const EngineInput& input, const Load& load);

// The largest contiguous part of a compute buffer.
Bytes llama_largest_piece(const EngineInput& input, const Load& load);
// The compute buffer of an image projector's encoder (Extras::image_buffer).
std::optional<LedgerLine> llama_image_encoder(const Request& request, const ProjectorFile& file);

// The compute buffers of a context, computed in llama.cpp's own steps: the graph of a full micro-batch is distributed
// over the devices, and its tensors are placed.

// One buffer for each GPU, then the host's. Nothing for a config, which does not list all tensors, or if kvplan cannot
// build the model's graph.
std::optional<std::vector<std::uint64_t>> llama_compute_buffers(const EngineInput& input, const Load& load);

}  // namespace kvplan
