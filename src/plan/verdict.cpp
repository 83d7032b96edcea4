#include "plan/verdict.h"

#include <algorithm>
#include "engines/estimates.h"
#include "kvplan/error.h"
#include "kvplan/gpus.h"
#include "kvplan/ranges.h"
#include "plan/margins.h"

namespace kvplan {

namespace {

std::int64_t difference(Bytes a, Bytes b) {
  return signed_difference(a.count(), b.count());
}

// Where processor and GPU share one memory, both their shares must fit in it.
template <class Require>
void require_shared_memory(const Plan& plan, const GpuMemory& gpu, Bytes low, Bytes high, const Require& require) {
  const std::optional<Bytes> all = shared_memory(plan.request);
  if (!all || plan.host.empty()) return;
  const Bytes host = plan.host_total();
  if (gpu.total + host > *all) require(gpu.total + host, low + host, high + host, *all, VerdictLimit::kSharedMemory);
}

// What the engine keeps in host memory, where its size is known. A machine without a card has nothing else.
template <class Require>
void require_host_memory(const Plan& plan, const GpuMemory& gpu, const Require& require) {
  if (!plan.request.card.host_memory || plan.host.empty()) return;
  Bytes need, low, high;
  for (const LedgerLine& line : plan.host) {
    need += line.bytes;
    low += line.low;
    high += line.high;
  }
  const Bytes all = *plan.request.card.host_memory;
  const bool alone = !plan.request.card.name && !plan.request.card.memory && gpu.total == Bytes(0);
  if (need > all || alone) require(need, low, high, all, VerdictLimit::kHostMemory);
}

// Whether the engine starts under the limit that the verdict was compared with.
std::optional<bool> starts(const Engine& engine, const CacheLayout& layout, const Plan& plan) {
  const VerdictReport& verdict = plan.verdict;
  if (verdict.limit == VerdictLimit::kNone || verdict.limit == VerdictLimit::kMaxVram ||
      verdict.limit == VerdictLimit::kMinContext || verdict.limit == VerdictLimit::kMinSeqs ||
      verdict.limit == VerdictLimit::kHostMemory)  // files are mapped: it may start, and read from disk
    return std::nullopt;
  const bool fits = verdict.status == Verdict::kFits;
  if (engine.start == Start::kUnknown) return std::nullopt;
  if (fits || engine.start == Start::kEverything) return fits;
  const Bytes budget = plan.capacity ? plan.capacity->kv_cache_memory : Bytes(0);
  Load least = plan.load;
  least.num_seqs = 1;
  if (engine.start == Start::kAnything) least.max_model_len = Tokens(1);
  return budget > Bytes(0) && layout.shortfall(budget, least).empty();
}

Bytes less(Bytes bytes, Bytes kept) {
  return bytes - std::min(bytes, kept);
}

// How many sequences of the stated lengths, or of the request's, run at once with `kept` bytes of the budget left free;
// none where one exceeds the memory.
std::optional<std::uint64_t> runs_at_once(const CacheLayout& layout, const Plan& plan, Bytes kept) {
  if (!plan.capacity) return std::nullopt;
  const Request& request = plan.request;
  Running running{request.seq_lens, request.shared_prefix.value_or(Tokens(0))};
  if (running.lengths.empty()) running.lengths = {request.avg_len.value_or(plan.load.max_model_len)};
  return layout.runs_at_once(less(plan.capacity->kv_cache_memory, kept), plan.load, running);
}

// Stated lengths decide where their memory is known: by the engine's scheduler, by pages, or without an engine by their
// bytes. Slots of a fixed length hold them in any case.
struct Stated {
  std::optional<std::uint64_t> running;  // how many of them at once
  std::uint64_t sequences = 0;
  Bytes held;  // on the fullest GPU, while all run
};

std::optional<Stated> stated_lengths(const Engine& engine, const CacheLayout& layout, const Plan& plan, Bytes kept) {
  const Request& request = plan.request;
  if (request.seq_lens.empty() && !request.avg_len) return std::nullopt;
  if (!request.seq_lens.empty() && request.parallel.data > 1) return std::nullopt;  // they are spread over the copies
  Stated out{runs_at_once(layout, plan, kept), 0, {}};
  if (!out.running && !engine.is_logical && !layout.block_size()) return std::nullopt;
  Load load = plan.load;
  // Full blocks of the prefix are held once, by the first sequence; windows and states are each sequence's own.
  const std::uint64_t block = layout.block_size().value_or(1);
  const std::uint64_t prefix = request.shared_prefix.value_or(Tokens(0)).count() / block * block;
  const auto hold = [&](std::uint64_t length, std::uint64_t sequences) {
    if (sequences == 0) return;
    load.max_model_len = Tokens(length);
    load.num_seqs = sequences;
    out.held += layout.reserved(load);
  };
  const auto add = [&](Tokens length, std::uint64_t sequences) {
    const std::uint64_t whole = prefix == 0 ? sequences : out.sequences == 0 ? 1 : 0;
    hold(length.count(), whole);
    hold(length.count() > prefix ? length.count() - prefix : 1, sequences - whole);
    out.sequences = checked_add(out.sequences, sequences, "the sequences");
  };
  if (request.seq_lens.empty()) {
    add(*request.avg_len, plan.load.num_seqs);
  } else {
    for (const Tokens length : request.seq_lens) add(length, 1);
  }
  return out;
}

}  // namespace

std::optional<Bytes> shared_memory(const Request& request) {
  if (!request.card.name || request.card.memory) return std::nullopt;
  const Gpu& card = parse_gpu(*request.card.name);
  return card.unified ? std::optional(Bytes(card.memory_mib * kMiB)) : std::nullopt;
}

double usable_share(const Engine& engine, const EngineInput& input) {
  if (input.request.memory_utilization) return *input.request.memory_utilization;
  return engine.utilization_of != nullptr ? engine.utilization_of(input) : engine.memory_utilization;
}

Bytes usable_memory(const Engine& engine, const EngineInput& input, Bytes memory) {
  return Bytes(static_cast<std::uint64_t>(static_cast<double>(memory.count()) * usable_share(engine, input)));
}

void judge(const EngineInput& input, const Engine& engine, const CacheLayout& layout, Plan& plan) {
  VerdictReport& verdict = plan.verdict;
  const GpuMemory* fullest = &plan.fullest();
  const Range range = range_of(fullest->lines);
  Bytes low = range.low;
  Bytes high = range.high;
  std::optional<Bytes> memory = input.request.card.memory;
  if (memory) memory = plan.card_of(static_cast<std::size_t>(fullest - plan.memory.data()), *memory);
  if (memory && plan.request.limits.reserve) verdict.reserve = plan.request.limits.reserve->of(*memory);
  const Bytes kept = verdict.reserve.value_or(Bytes(0));
  // Nothing is kept free of a budget that the user set.
  const Bytes kept_of_budget = plan.request.kv_cache_memory_bytes ? Bytes(0) : kept;
  const std::optional<Stated> stated = stated_lengths(engine, layout, plan, kept_of_budget);
  const Bytes held = stated ? stated->held : plan.kv_cache.reserved;
  // The part of the ledger's bytes for full lengths that the stated lengths do not take.
  const Bytes spared = plan.kv_cache.reserved - std::min(held, plan.kv_cache.reserved);
  verdict.spared = spared;
  const Bytes total = fullest->total - spared;
  low = low - std::min(low, spared);
  high = high - std::min(high, spared);
  const auto held_against = [&](VerdictLimit limit, Bytes needed, Bytes budget) {
    verdict.limit = limit;
    verdict.needed = needed;
    verdict.budget = budget;
  };
  const auto require = [&](Bytes need, Bytes need_low, Bytes need_high, Bytes limit, VerdictLimit kind) {
    if (verdict.status == Verdict::kDoesNotFit) return;
    held_against(kind, need, limit);
    verdict.low = need_low;
    verdict.high = need_high;
    // One limit that is close makes the verdict close, unless another is certainly broken.
    verdict.status = need <= limit ? Verdict::kFits : Verdict::kDoesNotFit;
    verdict.close = need_low <= limit && (verdict.close || limit < need_high);
    verdict.over = std::max(verdict.over, need_high > limit ? need_high - limit : Bytes(0));
    verdict.headroom = difference(limit, need);
  };
  // Bytes of the budget: for the stated lengths, or what the engine must hold to start if that is more.
  Bytes asked = held;
  // The engine's own rule for its cache, where the budget is known.
  const auto require_cache = [&](Bytes budget) {
    if (verdict.status == Verdict::kDoesNotFit) return;
    Template shortfall = stated ? Template() : layout.shortfall(budget, plan.load);
    if (stated && (stated->running ? *stated->running < stated->sequences : held > budget))
      shortfall = {"the stated lengths need {needed:GiB} of cache, and {budget:GiB} are there",
                   {{"needed", held}, {"budget", budget}}};
    // What an engine must hold to start does not depend on the stated lengths.
    if (stated && shortfall.empty() && engine.start == Start::kOneSequence) {
      Load one = plan.load;
      one.num_seqs = 1;
      shortfall = layout.shortfall(budget, one);
      if (!shortfall.empty()) asked = std::max(held, layout.reserved(one));
    }
    const Bytes need = shortfall.empty() ? std::min(held, budget) : asked;
    held_against(VerdictLimit::kCacheBudget, need, budget);
    verdict.low = verdict.high = need;
    verdict.status = shortfall.empty() ? Verdict::kFits : Verdict::kDoesNotFit;
    verdict.close = verdict.close && shortfall.empty();
    verdict.headroom = shortfall.empty() ? std::max<std::int64_t>(difference(budget, need), 0)
                                         : std::min<std::int64_t>(difference(budget, need), -1);
    verdict.shortfall = std::move(shortfall);
  };
  if (memory && engine.cache_budget != nullptr) {
    const Bytes card = less(*memory, kept);
    const bool has_budget = plan.capacity && !plan.request.kv_cache_memory_bytes;
    // The cache is compared with its budget; the total with the card where that leaves no budget, or holds less than
    // both.
    const Bytes budget = has_budget ? less(plan.capacity->kv_cache_memory, kept) : Bytes(0);
    if (has_budget && budget == Bytes(0))
      require(total, low, high, std::min(card, less(usable_memory(engine, input, *memory), kept)),
              VerdictLimit::kUsable);
    else if (!has_budget || (held <= budget && total > card))
      require(total, low, high, card, VerdictLimit::kCard);
    if (has_budget) {
      require_cache(budget);
      // The budget is as uncertain as the parts beside the cache: close where the ends of its range disagree.
      const Bytes most = asked + (high - total);
      const bool may_fit = low <= card && asked <= budget + (total - low);
      verdict.over = std::max(verdict.over, most > budget ? most - budget : Bytes(0));
      verdict.close = may_fit && verdict.over > Bytes(0);
    }
  } else if (memory) {
    const Bytes usable = less(usable_memory(engine, input, *memory), kept);
    require(total, low, high, usable, VerdictLimit::kUsable);
  }
  require_shared_memory(plan, *fullest, low, high, require);
  require_host_memory(plan, *fullest, require);
  if (plan.request.kv_cache_memory_bytes) require_cache(*plan.request.kv_cache_memory_bytes);
  if (plan.request.limits.max_vram) require(total, low, high, *plan.request.limits.max_vram, VerdictLimit::kMaxVram);
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
  if (engine.refusal != nullptr) verdict.refusal = engine.refusal(input, plan.load);
  // The positions of an encoder are a table, or what it was trained with: no option extends them.
  if (const Tokens most = input.model.max_model_len;
      !verdict.refusal && most > Tokens(0) && plan.load.max_model_len > most && is_encoder(input))
    verdict.refusal = Refusal{"position_table",
                              {"{asked} tokens are more than the {positions} positions of this encoder",
                               {{"asked", plan.load.max_model_len}, {"positions", most}}},
                              {"use --max-model-len {positions}", {{"positions", most}}}};
  // A part that is not known may be the largest: without it nothing is said to fit.
  const bool whole =
      fullest->weights && ((fullest->activation && fullest->runtime) || verdict.limit == VerdictLimit::kHostMemory);
  if (verdict.status == Verdict::kFits && !whole && !plan.request.kv_cache_memory_bytes)
    verdict.status = Verdict::kUnknown;
  if (verdict.refusal) {
    verdict.status = Verdict::kDoesNotFit;
    verdict.starts = false;
    verdict.close = false;
  }
  if (verdict.status == Verdict::kUnknown) verdict.close = false;
  if (verdict.close) verdict.either_way = Bytes((high - low).count() / 2);
}

void advise(const CacheLayout& layout, Plan& plan) {
  VerdictReport& verdict = plan.verdict;
  verdict.asked_gpus = plan.request.card.count;
  verdict.runs_at_once = runs_at_once(layout, plan, Bytes(0));
  if (verdict.runs_at_once && *verdict.runs_at_once < kAnyCount)
    verdict.runs_at_once =
        checked_mul(*verdict.runs_at_once, plan.request.parallel.data, "the sequences of all copies");
  if (verdict.close) verdict.advice = what_to_lower(layout, plan, plan.fullest(), verdict.over);
}

}  // namespace kvplan
