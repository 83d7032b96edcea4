// Whether a plan fits: the engine's own rule, the GPU, and the limits that the user set.
#pragma once

#include "engines/engine.h"
#include "plan/answer.h"
#include "plan/occupancy.h"

namespace kvplan {

// What is in main memory although a GPU could store it, by the engine's placement or --cpu-offload-gb; empty: nothing.
Template on_cpu(const Engine& engine, const EngineInput& input);

// The fraction of a GPU that an engine without its own rule (cache_budget) uses, and the same in bytes of `memory`.
double usable_share(const Engine& engine, const EngineInput& input);
Bytes usable_memory(const Engine& engine, const EngineInput& input, Bytes memory);

// The whole memory if CPU and GPU share it; nothing for a separate GPU.
std::optional<Bytes> shared_memory(const Request& request);

// Fills plan.verdict from the plan's ledger, cache and capacity.
void judge(const EngineInput& input, const Engine& engine, const CacheLayout& layout, const Occupancy& occupancy,
           Plan& plan);
// Adds to the verdict how many sequences run at once and, where it is close, what to lower first.
void advise(const CacheLayout& layout, Plan& plan);

}  // namespace kvplan
