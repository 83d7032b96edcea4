// The default fraction of a GPU that SGLang uses for weights and pools, by release, and what it keeps back
// from it. Source: server_args.py, arg_groups/memory_hook.py, kv_cache_configurator.py.
#pragma once

#include <cstdint>

#include "engines/engine.h"

namespace kvplan {

// Prefill chunk and largest captured batch, by the GPU or as given.
struct SglangSettings {
  std::uint64_t chunk = 0, batch = 0;
};
SglangSettings sglang_card_settings(const EngineInput& input);
// Number of captured batch sizes up to the largest.
std::uint64_t sglang_captured(const EngineInput& input, std::uint64_t largest);
// Number of captured sizes of the prefill; 0 if it is not captured.
std::uint64_t sglang_prefill_captured(const EngineInput& input);

// mem_fraction_static as given, or as SGLang picks it.
double sglang_share(const EngineInput& input);
// Whether it serves images or audio; a few classes do so only with an option.
bool sglang_multimodal(const EngineInput& input);
// Kept back from the budget for allocations after the pools are sized (mm_runtime_reservation_gb).
Bytes sglang_kept_back(const EngineInput& input);

}  // namespace kvplan
