
#include <algorithm>
#include "engines/capacity.h"
#include "engines/estimates.h"
#include "kvplan/error.h"
#include "kvplan/gpus.h"
#include "kvplan/ranges.h"
#include "plan/steps.h"

namespace kvplan {

namespace {

std::int64_t difference(Bytes a, Bytes b) {
  return signed_difference(a.count(), b.count());
}

// Whether the engine starts with the memory of the limit that the verdict names.
std::optional<bool> starts(const Engine& engine, const CacheLayout& layout, const Plan& plan) {
  const VerdictReport& verdict = plan.verdict;
  if (verdict.limit == VerdictLimit::kNone || verdict.limit == VerdictLimit::kMaxVram ||
      verdict.limit == VerdictLimit::kMinContext || verdict.limit == VerdictLimit::kMinSeqs ||
      verdict.limit == VerdictLimit::kHostMemory)  // a mapped file may be read from disk, so it may start
    return std::nullopt;
  const bool fits = verdict.status == Verdict::kFits;
  if (engine.start == Start::kUnknown) return std::nullopt;
  if (fits || engine.start == Start::kEverything) return fits;
  const Bytes budget = plan.capacity ? plan.capacity->kv_cache_memory : Bytes(0);
  Load least = plan.load;
  least.num_seqs = 1;
  if (engine.start == Start::kAnything) least.max_model_len = Tokens(1);
  return budget > Bytes(0) && layout.fits(budget, least);
}

Bytes less(Bytes bytes, Bytes kept) {
  return bytes - std::min(bytes, kept);
}

// One limit of a plan: bytes needed, with their range, and bytes available.
struct Need {
  VerdictLimit limit = VerdictLimit::kNone;
  Bytes bytes, low, high, budget;
  Template shortfall = {};  // why the engine does not start or run it although the bytes fit; empty: the bytes decide
};

// The only place where bytes become a verdict. If everything fits, it fits. Otherwise the first need that does not fit
// decides.
class Judge {
 public:
  explicit Judge(VerdictReport& verdict) : verdict_(verdict) {}

  bool failed() const { return verdict_.status == Verdict::kDoesNotFit; }

  void require(const Need& need) {
    if (failed()) return;
    const bool fits = need.bytes <= need.budget && need.shortfall.empty();
    verdict_.limit = need.limit;
    verdict_.needed = need.bytes;
    verdict_.budget = need.budget;
    verdict_.low = need.low;
    verdict_.high = need.high;
    verdict_.status = fits ? Verdict::kFits : Verdict::kDoesNotFit;
    verdict_.headroom = difference(need.budget, need.bytes);
    if (!need.shortfall.empty()) verdict_.headroom = std::min<std::int64_t>(*verdict_.headroom, -1);
    verdict_.shortfall = need.shortfall;
  }
  // For an estimate: too close to call if the limit is within its range. A limit that is certainly exceeded comes
  // first.
  void require_estimate(const Need& need) {
    if (failed()) return;
    const bool was_close = verdict_.close;
    require(need);
    verdict_.close = need.low <= need.budget && (was_close || need.budget < need.high);
    verdict_.over = std::max(verdict_.over, need.high > need.budget ? need.high - need.budget : Bytes(0));
  }

