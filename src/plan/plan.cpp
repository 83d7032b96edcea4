#include "plan/plan.h"

#include <algorithm>
#include <cmath>

#include "engines/capacity.h"
#include "engines/estimates.h"
#include "engines/term_sum.h"
#include "kvplan/error.h"
#include "kvplan/format_bytes.h"
#include "kvplan/gpus.h"
#include "kvplan/numbers.h"
#include "kvplan/ranges.h"
#include "plan/extras.h"
#include "plan/facts.h"
#include "plan/layouts.h"
#include "plan/margins.h"
#include "plan/mix.h"
#include "plan/occupancy.h"
#include "plan/offload.h"
#include "plan/plan_cache.h"
#include "plan/roofline.h"
#include "plan/search.h"
#include "plan/verdict.h"
#include "weights/types.h"

namespace kvplan {

namespace {

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

void add_line(GpuMemory& gpu, LedgerLine line, const std::optional<double>& margin) {
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

// One GPU of a stage: its rank's cache, and everything else that the engine puts there.
GpuMemory memory_of(const Pieces& pieces, std::size_t stage, const std::vector<LedgerLine>& cache, Plan& plan) {
  const auto& [engine, input, layout, weights, extras, notes, no_verdict] = pieces;
  const std::optional<double> margin = plan.request.margin;
  GpuMemory gpu;
  gpu.kv_cache = Bytes(0);
  if (weights.is_known && stage < weights.lines.size()) {
    gpu.weights = Bytes(0);
    for (const LedgerLine& line : weights.lines[stage]) add_line(gpu, line, margin);
  }
  if (stage < extras.stages.size())
    for (const LedgerLine& line : extras.stages[stage]) add_line(gpu, line, margin);
  // Extras alone do not make the weights known.
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

// The ledger of every GPU.
void fill_memory(const Pieces& pieces, const std::vector<RankCache>& ranks, Plan& plan) {
  plan.memory.clear();
  const std::uint64_t per_stage = ranks.size() / plan.request.parallel.pipeline;
  // One for each copy; with data parallel attention the copies share the experts and the MLPs, and each has some of the
  // ranks.
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

// Caches outside of the cache's pool: an encoder's outputs.
Bytes outside_cache(const GpuMemory& gpu) {
  Bytes out;
  for (const LedgerLine& line : gpu.lines)
    if (line.id == LineId::kEncoderCache) out += line.bytes;
  return out;
}

// The memory left for the cache on the fullest GPU, or the budget that the user set.
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

// One GPU of each stage, with these bytes of cache: all that a search needs.
void fill_stages(const Pieces& pieces, const std::vector<Bytes>& stages, Plan& plan) {
  plan.memory.clear();
  plan.kv_cache.reserved = Bytes(0);
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    const std::vector<LedgerLine> cached{exact_line(Section::kKvCache, "", stages[stage], "", "")};
    plan.kv_cache.reserved = std::max(plan.kv_cache.reserved, stages[stage]);
    plan.memory.push_back(memory_of(pieces, stage, cached, plan));
  }
}

// The same with a share of the cache's bytes.
void cut_stages(const Pieces& pieces, std::vector<Bytes> stages, double share, Plan& plan) {
  if (share >= 1) return;
  for (Bytes& held : stages) held = Bytes(checked_scale(held.count(), share, "the cache"));
  fill_stages(pieces, stages, plan);
}

// What fits in one copy of the engine, as requests (each with its beams or samples) over all copies.
std::uint64_t in_requests(std::uint64_t sequences, const Request& request) {
  return checked_mul(sequences, request.parallel.data, "the sequences of all copies") / request.extras.copies();
}

// The largest n up to kAnyCount that fits, from a guess that may be too low or too high.
template <class Fits>
std::uint64_t largest_near(std::uint64_t guess, const Fits& fits) {
  std::uint64_t low = 0;
  std::uint64_t high = guess + 1;  // does not fit, once established
  if (guess > 0 && !fits(guess))
    high = guess;
  else
    for (low = guess; low < kAnyCount && fits(high); high *= 2) low = high;
  if (low >= kAnyCount) return kAnyCount;
  return last_good(low, high, fits);
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
  add(pieces.layout.host(plan.load), plan.request.parallel.data);
  add(pieces.weights.host, layout_copies(plan.request));
  add(pieces.extras.host, layout_copies(plan.request));
  return out;
}

// One GPU of each stage for plan.load, and the cache's budget: all that a verdict needs.
Occupancy occupy_stages(const Pieces& pieces, Plan& plan) {
  Occupancy occupancy(pieces.input, pieces.layout, plan.load);
  const std::vector<Bytes> held = occupancy.held_by_stage(plan.request.parallel.pipeline);
  fill_stages(pieces, held, plan);
  // A separate card's plan does not depend on host memory, unless that is judged too.
  if (shared_memory(plan.request) || plan.request.card.host_memory) plan.host = host_lines(pieces, plan);
  plan.capacity.reset();
  if (const auto budget = cache_budget(pieces, plan)) {
    plan.capacity.emplace().kv_cache_memory = *budget;
    cut_stages(pieces, held, occupancy.cut(*budget), plan);
  }
  return occupancy;
}

// The budget is what the request leaves. The parts beside the cache may grow with the load (scores, compute buffers,
// logits): a longer load is therefore laid out with its own, and judged as its plan would be.
void fill_capacity(const Pieces& pieces, Plan& plan) {
  const EngineInput& input = pieces.input;
  const Engine& engine = pieces.engine;
  const CacheLayout& layout = pieces.layout;
  const auto budget = cache_budget(pieces, plan);
  if (!budget) return;
  Capacity capacity = layout.capacity(*budget, plan.load);
  capacity.kv_cache_memory = *budget;
  if (const auto range = budget_range(input, engine, plan, *budget)) {
    capacity.kv_cache_memory_low = range->low;
    capacity.kv_cache_memory_high = range->high;
    if (capacity.tokens && range->low < range->high) {
      capacity.tokens_low = layout.capacity(range->low, plan.load).tokens;
      capacity.tokens_high = layout.capacity(range->high, plan.load).tokens;
    }
  }
  Load one = plan.load;
  one.num_seqs = 1;
  if (capacity.max_model_len == 0) capacity.max_model_len = longest_sequence(layout, *budget, plan.load);
  if (capacity.max_num_seqs == 0 && layout.shortfall(*budget, one).empty())
    capacity.max_num_seqs = most_sequences(layout, *budget, plan.load);
  const std::optional<Bytes>& memory = input.request.card.memory;
  const bool by_card = memory && !plan.request.kv_cache_memory_bytes;
  // Stated lengths, a shared prefix, --max-vram and --host-memory count as they do in the verdict.
  const std::uint64_t stated = longest_stated(plan.request);
  if (by_card || stated > 0 || plan.request.limits.max_vram || plan.request.card.host_memory) {
    Plan other;
    other.request = plan.request;
    other.request.parallel.data = 1;       // each copy is like the first
    other.request.limits.reserve.reset();  // what fits keeps nothing free
    const auto fits = [&](const Load& load) {
      try {
        other.load = load;
        other.calibrated.clear();
        other.verdict = {};
        judge(input, engine, layout, occupy_stages(pieces, other), other);
        return other.verdict.headroom.value_or(0) >= 0;
      } catch (const Error& error) {
        take_as_misfit(error);
        return false;  // an overflow exceeds any memory
      }
    };
    capacity.max_model_len = largest_near(capacity.max_model_len, [&](std::uint64_t tokens) {
      Load load = plan.load;
      load.max_model_len = Tokens(std::max(tokens, stated));
      // Where lengths are stated the context only bounds them: it ends at the model's own.
      const bool has_lengths = plan.request.avg_len || !plan.request.seq_lens.empty();
      const bool within = !has_lengths || longest_context(tokens, input.model.max_model_len, engine) == tokens;
      return within && fits(load);
    });
    if (plan.request.seq_lens.empty())
      capacity.max_num_seqs = largest_near(capacity.max_num_seqs, [&](std::uint64_t sequences) {
        Load load = plan.load;
        load.num_seqs = sequences;
        return fits(load);
      });
  }
  if (!plan.request.card.mixed.empty()) {  // tokens of one card's budget say nothing about the others
    capacity.tokens.reset();
    capacity.max_concurrency =
        static_cast<double>(capacity.max_model_len) / static_cast<double>(plan.load.max_model_len.count());
  }
  if (const std::uint64_t most = engine.most_sequences; most > 0 && capacity.max_num_seqs > most) {
    plan.notes.push_back({NoteLevel::kInfo,
                          "most_sequences",
                          {"the memory would hold more sequences; {engine} takes {most} at most",
                           {{"engine", engine.name}, {"most", most}}}});
    capacity.max_num_seqs = most;
    if (!capacity.tokens) capacity.max_concurrency = std::min(capacity.max_concurrency, static_cast<double>(most));
  }
  capacity.max_model_len_by_memory = capacity.max_model_len;
  capacity.max_model_len = longest_context(capacity.max_model_len_by_memory, input.model.max_model_len, engine);
  if (capacity.max_model_len < stated) capacity.max_model_len = 0;
  if (capacity.max_num_seqs < kAnyCount) capacity.max_num_seqs = in_requests(capacity.max_num_seqs, plan.request);
  plan.capacity = capacity;
}

// Every GPU has its rows of the ledger: this many are 5 MB of JSON, and compare has fifteen such plans.
void check_gpus(const Request& request) {
  const std::uint64_t gpus = request.parallel.gpus();
  if (gpus > kMostGpusOfPlan)
    refuse("the layout has " + std::to_string(gpus) + " GPUs, and a plan holds " + std::to_string(kMostGpusOfPlan),
           "use smaller -tp, -pp or -dp");
}

// A plan adds up all its GPUs and refuses a total that 64 bits do not hold. A verdict sees only one GPU of each stage
// and must refuse the same.
void check_total(const Plan& plan) {
  const std::uint64_t copies =
      checked_mul(plan.request.parallel.tensor, plan.request.parallel.data, "the number of GPUs");
  Bytes all;
  for (const GpuMemory& gpu : plan.memory)
    for (const LedgerLine& line : gpu.lines) all += line.high * copies;
}

// The card, the share of it that the engine may use, and the memory it holds after the start if it allocates its cache
// then.
void fill_card(const EngineInput& input, const Engine& engine, Plan& plan) {
  plan.card = input.request.card.memory;
  if (plan.card) plan.card = plan.card_of(static_cast<std::size_t>(&plan.fullest() - plan.memory.data()), *plan.card);
  plan.usable_share = plan.card ? usable_share(engine, input) : plan.request.memory_utilization;
  if (plan.capacity && engine.cache_budget != nullptr)
    plan.taken_at_start = plan.fullest().total - plan.kv_cache.reserved + plan.capacity->kv_cache_memory;
}

Pieces pieces_of(PlanCache& cache, const Request& request, const PlanCache::LaidOut& laid_out) {
  check_extras(cache.model(request), request);
  const PlanCache::Weighed& weighed = cache.weighed(request);
  Pieces out{engine_of(request), laid_out.input, *laid_out.layout, weighed.weights, {}, laid_out.notes, {}};
  out.notes.insert(out.notes.end(), weighed.notes.begin(), weighed.notes.end());
  out.extras = extra_lines(cache.model(request), laid_out.input, out.notes);
  const Doubts& doubts = laid_out.doubts;
  out.notes.insert(out.notes.end(), doubts.notes.begin(), doubts.notes.end());
  out.no_verdict = doubts.no_verdict;
  return out;
}

// What a search needs, and the first step of a plan: one GPU of each stage, the cache's budget and the verdict.
Plan judged(const ModelSpec& model, const Request& request, const Pieces& pieces) {
  Plan plan;
  plan.request = request;
  plan.load = load_of(model, request);
  check_lengths(request, plan.load);
  const Occupancy occupancy = occupy_stages(pieces, plan);
  check_total(plan);
  // The verdict depends on the budget; on how much fits in it only where a minimum was asked for.
  if (request.limits.min_context || request.limits.min_seqs) fill_capacity(pieces, plan);
  plan.verdict.no_verdict = pieces.no_verdict;
  judge(pieces.input, pieces.engine, pieces.layout, occupancy, plan);
  return plan;
}

Plan plan_layout(PlanCache& cache, const Request& request) {
  const ModelSpec& model = cache.model(request);
  check_gpus(request);
  const PlanCache::LaidOut& laid_out = cache.laid_out(request);
  const Pieces pieces = pieces_of(cache, request, laid_out);
  const auto& [engine, input, layout, weights, extras, notes, no_verdict] = pieces;
  Plan plan = judged(model, request, pieces);
  std::vector<Note> of_capacity = std::move(plan.notes);
  plan.notes = model.notes;
  const auto note_all = [&](const std::vector<Note>& more) {
    plan.notes.insert(plan.notes.end(), more.begin(), more.end());
  };
  for (const AdapterFile& adapter : request.extras.adapters) note_all(adapter.notes);
  note_all(notes);
  note_all(of_capacity);
  plan.model = cache.facts(request);
  if (const auto longest = longest_of(model.max_model_len, engine_of(request));
      longest && *longest != plan.model->max_model_len) {
    ModelFacts assumed = *plan.model;
    assumed.max_model_len = *longest;
    plan.model = std::make_shared<const ModelFacts>(std::move(assumed));
  }
  plan.engine = engine.name;
  plan.is_logical = engine.is_logical;
  plan.engine_version =
      request.engine_version.empty() ? std::string(engine.versions.back().version) : request.engine_version;
  plan.types = input.types;
  plan.draft_method = input.draft_method;
  if (request.extras.draft != nullptr) plan.draft_source = request.extras.draft->source;
  if (engine.settings != nullptr) plan.settings = engine.settings(input, plan.load);
  plan.attention = cache.attention();
  plan.layers = layer_facts(cache.groups(), plan.types, plan.load);
  const Occupancy occupancy(input, layout, plan.load);
  const std::vector<RankCache> ranks =
      occupancy.explain(plan.capacity ? occupancy.cut(plan.capacity->kv_cache_memory) : 1);
  if (!laid_out.whole) laid_out.whole = TermSum(input.caches, input.types, 1);
  fill_cache(*laid_out.whole, layout, occupancy, ranks, plan);
  plan.weights_dtype = weights.type;
  if (const WeightType* type = find_weight_type(weights.type))
    plan.weights_loss = type->scope == Scope::kEverything ? "none" : type->quality;
  fill_memory(pieces, ranks, plan);
  plan.host = host_lines(pieces, plan);
  if (!request.limits.min_context && !request.limits.min_seqs) fill_capacity(pieces, plan);
  fill_card(input, engine, plan);
  advise(layout, plan);
  plan.mix = mix_of(input, layout, plan.load);
  const bool writes = !is_encoder(input) && !model.embeds;
  if (writes) plan.roofline = roofline_of(model, cache.groups(), plan, weights);

  if (request.card.gpu && !runs_on(engine, *request.card.gpu))
    plan.notes.push_back({NoteLevel::kWarning,
                          "unsupported_card",
                          {"{engine} does not list {card} among the cards it runs on",
                           {{"engine", engine.name}, {"card", request.card.gpu->name}}}});
  if (auto memory = find_figure(request, kUsableFigure); memory && request.card.gpu && !request.card.memory) {
    memory->what = "memory of the card";
    plan.calibrated.push_back(std::move(*memory));
  }
  if (auto speed = find_figure(request, kBandwidthFigure); speed && plan.roofline && !request.card.bandwidth) {
    speed->what = "bandwidth of the card, bytes a second";
    plan.calibrated.push_back(std::move(*speed));
  }
  if (request.calibration && request.calibration->named && plan.calibrated.empty())
    plan.notes.push_back({NoteLevel::kWarning, "calibration_unused",
                          "the calibration holds nothing for this card, engine and model: nothing was changed by it"});
  if (Template stands_for = unknown_release(engine, request); !stands_for.empty())
    plan.notes.push_back({NoteLevel::kInfo, "unknown_release", std::move(stands_for)});
  if (!request.card.note.empty())
    plan.notes.push_back({NoteLevel::kInfo, "detected_cards", Template::quoted(request.card.note)});
  if (model.max_model_len > Tokens(0) && plan.load.max_model_len > model.max_model_len)
    plan.notes.push_back({NoteLevel::kWarning,
                          "beyond_maximum",
                          {"{asked} tokens are beyond the model's maximum of {max_model_len}",
                           {{"asked", plan.load.max_model_len}, {"max_model_len", model.max_model_len}}}});
  if (model.max_model_len == Tokens(0) && !request.max_model_len && !request.llama_cpp.ctx_size)
    plan.notes.push_back(
        {NoteLevel::kInfo, "default_context",
         engine.assumed_length > Tokens(0)
             ? Template{"the config names no maximum length: planned for {tokens} tokens, as {engine} assumes",
                        {{"tokens", plan.load.max_model_len}, {"engine", engine.name}}}
             : Template{"the config names no maximum length: planned for {tokens} tokens",
                        {{"tokens", plan.load.max_model_len}}}});
  return plan;
}

}  // namespace

Plan make_plan(const ModelSpec& model, const Request& request) {
  PlanCache cache(model);
  return make_plan(cache, request);
}

std::vector<GpuMemory> stages_of(PlanCache& cache, const Request& request) {
  check_gpus(request);
  const PlanCache::LaidOut& laid_out = cache.laid_out(request);
  Plan plan;
  plan.request = request;
  plan.load = load_of(cache.model(request), request);
  const Pieces pieces = pieces_of(cache, request, laid_out);
  fill_stages(pieces, pieces.layout.reserved_by_stage(plan.load, request.parallel.pipeline), plan);
  return std::move(plan.memory);
}

Plan make_plan(PlanCache& cache, const Request& request) {
  if (request.longest) return make_plan(cache, with_longest_context(cache, request));
  if (request.llama_cpp.fit) {
    const Request placed = fitted(cache, request);
    Plan plan = make_plan(cache, placed);
    plan.notes.push_back(
        {NoteLevel::kInfo, "fitted", {"-ngl auto: {placement}", {{"placement", placement_text(request, placed)}}}});
    return plan;
  }
  const bool searched = searches_layouts(request);
  Plan plan = plan_layout(cache, searched ? chosen_layout(cache, request) : request);
  plan.asked_parallel = request.parallel;
  if (Template repeated = repeated_cache(cache, plan); !repeated.empty())
    plan.notes.push_back({NoteLevel::kInfo, "repeated_cache", std::move(repeated)});
  if (!searched) return plan;
  plan.notes.push_back({NoteLevel::kInfo, "chosen_layout",
                        Template("{gpus} GPUs: {layout}, ",
                                 {{"gpus", request.card.count}, {"layout", layout_name(plan.request.parallel)}}) +
                            (!plan.verdict.no_verdict.empty() ? "none is known to fit; this one leaves the most memory"
                             : plan.verdict.fails()           ? "none that was tried fits; this one is short by least"
                                                              : reason_of_layout(cache, plan.request))});
  return plan;
}

VerdictReport verdict_of(PlanCache& cache, const Request& request) {
  if (request.longest) return verdict_of(cache, with_longest_context(cache, request));
  if (request.llama_cpp.fit) return verdict_of(cache, fitted(cache, request));
  const Request laid = searches_layouts(request) ? chosen_layout(cache, request) : request;
  check_gpus(laid);
  const PlanCache::LaidOut& laid_out = cache.laid_out(laid);
  return judged(cache.model(laid), laid, pieces_of(cache, laid, laid_out)).verdict;
}

}  // namespace kvplan
