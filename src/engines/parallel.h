// How tensor and pipeline parallelism divide a cache, in all engines.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "engines/engine.h"

namespace kvplan {

// What to do if ranks do not divide the units: throw Error(kBadInput), or plan the fullest rank.
enum class Uneven : std::uint8_t { kRefuse, kRoundUp };

// Units of a term on one of `ranks` ranks: units / ranks, or one (replicated) if there are fewer units than ranks.
std::uint64_t local_units(const Term& term, std::uint64_t ranks, Uneven uneven = Uneven::kRefuse);

// Bytes of an entry of the term on one of `ranks` ranks. A convolution has columns - 1 past inputs.
Bytes rank_entry(const Term& term, const CacheTypes& types, std::uint64_t ranks, Uneven uneven = Uneven::kRefuse);

// Throws Error(kBadInput) if the engine splits attention by heads and their number is not divisible by `ranks`.
void check_heads(std::string_view engine, const ModelShape& model, std::uint64_t ranks);

// "layer 3, key": the name of a layer's tensor.
std::string buffer_name(std::uint64_t layer, std::string_view part);

// The number of layers of each stage, adding up to num_layers. Unless the request names them, all stages have the same
// number, and the engine decides which stages get the remainder.
enum class StageSplit {
  kSpareLast,  // vLLM: one more for stages from the second-to-last backwards
  kLastFirst,  // SGLang: one more for the last stages
};
std::vector<std::uint64_t> stage_layers(std::uint64_t num_layers, const Parallel& parallel, StageSplit split);

// The layers of each stage with their weights. The embedding is on the first stage and the head on the last.
std::vector<StageShare> stage_shares(std::uint64_t num_layers, const Parallel& parallel, StageSplit split);

// The entries of `caches` whose layers are in [first, first + count).
std::vector<LayerCache> caches_of_stage(const std::vector<LayerCache>& caches, std::uint64_t first,
                                        std::uint64_t count);

// A pipeline stage's part of `caches`, for each stage.
std::vector<std::vector<LayerCache>> split_stages(const EngineInput& input, StageSplit split);

}  // namespace kvplan
