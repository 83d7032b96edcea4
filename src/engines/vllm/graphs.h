// The CUDA graphs of vLLM: which are captured, what they take, and what is kept free for them.
#ifndef KVPLAN_ENGINES_VLLM_GRAPHS_H_
#define KVPLAN_ENGINES_VLLM_GRAPHS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "engines/engine.h"
#include "engines/vllm/rules.h"

namespace kvplan {

// Batch sizes that are captured, and graphs: of each size one, or one that is piecewise and, where a step of decoding
// is so small, one of the whole step.
struct VllmGraphs {
  std::uint64_t sizes = 0, count = 0, whole = 0;
  std::uint64_t largest = 0, tokens = 0;  // of a size, and of all
};
VllmGraphs vllm_captured_graphs(const EngineInput& input, const VllmRules& rules);

// Tokens of the batches that graphs are captured for (VllmConfig._set_cudagraph_sizes), smallest first.
std::vector<std::uint64_t> vllm_graph_sizes(const EngineInput& input, const VllmRules& rules);

LedgerLine vllm_graphs_line(const EngineInput& input, const VllmRules& rules);

// What is kept free for graphs beyond what they take; before it was printed with the peak it was near what they take.
std::optional<LedgerLine> vllm_room_for_graphs(const EngineInput& input, const VllmRules& rules, Bytes taken);

// Whether graphs, as they are guessed from a few, come out of the budget.
bool vllm_estimates_graphs(const EngineInput& input, const VllmRules& rules);

}  // namespace kvplan

#endif  // KVPLAN_ENGINES_VLLM_GRAPHS_H_
