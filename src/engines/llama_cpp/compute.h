// What llama.cpp allocates on a GPU apart from weights and cache: the compute buffer and the driver's context.
#pragma once

#include <vector>

#include "engines/engine.h"

namespace kvplan {

std::vector<LedgerLine> llama_cpp_overhead(const OverheadInput& in);
// Buffers that are in host memory wherever the layers are.
std::vector<LedgerLine> llama_cpp_host_buffers(const EngineInput& input, const Load& load);

}  // namespace kvplan
