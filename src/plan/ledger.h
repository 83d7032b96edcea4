// The ledger of a plan: what is on every GPU and in host memory.
#pragma once

#include <optional>
#include <vector>

#include "engines/engine.h"
#include "engines/term_sum.h"
#include "plan/answer.h"
#include "plan/extras.h"
#include "plan/occupancy.h"
#include "plan/rank_weights.h"

namespace kvplan {

// A request with its cache laid out and its weights counted: what every figure of its plan comes from.
struct Pieces {
  const Engine& engine;
  const EngineInput& input;
  const CacheLayout& layout;
  const RankWeights& weights;
  ExtraLines extras;
  std::vector<Note> notes;  // in the plan's order
  Template no_verdict;      // why the plan has no verdict; empty: it has one
};

// Every GPU, with the cache of each rank of a copy.
void fill_memory(const Pieces& pieces, const std::vector<RankCache>& ranks, Plan& plan);
void fill_cache(const TermSum& whole, const CacheLayout& layout, const Occupancy& occupancy,
                const std::vector<RankCache>& ranks, Plan& plan);
// One GPU of each stage, with these bytes of cache: all that a search needs.
void fill_stages(const Pieces& pieces, const std::vector<Bytes>& stages, Plan& plan);
std::vector<LedgerLine> host_lines(const Pieces& pieces, const Plan& plan);
// The memory left for the cache on the fullest GPU, or the budget that the user set.
std::optional<Bytes> cache_budget(const Pieces& pieces, const Plan& plan);
// One GPU of each stage for plan.load, and the cache's budget: all that a verdict needs.
Occupancy occupy_stages(const Pieces& pieces, Plan& plan);

}  // namespace kvplan
