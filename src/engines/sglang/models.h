// What SGLang does by the model and by its options: pools, pages, types, state slots.
// Source: configs/model_config.py, server_args.py, mem_cache/kv_cache_configurator.py (read).
#ifndef KVPLAN_ENGINES_SGLANG_MODELS_H_
#define KVPLAN_ENGINES_SGLANG_MODELS_H_

#include "engines/engine.h"

namespace kvplan {

inline constexpr std::uint64_t kSglangClassesSince = 23;  // executed; 0.5.8 has the lists of before

// The model runs with transformers' own class (models/transformers.py): keys and values of every layer, no towers, no
// tensor parallel ranks.
bool sglang_runs_library_class(const EngineInput& input);
// Prompts are never cut into chunks (is_multimodal_chunked_prefill_supported; arg_groups/model_hook.py for HRM, whose
// prompts attend both ways).
bool sglang_prefills_whole(const EngineInput& input);
// Sliding layers have a pool of their own.
bool sglang_hybrid_windows(const EngineInput& input);
// DeepSeek-V4's pools.
bool sglang_compressed(Arch arch);
std::uint64_t sglang_page(const EngineInput& input, bool sparse);
CacheTypes sglang_types(const ModelShape& model, const Request& request);
// Ranks that share out the attention; Error where the layout makes no sense.
std::uint64_t sglang_attention_ranks(const Request& request);
TensorCuts sglang_cuts(const Request& request);
// State slots of a running request (_calculate_mamba_ratio); Error for a strategy that SGLang does not have.
std::uint64_t sglang_slots(const EngineInput& input);
// Whether finished requests stay for their prefix.
bool sglang_has_radix_cache(const EngineInput& input);
inline constexpr std::uint64_t kExecuted = 23;  // what 0.5.8 has otherwise; the releases between were not executed
// Whether the release has what came with 0.5.`patch`.
bool sglang_since(const Request& request, std::uint64_t patch);
// Requests that a rank runs at once (max_running_requests); 0 where SGLang takes what fits.
std::uint64_t sglang_running(const EngineInput& input);
// Tokens that are verified at once, the last real one among them; 0 where nothing guesses.
std::uint64_t sglang_verified(const EngineInput& input);

}  // namespace kvplan

#endif  // KVPLAN_ENGINES_SGLANG_MODELS_H_
