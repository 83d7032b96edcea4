
#include <algorithm>
#include <utility>

#include "engines/estimates.h"
#include "kvplan/quantity.h"
#include "kvplan/ranges.h"
#include "plan/calibrate.h"
#include "plan/steps.h"

namespace kvplan {

static void add_line(GpuMemory& gpu, LedgerLine line, const std::optional<double>& margin) {
  if (line.low != line.high && line.basis == Basis::kExact) line.basis = Basis::kEstimate;
  apply_margin(line, margin);
  std::optional<Bytes>& part = line.part == Section::kWeights      ? gpu.weights
                               : line.part == Section::kKvCache    ? gpu.kv_cache
                               : line.part == Section::kActivation ? gpu.activation
                                                                   : gpu.runtime;
  part = part.value_or(Bytes(0)) + line.bytes;
  gpu.total += line.bytes;
  gpu.lines.push_back(std::move(line));
}

// One GPU of a stage: its rank's cache, and everything else that the engine stores there.
static GpuMemory memory_of(const Pieces& pieces, std::size_t stage, const std::vector<LedgerLine>& cache, Plan& plan) {
  const auto& [engine, input, layout, weights, extras, notes, no_verdict] = pieces;
  const std::optional<double> margin = plan.request.margin;
  GpuMemory gpu;
  gpu.kv_cache = Bytes(0);
  if (weights.is_known && stage < weights.lines.size()) {
    gpu.weights = Bytes(0);
    std::vector<LedgerLine> lines = weights.lines[stage];
    calibrate_weights(pieces, plan.load, lines, plan.calibrated);
    for (LedgerLine& line : lines) add_line(gpu, std::move(line), margin);
  }
  if (stage < extras.stages.size())
    for (const LedgerLine& line : extras.stages[stage]) add_line(gpu, line, margin);
  // If the weights are unknown, extras do not make them known.
  if (!weights.is_known) gpu.weights.reset();
  for (const LedgerLine& line : cache) add_line(gpu, line, margin);
  const OverheadInput overhead{&input,      plan.load, stage, gpu.weights.value_or(Bytes(0)), input.request.card.memory,
                               weights.bits};
  std::vector<LedgerLine> lines = engine.overhead(overhead);
  if (plan.request.attention == AttentionKernel::kNaive && !engine.has_scores)
    if (auto scores = general_score_matrix(overhead)) lines.push_back(std::move(*scores));
  calibrate(input, lines, plan.calibrated);
  for (LedgerLine& line : lines) add_line(gpu, std::move(line), margin);
  return gpu;
}

// Caches that are not in the cache's pool: an encoder's outputs.
static Bytes outside_cache(const GpuMemory& gpu) {
  Bytes out;
  for (const LedgerLine& line : gpu.lines)
    if (line.id == LineId::kEncoderCache) out += line.bytes;
  return out;
}

void fill_memory(const Pieces& pieces, const std::vector<RankCache>& ranks, Plan& plan) {
  plan.memory.clear();
  const std::uint64_t per_stage = ranks.size() / plan.request.parallel.pipeline;
  // One entry per copy. With data parallel attention the copies share the experts and the MLPs, and each copy has some
  // of the ranks.
  const std::uint64_t copies = plan.request.parallel.data;
  for (std::uint64_t copy = 0; copy < copies; ++copy) {
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      const std::size_t stage = per_stage == 0 ? 0 : r / per_stage;
      plan.memory.push_back(memory_of(pieces, stage, ranks[r].lines, plan));
      plan.memory.back().gpu = plan.memory.size() - 1;
    }
  }
  for (const GpuMemory& gpu : plan.memory) {
    // An estimate that is wrong on one rank is equally wrong on the others.
    const Range range = range_of(gpu.lines);
    plan.total.bytes += gpu.total;
    plan.total.low += range.low;
    plan.total.high += range.high;
  }
}

void fill_cache(const TermSum& whole, const CacheLayout& layout, const Occupancy& occupancy,
                const std::vector<RankCache>& ranks, Plan& plan) {
  KvCachePlan& kv = plan.kv_cache;
  kv.bytes_per_token = whole.per_token();
  kv.bytes_per_token_in_window = whole.per_token_in_window();
  kv.bytes_per_sequence = whole.per_sequence();
  Load all = plan.load;
  all.num_seqs = plan.request.sequences();
  if (occupancy.is_stated())
    for (const Load& part : occupancy.parts()) kv.logical += whole.bytes(part) * plan.request.parallel.data;
  else
    kv.logical = whole.bytes(all);
  const RankCache* fullest = &ranks.front();
  for (const RankCache& rank : ranks) {
    if (rank.reserved > fullest->reserved) fullest = &rank;
    kv.reserved_total += rank.reserved;
  }
  kv.reserved_total = kv.reserved_total * plan.request.parallel.data;
  kv.reserved = fullest->reserved;
  kv.logical_per_gpu = fullest->logical;
  kv.gap = fullest->gap;
  kv.block_size = layout.block_size();
  kv.groups = layout.groups();
}

