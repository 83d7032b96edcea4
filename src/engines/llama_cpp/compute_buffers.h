// The compute buffers of a context, as llama.cpp's own steps give them: the graph of a full micro-batch, dealt to the
// devices and placed.
#ifndef KVPLAN_ENGINES_LLAMA_CPP_COMPUTE_BUFFERS_H_
#define KVPLAN_ENGINES_LLAMA_CPP_COMPUTE_BUFFERS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "engines/engine.h"

namespace kvplan {

// Of each GPU in turn, and last of the host. `weight_bits` of a stored weight, where no file says more; absent: what
// was asked with before. Nothing where kvplan cannot build the model's graph.
std::optional<std::vector<std::uint64_t>> llama_compute_buffers(const EngineInput& input, const Load& load,
                                                                std::optional<double> weight_bits = {});

}  // namespace kvplan

#endif  // KVPLAN_ENGINES_LLAMA_CPP_COMPUTE_BUFFERS_H_
