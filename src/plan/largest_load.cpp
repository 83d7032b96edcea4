#include "plan/largest_load.h"

#include <algorithm>
#include <vector>

#include "engines/capacity.h"
#include "kvplan/error.h"
#include "kvplan/numbers.h"
#include "plan/calibrate.h"
#include "plan/engine_input.h"
#include "plan/margins.h"
#include "plan/mix.h"
#include "plan/verdict.h"

namespace kvplan {

namespace {

// What fits in one copy of the engine, as requests (each with its beams or samples) over all copies.
std::uint64_t in_requests(std::uint64_t sequences, const Request& request) {
  return checked_mul(sequences, request.parallel.data, "the sequences of all copies") / request.extras.copies();
}

}  // namespace

// The budget is what the request leaves. Other parts may grow with the load (scores, compute buffers, logits), so a
// longer load is laid out with its own parts and judged like a plan.
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
      // Where lengths are stated the context only bounds them: it ends at the model's own.
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
  if (!plan.request.card.mixed.empty()) {  // the tokens of one GPU's budget do not apply to the others
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

}  // namespace kvplan
