// What vLLM takes beside weights and cache: the activation peak of its profile run, memory outside PyTorch, CUDA
// graphs.
#ifndef KVPLAN_ENGINES_VLLM_MEMORY_H_
#define KVPLAN_ENGINES_VLLM_MEMORY_H_

#include <vector>

#include "engines/engine.h"

namespace kvplan {

std::vector<LedgerLine> vllm_overhead(const OverheadInput& input);

}  // namespace kvplan

#endif  // KVPLAN_ENGINES_VLLM_MEMORY_H_
