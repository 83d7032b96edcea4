#include "engines/parallel.h"

#include <numeric>
#include <string>

#include "kvplan/error.h"

namespace kvplan {

std::uint64_t local_units(const Term& term, std::uint64_t ranks, Uneven uneven) {
  const std::uint64_t units = term.shape.units;
  if (units % ranks == 0) return units / ranks;
  if (units < ranks && ranks % units == 0) return 1;
  if (uneven == Uneven::kRoundUp) return ceil_div(units, ranks);
  refuse("--tensor-parallel-size " + std::to_string(ranks) + " does not divide the " + std::to_string(units) +
             " heads or groups of \"" + std::string(term.name) + "\"",
         "use a number that divides them, or a multiple of theirs");
}

Bytes rank_entry(const Term& term, const CacheTypes& types, std::uint64_t ranks, Uneven uneven) {
  const std::uint64_t columns = term.shape.columns > 0 ? term.shape.columns - 1 : 0;
  return entry_bytes(term, types, local_units(term, ranks, uneven), columns);
}

void check_heads(std::string_view engine, const ModelShape& model, std::uint64_t ranks) {
  if (model.num_heads % ranks == 0) return;
  refuse("--tensor-parallel-size: " + std::string(engine) + " divides the " + std::to_string(model.num_heads) +
             " attention heads evenly, and " + std::to_string(ranks) + " ranks do not",
         "use a size that divides them");
}

std::vector<std::uint64_t> stage_layers(std::uint64_t num_layers, const Parallel& parallel, StageSplit split) {
  const std::uint64_t stages = parallel.pipeline;
  if (const std::vector<std::uint64_t>& given = parallel.layers; !given.empty()) {
    if (given.size() != stages || std::accumulate(given.begin(), given.end(), std::uint64_t{0}) != num_layers)
      refuse("--pp-layer-partition has to name " + std::to_string(stages) + " stages with " +
                 std::to_string(num_layers) + " layers in all",
             "name the layers of each stage of --pipeline-parallel-size");
    return given;
  }
  if (stages > num_layers)
    refuse("--pipeline-parallel-size " + std::to_string(stages) + " is more than the " + std::to_string(num_layers) +
               " layers",
           "use fewer stages");
  std::vector<std::uint64_t> out(stages, num_layers / stages);
  const std::uint64_t rest = num_layers % stages;
  for (std::uint64_t i = 0; i < rest; ++i) {
    // vLLM gives the remainder to stages from the second-to-last backwards, because the last stage has the head and the
    // first one the embedding.
    const std::uint64_t stage = split == StageSplit::kSpareLast ? stages - 2 - i : stages - 1 - i;
    ++out[stage];
  }
  return out;
}

std::string buffer_name(std::uint64_t layer, std::string_view part) {
  return "layer " + std::to_string(layer) + ", " + std::string(part);
}

std::vector<StageShare> stage_shares(std::uint64_t num_layers, const Parallel& parallel, StageSplit split) {
  std::vector<StageShare> out;
  std::uint64_t first = 0;
  for (const std::uint64_t layers : stage_layers(num_layers, parallel, split)) {
    out.push_back({first, layers, out.empty(), out.size() + 1 == parallel.pipeline});
    first += layers;
  }
  return out;
}

std::vector<LayerCache> caches_of_stage(const std::vector<LayerCache>& caches, std::uint64_t first,
                                        std::uint64_t count) {
  std::vector<LayerCache> out;
  for (const LayerCache& cache : caches)
    if (cache.layer >= first && cache.layer - first < count) out.push_back(cache);
  return out;
}

std::vector<std::vector<LayerCache>> split_stages(const EngineInput& input, StageSplit split) {
  std::vector<std::vector<LayerCache>> out;
  std::uint64_t first = 0;
  for (const std::uint64_t count : stage_layers(input.model.num_layers, input.request.parallel, split)) {
    out.push_back(caches_of_stage(input.caches, first, count));
    first += count;
  }
  return out;
}

}  // namespace kvplan
