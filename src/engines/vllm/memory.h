// What vLLM allocates besides weights and cache: the activation peak of its profile run, memory outside of PyTorch,
// CUDA graphs.
#pragma once

#include <vector>

#include "engines/engine.h"
#include "engines/vllm/rules.h"

namespace kvplan {

std::vector<LedgerLine> vllm_overhead(const OverheadInput& input);

// Whether the new runner serves the request (VllmConfig.use_v2_model_runner).
bool vllm_has_new_runner(const EngineInput& input, const VllmRules& rules);
// Bytes that one token of a batch takes in a layer.
std::uint64_t vllm_layer_row(const EngineInput& input);

// Caches in host memory, for one data parallel copy: the offloaded cache of all ranks, V0's swap space of each.
std::vector<LedgerLine> vllm_host_caches(const Request& request, const VllmRules& rules);

// The part of a GPU's memory left for the cache after `others`: weights, activations and runtime. Until 0.20 graphs,
// which are part of `others`, were taken from what the utilization leaves free.
Bytes vllm_cache_budget(const EngineInput& input, Bytes gpu_memory, Bytes others, Bytes graphs);

}  // namespace kvplan
