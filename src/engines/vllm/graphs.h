// vLLM's CUDA graphs: which are captured, what they take, and what is kept free for them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engines/engine.h"
#include "engines/vllm/rules.h"

namespace kvplan {

// Captured batch sizes, and graphs: one for each size, or a piecewise one and, for sizes of decoding steps, one of the
// whole step.
struct VllmGraphs {
  std::uint64_t sizes = 0, count = 0, whole = 0;
  std::uint64_t largest = 0, tokens = 0;  // tokens of the largest size, and of all sizes
  std::uint64_t largest_whole = 0;        // tokens of the largest whole step
};
VllmGraphs vllm_captured_graphs(const EngineInput& input, const VllmRules& rules);

// Tokens of the batches that are captured (VllmConfig._set_cudagraph_sizes), smallest first.
std::vector<std::uint64_t> vllm_graph_sizes(const EngineInput& input, const VllmRules& rules);

// Whether whole decoding steps are captured, after vLLM's own downgrades of the graph mode.
bool vllm_captures_whole_steps(const EngineInput& input, const VllmRules& rules);

// Tokens of the largest graph that the class or the GPU allows.
std::uint64_t vllm_largest_graph(const EngineInput& input, const VllmRules& rules);

LedgerLine vllm_graphs_line(const EngineInput& input, const VllmRules& rules);

// Memory kept free for graphs beyond what they take. Absent in releases before the estimate was printed with the peak:
// it was close to what they take.
std::optional<LedgerLine> vllm_room_for_graphs(const EngineInput& input, const VllmRules& rules, Bytes taken);

// Whether graphs, as estimated from a few, are subtracted from the budget.
bool vllm_estimates_graphs(const EngineInput& input, const VllmRules& rules);

}  // namespace kvplan
