#include "plan/plan.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "engines/capacity.h"
#include "engines/estimates.h"
#include "engines/term_sum.h"
#include "kvplan/error.h"
#include "kvplan/gpus.h"
#include "kvplan/numbers.h"
#include "plan/calibrate.h"
#include "plan/plan_cache.h"
#include "plan/search.h"
#include "plan/steps.h"
#include "weights/types.h"

namespace kvplan {

// What fits in one copy of the engine, in requests over all copies. Each request has its beams or samples.
static std::uint64_t in_requests(std::uint64_t sequences, const Request& request) {
  return checked_mul(sequences, request.parallel.data, "the sequences of all copies") / request.extras.copies();
}

// The budget is what the request leaves. Other parts (scores, compute buffers, logits) may grow with the load, so a
// longer load is planned by itself and gets its own verdict.
static void fill_capacity(const Pieces& pieces, Plan& plan) {
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
  // Given lengths, a shared prefix, --max-vram and --host-memory count as in the verdict.
  const std::uint64_t stated = longest_stated(plan.request);
  if (by_card || stated > 0 || plan.request.limits.max_vram || plan.request.card.host_memory) {
    Plan other;
    other.request = plan.request;
    other.request.parallel.data = 1;       // each copy is like the first
    other.request.limits.reserve.reset();  // no reserve is kept of what fits
    const auto fits = [&](const Load& load) {
      other.load = load;
      other.calibrated.clear();
      other.verdict = {};
      return unless_misfit([&] {  // an overflow exceeds any memory
        judge(input, engine, layout, occupy_stages(pieces, other), other);
        return other.verdict.headroom.value_or(0) >= 0;
      });
    };
    capacity.max_model_len = largest_near(capacity.max_model_len, kAnyCount, [&](std::uint64_t tokens) {
      Load load = plan.load;
      load.max_model_len = Tokens(std::max(tokens, stated));
      // If lengths are given, the context is only their upper bound, and it ends at the model's maximum.
      const bool has_lengths = plan.request.avg_len || !plan.request.seq_lens.empty();
      const bool within = !has_lengths || longest_context(tokens, input.model.max_model_len, engine) == tokens;
      return within && fits(load);
    });
    if (plan.request.seq_lens.empty())
      capacity.max_num_seqs = largest_near(capacity.max_num_seqs, kAnyCount, [&](std::uint64_t sequences) {
        Load load = plan.load;
        load.num_seqs = sequences;
        return fits(load);
      });
  }
  if (!plan.request.card.mixed.empty()) {  // the tokens that fit in one GPU's budget say nothing about other GPUs
    capacity.tokens.reset();
    capacity.max_concurrency =
        static_cast<double>(capacity.max_model_len) / static_cast<double>(plan.load.max_model_len.count());
  }
  if (const std::uint64_t most = engine.most_sequences; most > 0 && capacity.max_num_seqs > most) {
    inform(plan.notes, "most_sequences",
           {"there is memory for more sequences; {engine} allows at most {most}",
            {{"engine", engine.name}, {"most", most}}});
    capacity.max_num_seqs = most;
    if (!capacity.tokens) capacity.max_concurrency = std::min(capacity.max_concurrency, static_cast<double>(most));
  }
  capacity.max_model_len_by_memory = capacity.max_model_len;
  capacity.max_model_len = longest_context(capacity.max_model_len_by_memory, input.model.max_model_len, engine);
  if (capacity.max_model_len < stated) capacity.max_model_len = 0;
  if (capacity.max_num_seqs < kAnyCount) capacity.max_num_seqs = in_requests(capacity.max_num_seqs, plan.request);
  calibrate_capacity(pieces, plan.load, capacity, plan.calibrated);
  plan.capacity = capacity;
}

// Every GPU has rows in the ledger. At this limit the JSON has 5 MB, and `compare` has fifteen such plans.
static void check_gpus(const Request& request) {
  const std::uint64_t gpus = request.parallel.gpus();
  if (gpus > kMostGpusOfPlan)
    refuse(
        "the layout has " + std::to_string(gpus) + " GPUs, and kvplan plans at most " + std::to_string(kMostGpusOfPlan),
        "use smaller -tp, -pp or -dp");
}

// A plan adds up all its GPUs and refuses a total beyond 64 bits. A verdict sees one GPU per stage, but must refuse the
// same totals.
static void check_total(const Plan& plan) {
  const std::uint64_t copies =
      checked_mul(plan.request.parallel.tensor, plan.request.parallel.data, "the number of GPUs");
  Bytes all;
  for (const GpuMemory& gpu : plan.memory)
    for (const LedgerLine& line : gpu.lines) all += line.high * copies;
}

// Fills in the GPU, the fraction of it that the engine may use, and what the engine adds after the start if it
// allocates its cache only then.
static void fill_card(const EngineInput& input, const Engine& engine, Plan& plan) {
  plan.card = input.request.card.memory;
  if (plan.card) plan.card = plan.card_of(static_cast<std::size_t>(&plan.fullest() - plan.memory.data()), *plan.card);
  plan.usable_share = plan.card ? usable_share(engine, input) : plan.request.memory_utilization;
  if (plan.capacity && engine.cache_budget != nullptr)
    plan.taken_at_start = plan.fullest().total - plan.kv_cache.reserved + plan.capacity->kv_cache_memory;
}

static Pieces pieces_of(PlanCache& cache, const Request& request, const PlanCache::LaidOut& laid_out,
                        bool is_shown = false) {
  check_extras(cache.model(request), request);
  const PlanCache::Weighed& weighed = cache.weighed(request);
  Pieces out{engine_of(request), laid_out.input, *laid_out.layout, weighed.weights, {}, {}, {}};
  // Searches show no notes.
  const auto note = [&](const std::vector<Note>& more) {
    if (is_shown) out.notes.insert(out.notes.end(), more.begin(), more.end());
  };
  note(laid_out.notes);
  if (is_shown) note(cache.weigher(request).notes());
  note(weighed.notes);
  out.extras = extra_lines(cache.model(request), laid_out.input, out.notes);
  const Doubts& doubts = laid_out.doubts;
  note(doubts.notes);
  out.no_verdict = doubts.no_verdict;
  return out;
}

// Adds a doubt if the engine's own figures give another number of sequences than the rules that the verdict uses.
static void doubt_verdict(Plan& plan) {
  const auto of_blocks = [](const AppliedFigure& figure) { return figure.name == kBlockFigure; };
  if (!plan.capacity || std::none_of(plan.calibrated.begin(), plan.calibrated.end(), of_blocks)) return;
  const bool holds = plan.capacity->max_concurrency >= static_cast<double>(plan.load.num_seqs);
  VerdictReport& verdict = plan.verdict;
  if (verdict.refusal || verdict.status == Verdict::kUnknown || holds == (verdict.status == Verdict::kFits)) return;
  verdict.status = Verdict::kUnknown;
  verdict.starts.reset();
  verdict.no_verdict = {
      "{engine}'s own code runs {held:sequence} of this length at once; kvplan's rules give another number",
      {{"engine", plan.engine}, {"held", static_cast<std::uint64_t>(plan.capacity->max_concurrency)}}};
}

// The first step of a plan, and all that a search needs: one GPU of each stage, the cache's budget and the verdict.
static Plan judged(const ModelSpec& model, const Request& request, const Pieces& pieces) {
  Plan plan;
  plan.request = request;
  plan.load = load_of(model, request);
  check_lengths(request, plan.load);
  plan.verdict.on_cpu = on_cpu(pieces.engine, pieces.input);
  const Occupancy occupancy = occupy_stages(pieces, plan);
  check_total(plan);
  // How much fits in the budget only matters for the verdict if the request sets a minimum.
  if (request.limits.min_context || request.limits.min_seqs) fill_capacity(pieces, plan);
  plan.verdict.no_verdict = pieces.no_verdict;
  judge(pieces.input, pieces.engine, pieces.layout, occupancy, plan);
  return plan;
}

// The prompt cache grows while the server runs.
static void note_prompt_cache(Plan& plan) {
  const std::optional<Bytes>& memory = plan.request.card.host_memory;
  if (!memory || !plan.verdict.holds()) return;
  const Bytes most = plan.request.llama_cpp.cache_ram.value_or(Bytes(8 * kGiB));
  for (const LedgerLine& line : plan.host) {
    const Bytes others = plan.host_total() - std::min(plan.host_total(), line.bytes);
    if (line.id != LineId::kPromptCache || others + most <= *memory || others >= *memory) continue;
    warn(plan.notes, "prompt_cache",
         {"llama-server's cache of earlier prompts can grow to {most:GiB} of host memory; limit it with --cache-ram "
          "{mib}",
          {{"most", most}, {"mib", (*memory - others).count() / kMiB}}});
  }
}

static void note_host_cache(const CacheLayout& layout, Plan& plan) {
  const auto budget = plan.capacity ? std::optional(plan.capacity->kv_cache_memory) : std::nullopt;
  const auto cache = layout.host_cache(budget, plan.load);
  if (!cache) return;
  const std::uint64_t copies = plan.request.parallel.data;
  inform(plan.notes, "host_cache",
         {cache->at_least
              ? "the cache in host memory has space for at least {sequences:idle sequence} of {length} tokens"
              : "the cache in host memory has space for {tokens} tokens: {sequences:idle sequence} of {length} "
                "tokens",
          {{"tokens", checked_mul(cache->tokens, copies, "tokens")},
           {"sequences", checked_mul(cache->sequences, copies, "sequences")},
           {"length", plan.load.max_model_len}}});
}

static Plan plan_layout(PlanCache& cache, const Request& request) {
  const ModelSpec& model = cache.model(request);
  check_gpus(request);
  const PlanCache::LaidOut& laid_out = cache.laid_out(request);
  const Pieces pieces = pieces_of(cache, request, laid_out, true);
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
  if (!request.limits.min_context && !request.limits.min_seqs) fill_capacity(pieces, plan);
  plan.host = host_lines(pieces, plan);
  note_host_cache(layout, plan);
  doubt_verdict(plan);
  calibrate_sizes(pieces, plan);
  fill_card(input, engine, plan);
  note_prompt_cache(plan);
  advise(layout, plan);
  plan.mix = mix_of(input, layout, plan.load);
  const bool writes = !is_encoder(input) && !model.embeds;
  if (writes) plan.roofline = roofline_of(model, cache.groups(), plan, weights);

  if (request.card.gpu && !runs_on(engine, *request.card.gpu))
    warn(plan.notes, "unsupported_card",
         {"{engine} does not list {card} among the GPUs it runs on",
          {{"engine", engine.name}, {"card", request.card.gpu->name}}});
  if (auto memory = find_figure(request, kUsableFigure); memory && request.card.gpu && !request.card.memory) {
    memory->what = "memory of the GPU";
    plan.calibrated.push_back(std::move(*memory));
  }
  if (auto speed = find_figure(request, kBandwidthFigure); speed && plan.roofline && !request.card.bandwidth) {
    speed->what = "bandwidth of the GPU, bytes a second";
    plan.calibrated.push_back(std::move(*speed));
  }
  if (request.calibration && request.calibration->named && plan.calibrated.empty())
    warn(plan.notes, "calibration_unused",
         "the calibration has no figure for this GPU, engine and model, so it changed nothing");
  if (Template stands_for = unknown_release(engine, request); !stands_for.empty())
    inform(plan.notes, "unknown_release", std::move(stands_for));
  if (!request.card.note.empty()) inform(plan.notes, "detected_cards", Template::quoted(request.card.note));
  if (model.max_model_len > Tokens(0) && plan.load.max_model_len > model.max_model_len)
    warn(plan.notes, "beyond_maximum",
         {"{asked} tokens exceed the model's maximum of {max_model_len}",
          {{"asked", plan.load.max_model_len}, {"max_model_len", model.max_model_len}}});
  if (engine.caps_context && request.max_model_len.value_or(Tokens(0)) > plan.load.max_model_len)
    warn(plan.notes, "capped_context",
         {"{engine} cuts a context of {asked} tokens to the model's maximum of {max_model_len}",
          {{"engine", engine.name}, {"asked", *request.max_model_len}, {"max_model_len", plan.load.max_model_len}}});
  if (model.max_model_len == Tokens(0) && !request.max_model_len && !request.llama_cpp.ctx_size)
    inform(plan.notes, "default_context",
           engine.assumed_length > Tokens(0)
               ? Template{"the config names no maximum length: planned for {tokens} tokens, as {engine} assumes",
                          {{"tokens", plan.load.max_model_len}, {"engine", engine.name}}}
               : Template{"the config names no maximum length: planned for {tokens} tokens",
                          {{"tokens", plan.load.max_model_len}}});
  return plan;
}

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

CalibrationRecord said_by_engine(const ModelSpec& model, const Request& request, const std::string& said,
                                 std::string_view date) {
  PlanCache cache(model);
  return calibration_of_engine(pieces_of(cache, request, cache.laid_out(request)), load_of(model, request), said, date);
}

Plan make_plan(PlanCache& cache, const Request& request) {
  if (request.longest) return make_plan(cache, with_longest_context(cache, request));
  if (request.llama_cpp.placement != Placement::kNone) {
    const Request found = placed(cache, request);
    Plan plan = make_plan(cache, found);
    plan.asked_parallel = request.parallel;
    plan.asked_placement = {request.llama_cpp, request.max_model_len};
    if (found.card.count != request.card.count) {
      plan.asked_parallel = found.parallel;
      plan.asked_placement->first.tensor_split.clear();
      inform(plan.notes, "one_gpu",
             {"{engine} puts the whole model on one of the {count} GPUs: {gpu}",
              {{"engine", engine_of(found).name}, {"count", request.card.count}, {"gpu", found.card.name_or("GPU")}}});
    } else if (Template text = placement_text(request, found); !text.empty()) {
      inform(plan.notes, "fitted", std::move(text));
    }
    return plan;
  }
  const bool searched = searches_layouts(request);
  Plan plan = plan_layout(cache, searched ? chosen_layout(cache, request) : request);
  plan.asked_parallel = request.parallel;
  Template repeated = repeated_cache(cache, plan);
  const bool tells_reason = repeated.empty();
  if (!tells_reason) inform(plan.notes, "repeated_cache", std::move(repeated));
  if (!searched) return plan;
  inform(plan.notes, "chosen_layout",
         Template("{gpus} GPUs: {layout}",
                  {{"gpus", request.card.count}, {"layout", layout_name(plan.request.parallel)}}) +
             (!plan.verdict.no_verdict.empty() ? " leaves the most memory; kvplan does not know whether it fits"
              : plan.verdict.fails()           ? " comes closest; no layout fits"
              : tells_reason                   ? Template(", ") + reason_of_layout(cache, plan.request)
                                               : Template()));
  return plan;
}

VerdictReport verdict_of(PlanCache& cache, const Request& request) {
  if (request.longest) return verdict_of(cache, with_longest_context(cache, request));
  if (request.llama_cpp.placement != Placement::kNone) return verdict_of(cache, placed(cache, request));
  const Request laid = searches_layouts(request) ? chosen_layout(cache, request) : request;
  check_gpus(laid);
  const PlanCache::LaidOut& laid_out = cache.laid_out(laid);
  return judged(cache.model(laid), laid, pieces_of(cache, laid, laid_out)).verdict;
}

}  // namespace kvplan
