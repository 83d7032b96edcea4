// What the cache layers of transformers store of each layer, by release.
#ifndef KVPLAN_ENGINES_TRANSFORMERS_STORED_H_
#define KVPLAN_ENGINES_TRANSFORMERS_STORED_H_

#include <string_view>
#include <vector>

#include "engines/engine.h"

namespace kvplan {

// The compressor's tokens that fill no window yet: an entry for each beyond the last whole window (LayerBuffer::wraps).
inline constexpr std::string_view kRest = "compressor rest";

// The caches with what is stored as their expanded form; the compact one stays what the architecture needs.
std::vector<LayerCache> stored_caches(const EngineInput& input, std::vector<LayerCache> caches);

// Whether K and V of every head are stored in place of a latent.
bool expands_latents(const EngineInput& input);

// Whether convolution states keep every column of their kernel; else one less, the past inputs alone.
bool keeps_all_columns(Arch arch);

// Why a term is not stored as the architecture needs it; "" where it is.
std::string_view stored_reason(const EngineInput& input, const LayerCache& cache, const Term& term);

}  // namespace kvplan

#endif  // KVPLAN_ENGINES_TRANSFORMERS_STORED_H_
