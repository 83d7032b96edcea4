// What transformers' cache stores for each layer, by release.
#pragma once

#include <string_view>
#include <vector>

#include "engines/engine.h"

namespace kvplan {

// The compressor's tokens in an unfinished window: one entry for each after the last whole window (LayerBuffer::wraps).
inline constexpr std::string_view kRest = "compressor rest";

// The caches with what transformers stores as their expanded form; the compact form stays what the architecture needs.
std::vector<LayerCache> stored_caches(const EngineInput& input, std::vector<LayerCache> caches);

// Whether K and V of every head are stored instead of a latent.
bool expands_latents(const EngineInput& input);

// Why a term is stored differently from what the architecture needs; "" if it is not.
std::string_view stored_reason(const EngineInput& input, const LayerCache& cache, const Term& term);

}  // namespace kvplan
