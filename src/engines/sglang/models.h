// What SGLang decides by the model and the options: pools, pages, types, state slots.
// Source: configs/model_config.py, server_args.py, mem_cache/kv_cache_configurator.py (read).
#pragma once

#include "engines/engine.h"

namespace kvplan {

// Whether the GPU has compute capability 10.x.
bool sglang_on_blackwell(const Request& request);
// Whether the model runs with transformers' own class (models/transformers.py): keys and values in every layer, no
// towers, no tensor parallelism.
bool sglang_runs_library_class(const EngineInput& input);
// Whether prompts are never split into chunks.
bool sglang_prefills_whole(const EngineInput& input);
// Whether sliding-window layers have their own pool.
bool sglang_hybrid_windows(const EngineInput& input);
std::uint64_t sglang_page(const EngineInput& input, bool sparse);
CacheTypes sglang_types(const ModelShape& model, const Request& request);
// Ranks that split the attention; throws Error if the layout is impossible.
std::uint64_t sglang_attention_ranks(const Request& request);
TensorCuts sglang_cuts(const Request& request);
// State slots of a running request (_calculate_mamba_ratio); throws Error for an unknown strategy.
std::uint64_t sglang_slots(const EngineInput& input);
// Whether the prefixes of finished requests stay cached.
bool sglang_has_radix_cache(const EngineInput& input);
// Requests that a rank runs at once (max_running_requests); 0 if SGLang runs as many as fit.
std::uint64_t sglang_running(const EngineInput& input);
// Tokens verified in one step, the last accepted one included; 0 without speculative decoding.
std::uint64_t sglang_verified(const EngineInput& input);

}  // namespace kvplan
