// What transformers' cache stores for each layer, by release.
#pragma once

#include <string_view>
#include <vector>

#include "engines/engine.h"

namespace kvplan {

// The tokens in the compressor's unfinished window: one entry for each token after the last whole window
// (LayerBuffer::wraps).
inline constexpr std::string_view kRest = "compressor rest";

// Copies of the caches. Their expanded form is what transformers stores, their compact form what the architecture
// needs.
std::vector<LayerCache> stored_caches(const EngineInput& input, std::vector<LayerCache> caches);

// Whether transformers stores K and V of every head instead of a latent.
bool expands_latents(const EngineInput& input);

// Why transformers stores a term differently from what the architecture needs; "" if it does not.
std::string_view stored_reason(const EngineInput& input, const LayerCache& cache, const Term& term);

}  // namespace kvplan
