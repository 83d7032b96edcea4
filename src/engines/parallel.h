// How tensor and pipeline parallelism share a cache out, as far as engines agree.
#ifndef KVPLAN_ENGINES_PARALLEL_H_
#define KVPLAN_ENGINES_PARALLEL_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "engines/engine.h"

namespace kvplan {

// What becomes of units that ranks do not share out evenly: an Error(kBadInput), or the fullest rank's.
enum class Uneven : std::uint8_t { kRefuse, kRoundUp };

// Units of a term on one of `ranks` ranks: units / ranks, or one (repeated) where there are fewer units than ranks.
std::uint64_t local_units(const Term& term, std::uint64_t ranks, Uneven uneven = Uneven::kRefuse);

// Error(kBadInput) where an engine that cuts attention by heads finds no whole number of them for each of `ranks`.
void check_heads(std::string_view engine, const ModelShape& model, std::uint64_t ranks);

// "layer 3, key": what a layer's own tensor is called.
std::string buffer_name(std::uint64_t layer, std::string_view part);

// Layers of each stage; adds up to num_layers. Even, with the remainder laid out by the engine.
enum class StageSplit {
  kSpareLast,  // vLLM: one each to the stages before the last, from the second-last backwards
  kLastFirst,  // SGLang: one each to the last stages
};
std::vector<std::uint64_t> stage_layers(std::uint64_t num_layers, std::uint64_t stages, StageSplit split);

// The same as shares of weights: the embedding on the first stage, the head on the last.
std::vector<StageShare> stage_shares(std::uint64_t num_layers, std::uint64_t stages, StageSplit split);

// The entries of `caches` whose layer lies in [first, first + count).
std::vector<LayerCache> caches_of_stage(const std::vector<LayerCache>& caches, std::uint64_t first,
                                        std::uint64_t count);

// A pipeline stage's share of `caches`, for each stage.
std::vector<std::vector<LayerCache>> split_stages(const EngineInput& input, StageSplit split);

}  // namespace kvplan

#endif  // KVPLAN_ENGINES_PARALLEL_H_
