// The share of a card that SGLang gives to weights and pools where nobody names one, by its release, and what is kept
// back of it. Source: server_args.py, arg_groups/memory_hook.py, kv_cache_configurator.py.
#ifndef KVPLAN_ENGINES_SGLANG_SHARE_H_
#define KVPLAN_ENGINES_SGLANG_SHARE_H_

#include <cstdint>

#include "engines/engine.h"

namespace kvplan {

// Whether the release goes by the card: since 0.4.9. Plain "0.4" is what most of its releases did, by the ranks alone.
bool sglang_sizes_by_card(const Request& request);

// Prefill chunk and the largest captured batch, as the card or the user has them.
struct SglangSettings {
  std::uint64_t chunk = 0, batch = 0;
};
SglangSettings sglang_card_settings(const EngineInput& input);
// The captured batch sizes up to the largest.
std::uint64_t sglang_captured(const EngineInput& input, std::uint64_t largest);
// Sizes of the prefill that are captured; 0 where they are not.
std::uint64_t sglang_prefill_captured(const EngineInput& input);

// mem_fraction_static as it is named, or as SGLang picks it.
double sglang_share(const EngineInput& input);
// Whether it serves images or sounds; a few classes do so only when told.
bool sglang_multimodal(const EngineInput& input);
// Of the budget, for what is allocated after the pools are sized (mm_runtime_reservation_gb).
Bytes sglang_kept_back(const EngineInput& input);

}  // namespace kvplan

#endif  // KVPLAN_ENGINES_SGLANG_SHARE_H_