 private:
  VerdictReport& verdict_;
};

// If CPU and GPU share memory, what both need must fit in it together.
void require_shared_memory(const Plan& plan, Bytes total, const Range& range, Judge& judge) {
  const std::optional<Bytes> all = shared_memory(plan.request);
  if (!all || plan.host.empty()) return;
  const Bytes host = plan.host_total();
  if (total + host > *all)
    judge.require_estimate({VerdictLimit::kSharedMemory, total + host, range.low + host, range.high + host, *all});
}

// What the engine keeps in host memory, if its size is known. On a machine without a GPU this is everything.
void require_host_memory(const Plan& plan, Bytes total, Judge& judge) {
  if (!plan.request.card.host_memory || plan.host.empty()) return;
  Need need{VerdictLimit::kHostMemory, {}, {}, {}, *plan.request.card.host_memory};
  for (const LedgerLine& line : plan.host) {
    need.bytes += line.bytes;
    need.low += line.low;
    need.high += line.high;
  }
  const bool alone = !plan.request.card.gpu && !plan.request.card.memory && total == Bytes(0);
  const bool is_tight = !plan.verdict.on_cpu.empty() && need.high > need.budget;
  if (need.bytes > need.budget || is_tight || alone) judge.require_estimate(need);
}

// Some engines capture graphs beyond their fraction, after the cache has filled it. These need the rest of the GPU and
// what the profile's activations leave.
void require_graphs(const EngineInput& input, const Engine& engine, const Plan& plan, Bytes memory, Judge& judge) {
  const auto sum = [&](const auto& counts) {
    TotalReport out;
    for (const LedgerLine& line : plan.fullest().lines) {
      if (!counts(line)) continue;
      out.bytes += line.bytes;
      out.low += line.low;
      out.high += line.high;
    }
    return out;
  };
  const TotalReport graphs = sum([](const LedgerLine& line) { return line.id == LineId::kGraphs; });
  const auto budget = [&](Bytes captured) {
    return engine.cache_budget({&input, memory, Bytes(0), Bytes(0), graphs.bytes, captured});
  };
  if (budget(Bytes(0)) == budget(graphs.bytes)) return;
  const TotalReport freed = sum([](const LedgerLine& line) { return line.part == Section::kActivation; });
  const Bytes share = usable_memory(engine, input, memory);
  const Need need{VerdictLimit::kCard, share + less(graphs.bytes, freed.bytes), share + less(graphs.low, freed.high),
                  share + less(graphs.high, freed.low), memory};
  if (need.high > memory) judge.require_estimate(need);
}

// If a part is in main memory, that is a separate verdict. With --no-offload it does not fit.
void judge_offload(const Plan& plan, VerdictReport& verdict) {
  if (verdict.status != Verdict::kFits || verdict.on_cpu.empty()) return;
  verdict.host_needed = plan.host_total();
  if (plan.request.limits.no_offload) {
    verdict.status = Verdict::kDoesNotFit;
    verdict.limit = VerdictLimit::kNoOffload;
    verdict.close = false;
    return;
  }
  verdict.status = Verdict::kPartlyOnCpu;
  const bool is_judged = plan.request.card.host_memory || shared_memory(plan.request);
  if (!is_judged)
    verdict.starts.reset();
  else if (!verdict.starts)
    verdict.starts = true;
}

// The engine checks its cap on sequences after it has sized the cache. If that size is an estimate, the suggested cap
// also passes at the low end of its range.
void check_sequences(const EngineInput& input, const Engine& engine, const CacheLayout& layout, Plan& plan) {
  VerdictReport& verdict = plan.verdict;
  if (!plan.capacity || plan.capacity->kv_cache_memory == Bytes(0)) return;
  const Bytes budget = plan.capacity->kv_cache_memory;
  const auto limit = layout.sequence_limit(budget);
  if (!limit) return;
  const std::optional<Range> range = budget_range(input, engine, plan, budget);
  const std::uint64_t safe = range ? layout.sequence_limit(range->low)->most : limit->most;
  const std::uint64_t most = std::max(safe, std::min(limit->most, plan.load.num_seqs));
  if (most == 0) return;
  verdict.largest_seqs_cap = most;
  if (verdict.refusal || verdict.starts == false || !verdict.no_verdict.empty()) return;
  if (limit->cap <= limit->most) {
    verdict.close = verdict.close || (limit->cap > safe && verdict.status == Verdict::kFits);
    return;
  }
  verdict.needs_fewer_seqs = verdict.status == Verdict::kFits;
  verdict.refusal = Refusal{"sequences", limit->words, {"use --max-num-seqs {most}", {{"most", most}}}};
}

}  // namespace

Template on_cpu(const Engine& engine, const EngineInput& input) {
  if (engine.on_cpu != nullptr) return engine.on_cpu(input);
  const std::optional<Bytes>& offloaded = input.request.cpu_offload;
  if (!offloaded || *offloaded == Bytes(0)) return {};
  return {"up to {size:GiB} of each GPU's weights are in main memory", {{"size", *offloaded}}};
}

std::optional<Bytes> shared_memory(const Request& request) {
  if (!request.card.gpu || request.card.memory) return std::nullopt;
  const Gpu& card = *request.card.gpu;
  return card.unified ? std::optional(Bytes(card.memory_mib * kMiB)) : std::nullopt;
}

double usable_share(const Engine& engine, const EngineInput& input) {
  if (input.request.memory_utilization) return *input.request.memory_utilization;
  return engine.utilization_of != nullptr ? engine.utilization_of(input) : engine.memory_utilization;
}

Bytes usable_memory(const Engine& engine, const EngineInput& input, Bytes memory) {
  return Bytes(static_cast<std::uint64_t>(static_cast<double>(memory.count()) * usable_share(engine, input)));
}

void judge(const EngineInput& input, const Engine& engine, const CacheLayout& layout, const Occupancy& occupancy,
           Plan& plan) {
  VerdictReport& verdict = plan.verdict;
  verdict.spelling = engine.spelling;
  Judge judge(verdict);
  const GpuMemory* fullest = &plan.fullest();
  const Range range = range_of(fullest->lines);
  const Bytes total = fullest->total;
  std::optional<Bytes> memory = input.request.card.memory;
  if (memory) memory = plan.card_of(static_cast<std::size_t>(fullest - plan.memory.data()), *memory);
  if (memory && plan.request.limits.reserve) verdict.reserve = plan.request.limits.reserve->of(*memory);
  const Bytes kept = verdict.reserve.value_or(Bytes(0));
  if (occupancy.is_stated()) {
    const Bytes full = layout.reserved(plan.load);
    verdict.spared = full - std::min(plan.kv_cache.reserved, full);
  }
  const auto require_total = [&](VerdictLimit limit, Bytes budget) {
    judge.require_estimate({limit, total, range.low, range.high, budget});
  };
  // Checks the sequences' cache by the engine's rule. Returns the bytes of the budget that it needs.
  const auto require_cache = [&](Bytes budget) {
    Need need{VerdictLimit::kCacheBudget, plan.kv_cache.reserved, {}, {}, budget, occupancy.shortfall(budget)};
    if (need.shortfall.empty() && need.bytes > budget) need.bytes = less(need.bytes, layout.beyond_budget(plan.load));
    if (need.shortfall.empty() && need.bytes > budget) need.shortfall = too_small(need.bytes, budget);
    if (!need.shortfall.empty() && engine.start == Start::kOneSequence) {
      Load one = plan.load;
      one.num_seqs = 1;
      if (!layout.fits(budget, one)) need.bytes = std::max(need.bytes, layout.reserved(one));
    }
    need.low = need.high = need.bytes;
    const bool was_close = verdict.close;
    judge.require(need);
    verdict.close = was_close && !judge.failed();
    return need.bytes;
  };
  if (memory && engine.cache_budget != nullptr) {
    const Bytes card = less(*memory, kept);
    const bool has_budget = plan.capacity && !plan.request.kv_cache_memory_bytes;
    // The cache is compared with its budget. The total is compared with the GPU if there is no budget, or if the GPU
    // fits less.
    const Bytes budget = has_budget ? less(plan.capacity->kv_cache_memory, kept) : Bytes(0);
    if (has_budget && budget == Bytes(0))
      require_total(VerdictLimit::kUsable, std::min(card, less(usable_memory(engine, input, *memory), kept)));
    else if (!has_budget || (total > card && occupancy.fits(budget)))
      require_total(VerdictLimit::kCard, card);
    if (has_budget) {
      const Bytes asked = require_cache(budget);
      // The budget is as uncertain as the parts besides the cache. If both ends of its range give different answers,
      // the verdict is too close to call.
      const Bytes most = asked + (range.high - total);
      const bool may_fit = range.low <= card && asked <= budget + (total - range.low);
      verdict.over = std::max(verdict.over, most > budget ? most - budget : Bytes(0));
      verdict.close = may_fit && verdict.over > Bytes(0);
      require_graphs(input, engine, plan, *memory, judge);
    }
  } else if (memory) {
    require_total(VerdictLimit::kUsable, less(usable_memory(engine, input, *memory), kept));
  }
  require_shared_memory(plan, total, range, judge);
  require_host_memory(plan, total, judge);
  // If the user gave the budget, no reserve is kept of it.
  if (plan.request.kv_cache_memory_bytes) require_cache(*plan.request.kv_cache_memory_bytes);
  if (plan.request.limits.max_vram) require_total(VerdictLimit::kMaxVram, *plan.request.limits.max_vram);
  const auto at_least = [&](std::optional<std::uint64_t> wanted, std::uint64_t have, VerdictLimit limit) {
    if (!wanted || verdict.status == Verdict::kDoesNotFit) return;
    const bool enough = have >= *wanted;
    if (enough && verdict.status != Verdict::kUnknown) return;
    verdict.limit = limit;
    verdict.count = have;
    verdict.least = *wanted;
    verdict.counts_room = plan.capacity.has_value();
    verdict.status = enough ? Verdict::kFits : Verdict::kDoesNotFit;
  };
  const std::uint64_t context = plan.capacity ? plan.capacity->max_model_len : plan.load.max_model_len.count();
  const std::uint64_t seqs = plan.capacity ? plan.capacity->max_num_seqs : plan.request.num_seqs;
  at_least(plan.request.limits.min_context ? std::optional(plan.request.limits.min_context->count()) : std::nullopt,
           context, VerdictLimit::kMinContext);
  at_least(plan.request.limits.min_seqs, seqs, VerdictLimit::kMinSeqs);
  verdict.starts = starts(engine, layout, plan);
  if (const CommandRequest& command = input.request.command; !command.refusal.empty())
    verdict.refusal = Refusal{"command", Template::quoted(command.refusal), Template::quoted(command.cure)};
  if (!verdict.refusal && engine.refusal != nullptr) verdict.refusal = engine.refusal(input, plan.load);
  // An encoder's positions are a fixed table or a trained length, and no option extends them.
  if (const Tokens most = input.model.max_model_len;
      !verdict.refusal && most > Tokens(0) && plan.load.max_model_len > most && is_encoder(input))
    verdict.refusal = Refusal{"position_table",
                              {"{asked} tokens exceed the {positions} positions of this encoder",
                               {{"asked", plan.load.max_model_len}, {"positions", most}}},
                              {"use --max-model-len {positions}", {{"positions", most}}}};
  check_sequences(input, engine, layout, plan);
  // An unknown part may be the largest one, so kvplan never says that such a plan fits.
  const bool whole =
      fullest->weights && ((fullest->activation && fullest->runtime) || verdict.limit == VerdictLimit::kHostMemory);
  if (verdict.status == Verdict::kFits && !whole && !plan.request.kv_cache_memory_bytes)
    verdict.status = Verdict::kUnknown;
  if (verdict.refusal) {
    verdict.status = Verdict::kDoesNotFit;
    verdict.starts = false;
    verdict.close = false;
  }
  if (!verdict.no_verdict.empty() && !verdict.refusal && verdict.limit != VerdictLimit::kNone) {
    verdict.status = Verdict::kUnknown;
    verdict.starts.reset();
  } else {
    verdict.no_verdict = {};
  }
  judge_offload(plan, verdict);
  if (verdict.status == Verdict::kUnknown) verdict.close = false;
  const Bytes width = verdict.limit == VerdictLimit::kHostMemory ? verdict.high - verdict.low : range.high - range.low;
  if (verdict.close) verdict.either_way = Bytes(width.count() / 2);
}

void advise(const CacheLayout& layout, Plan& plan) {
  VerdictReport& verdict = plan.verdict;
  verdict.asked_gpus = plan.request.card.count;
  if (plan.capacity)
    verdict.runs_at_once = runs_at_once(plan.request, layout, plan.load, plan.capacity->kv_cache_memory);
  if (verdict.runs_at_once && *verdict.runs_at_once < kAnyCount)
    verdict.runs_at_once =
        checked_mul(*verdict.runs_at_once, plan.request.parallel.data, "the sequences of all copies");
  if (!verdict.close) return;
  const std::uint64_t most = verdict.largest_seqs_cap.value_or(kAnyCount);
  if (plan.settings.max_num_seqs.value_or(0) > most)
    verdict.advice = {"use --max-num-seqs {most}: the cache may have too few blocks for more", {{"most", most}}};
  else
    verdict.advice = what_to_lower(layout, plan, plan.fullest(), verdict.over);
}

}  // namespace kvplan