std::optional<Bytes> cache_budget(const Pieces& pieces, const Plan& plan) {
  const EngineInput& input = pieces.input;
  const Engine& engine = pieces.engine;
  if (plan.request.kv_cache_memory_bytes) return plan.request.kv_cache_memory_bytes;
  const std::optional<Bytes>& memory = input.request.card.memory;
  if (!memory) return std::nullopt;
  if (engine.cache_budget != nullptr) {
    const GpuMemory* fullest = &plan.memory.front();
    for (const GpuMemory& gpu : plan.memory)
      if (gpu.weights.value_or(Bytes(0)) > fullest->weights.value_or(Bytes(0))) fullest = &gpu;
    Bytes graphs;
    for (const LedgerLine& line : fullest->lines)
      if (line.id == LineId::kGraphs) graphs += line.bytes;
    return engine.cache_budget({&input, *memory, fullest->weights.value_or(Bytes(0)),
                                fullest->activation.value_or(Bytes(0)) + outside_cache(*fullest),
                                fullest->runtime.value_or(Bytes(0)), graphs});
  }
  std::optional<Bytes> least;
  for (std::size_t i = 0; i < plan.memory.size(); ++i) {
    const GpuMemory& gpu = plan.memory[i];
    const Bytes usable = usable_memory(engine, input, plan.card_of(i, *memory));
    const Bytes beside = gpu.total - gpu.kv_cache.value_or(Bytes(0)) + outside_cache(gpu);
    const Bytes left = usable > beside ? usable - beside : Bytes(0);
    least = std::min(least.value_or(left), left);
  }
  return least;
}

void fill_stages(const Pieces& pieces, const std::vector<Bytes>& stages, Plan& plan) {
  plan.memory.clear();
  plan.kv_cache.reserved = Bytes(0);
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    const std::vector<LedgerLine> cached{exact_line(Section::kKvCache, "", stages[stage], "", "")};
    plan.kv_cache.reserved = std::max(plan.kv_cache.reserved, stages[stage]);
    plan.memory.push_back(memory_of(pieces, stage, cached, plan));
  }
}

std::vector<LedgerLine> host_lines(const Pieces& pieces, const Plan& plan) {
  std::vector<LedgerLine> out;
  const auto add = [&](const std::vector<LedgerLine>& lines, std::uint64_t copies) {
    for (LedgerLine line : lines) {
      line.bytes = line.bytes * copies;
      line.low = line.low * copies;
      line.high = line.high * copies;
      apply_margin(line, plan.request.margin);
      out.push_back(std::move(line));
    }
  };
  const auto budget = plan.capacity ? std::optional(plan.capacity->kv_cache_memory) : std::nullopt;
  add(pieces.layout.host(plan.load), plan.request.parallel.data);
  if (const auto cache = pieces.layout.host_cache(budget, plan.load)) add({cache->line}, plan.request.parallel.data);
  add(pieces.weights.host, layout_copies(plan.request));
  add(pieces.extras.host, layout_copies(plan.request));
  return out;
}

Occupancy occupy_stages(const Pieces& pieces, Plan& plan) {
  Occupancy occupancy(pieces.input, pieces.layout, plan.load);
  std::vector<Bytes> held = occupancy.held_by_stage(plan.request.parallel.pipeline);
  fill_stages(pieces, held, plan);
  // On a separate GPU the verdict does not depend on host memory, unless the request limits host memory too.
  const bool judges_host = shared_memory(plan.request) || plan.request.card.host_memory || !plan.verdict.on_cpu.empty();
  plan.capacity.reset();
  if (judges_host) plan.host = host_lines(pieces, plan);
  if (const auto budget = cache_budget(pieces, plan)) {
    plan.capacity.emplace().kv_cache_memory = *budget;
    if (const double share = occupancy.cut(*budget); share < 1) {
      for (Bytes& each : held) each = Bytes(checked_scale(each.count(), share, "the cache"));
      fill_stages(pieces, held, plan);
    }
    if (judges_host && pieces.layout.host_cache(*budget, plan.load)) plan.host = host_lines(pieces, plan);
  }
  return occupancy;
}

}  // namespace kvplan
