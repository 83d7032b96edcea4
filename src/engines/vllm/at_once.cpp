// Requests are admitted one after another and run to their full length. Counting ends at the first request that does
// not fit.
//
// A request is admitted if the pool has blocks for its whole prompt. A window layer needs at most as many as the check
// before start-up charges (KVCacheManager.allocate_slots, full_sequence_must_fit; max_admission_blocks_per_request).
// During its prefill a state takes up to two more blocks: one for the batch in flight and one for a checkpoint. After
// its prefill a request keeps fewer blocks: windows and chunks free the blocks that they have passed
// (remove_skipped_blocks), and states keep one.
//
// Compared with the scheduler itself: the rows "at_once" of testdata/conformance/vllm-*.jsonl.
#include "engines/vllm/at_once.h"

#include <algorithm>
#include <numeric>

namespace kvplan {

namespace {

constexpr std::string_view kRunningBlocks = "the blocks of running requests";

// The last tokens of a request are its answer, not its prompt. The executed rows use this number.
constexpr std::uint64_t kAnswer = 64;
// The last two tokens of a request have no cache entry yet.
constexpr std::uint64_t kUncomputed = 2;

std::uint64_t prompt_of(std::uint64_t length) {
  return length > kAnswer ? length - kAnswer : length;
}

// Without a block size there is one state for the whole length.
std::uint64_t states_in(const VllmSpec& spec, std::uint64_t tokens) {
  return spec.block_size == 0 ? 1 : ceil_div(tokens, spec.block_size);
}

// The most states that a prefill uses: two, or three if it is split into batches and a block is not longer than a
// batch.
std::uint64_t most_states(const VllmSpec& spec, const ChargeRules& charge, std::uint64_t prompt) {
  const bool split = prompt > charge.batch_tokens && spec.block_size <= charge.batch_tokens;
  return std::min<std::uint64_t>(states_in(spec, prompt), split ? 3 : 2);
}

std::uint64_t admitted_blocks(const VllmSpec& spec, const VllmPool& pool, std::uint64_t prompt) {
  const ChargeRules& charge = *pool.charge;
  const std::uint64_t drafts = charge.drafts;
  Load load;
  load.max_model_len = Tokens(prompt);
  load.source_tokens = pool.source_tokens;
  switch (spec.type) {
    case SpecType::kSliding:
    case SpecType::kSlidingMla:
    case SpecType::kChunked: {
      Load longest;
      longest.max_model_len = pool.max_model_len;
      return std::min(ceil_div(prompt, spec.block_size), charged_blocks(spec, charge, longest));
    }
    case SpecType::kState:
      if (charge.mamba_mode == MambaMode::kNone) return 1 + drafts;
      if (charge.mamba_mode == MambaMode::kAll) return states_in(spec, prompt) + drafts;
      return most_states(spec, charge, prompt) + drafts;
    case SpecType::kFull:
    case SpecType::kMla:
    case SpecType::kRing:
    case SpecType::kCross: break;
  }
  return charged_blocks(spec, charge, load);
}

std::uint64_t kept_blocks(const VllmSpec& spec, const VllmPool& pool, std::uint64_t length, std::uint64_t prefix = 0) {
  const ChargeRules& charge = *pool.charge;
  const std::uint64_t computed = length > kUncomputed ? length - kUncomputed : 0;
  Load load;
  load.max_model_len = Tokens(length);
  load.source_tokens = pool.source_tokens;
  switch (spec.type) {
    case SpecType::kSliding:
    case SpecType::kSlidingMla: {
      const std::uint64_t behind = computed + 1 > spec.window ? computed + 1 - spec.window : 0;
      return ceil_div(length, spec.block_size) - behind / spec.block_size;
    }
    case SpecType::kChunked:
      return ceil_div(length, spec.block_size) - computed / spec.window * spec.window / spec.block_size;
    case SpecType::kState: {
      // Before VllmRules::frees_states a state of a prefill was only freed if the next one was in the next block.
      const std::uint64_t prompt = prompt_of(length);
      const std::uint64_t each = spec.block_size == 0 ? 0 : charge.batch_tokens / spec.block_size;
      if (charge.mamba_mode != MambaMode::kAlign || pool.rules->frees_states || each < 2) return 1 + charge.drafts;
      const std::uint64_t blocks = (prompt - std::min(prefix, prompt)) / spec.block_size;
      const std::uint64_t freed = blocks >= each && blocks % each < 2 ? 1 : 0;
      return 1 + charge.drafts + blocks / each - freed;
    }
    case SpecType::kFull:
    case SpecType::kMla:
    case SpecType::kRing:
    case SpecType::kCross: break;
  }
  return charged_blocks(spec, charge, load);
}

// The largest number of blocks that a request takes, and the number that it keeps.
struct Blocks {
  std::uint64_t most = 0, kept = 0;
};

class Counter {
 public:
  Counter(const VllmPool& pool, const Running& running) : pool_(pool) {
    std::uint64_t unit = 1;
    for (const VllmSpec* spec : pool.groups) {
      if (spec->block_size > 0) unit = std::lcm(unit, spec->block_size);
      forgets_ = forgets_ || spec->is_state() || spec->is_sliding();
    }
    prefix_ = running.shared_prefix.count() / unit * unit;
  }

  Blocks of(std::uint64_t length, bool is_first) const {
    Blocks out;
    std::uint64_t shared = 0, rest = 0, found = 0, left = 0;
    for (const VllmSpec* spec : pool_.groups) {
      out.most = checked_add(out.most, admitted_blocks(*spec, pool_, prompt_of(length)), kRunningBlocks);
      out.kept = checked_add(out.kept, kept_blocks(*spec, pool_, length, is_first ? 0 : prefix_), kRunningBlocks);
      if (spec->is_state()) ++found;
      if (spec->is_state() && 2 * spec->block_size <= pool_.charge->batch_tokens) ++left;
      if (spec->is_full_family()) shared += prefix_ / spec->block_size;
      if (spec->type == SpecType::kCross)
        rest += admitted_blocks(*spec, pool_, 0);
      else if (spec->block_size > 0)
        rest += ceil_div(prompt_of(length) - std::min(prefix_, prompt_of(length)), spec->block_size);
    }
    const MambaMode mode = pool_.charge->mamba_mode;
    const bool leaves = mode == MambaMode::kAlign && !pool_.rules->frees_states;
    // The second request leaves a state at the end of the prefix behind. It is counted with the first.
    if (is_first && prefix_ > 0 && leaves) out.kept += left;
    if (is_first || prefix_ == 0) return {std::max(out.most, out.kept), out.kept};
    out.kept -= shared;
    if (!forgets_) out.most = rest;
    // The block of a state at the end of the prefix is also counted as free.
    if (leaves) out.most += found;
    if (forgets_ && !pool_.rules->admits_whole) out.most = mode == MambaMode::kAll ? rest + found : out.most - shared;
    return {std::max(out.most, out.kept), out.kept};
  }

 private:
  const VllmPool& pool_;
  std::uint64_t prefix_ = 0;
  bool forgets_ = false;
};

}  // namespace

// The most blocks that a running request keeps at any length. A window may begin and end anywhere within a block.
std::uint64_t running_blocks(const VllmSpec& spec, const VllmPool& pool, const Load& load) {
  const std::uint64_t charged = charged_blocks(spec, *pool.charge, load);
  if (spec.is_state()) return std::min(charged, kept_blocks(spec, pool, load.max_model_len.count()));
  if (!spec.is_sliding() && spec.type != SpecType::kChunked) return charged;
  return std::min(charged, ceil_div(std::min(load.max_model_len.count(), spec.window), spec.block_size) + 1);
}

std::optional<std::uint64_t> vllm_runs_at_once(const VllmPool& pool, const Running& running) {
  const bool has_states =
      std::any_of(pool.groups.begin(), pool.groups.end(), [](const VllmSpec* spec) { return spec->is_state(); });
  const bool shares = running.shared_prefix > Tokens(0);
  const bool forgets = pool.charge->mamba_mode == MambaMode::kNone && !pool.rules->caches_states;
  if (running.lengths.empty() || (shares && has_states && forgets)) return std::nullopt;
  const Counter counter(pool, running);
  std::vector<Blocks> turn;
  std::uint64_t kept = 0;
  for (const Tokens length : running.lengths) {
    turn.push_back(counter.of(length.count(), false));
    kept = checked_add(kept, turn.back().kept, kRunningBlocks);
  }
  // The first request shares its prefix with nobody.
  const Blocks first = counter.of(running.lengths.front().count(), true);
  if (first.most > pool.blocks) return 0;
  std::uint64_t free = pool.blocks - first.kept;
  std::uint64_t out = 1;
  // First adds the whole rounds that certainly fit, then one request at a time.
  std::uint64_t most = 0;
  for (const Blocks& blocks : turn) most = std::max(most, blocks.most);
  const std::uint64_t margin = checked_add(most, kept, kRunningBlocks);
  if (kept > 0 && free > margin) {
    const std::uint64_t turns = (free - margin) / kept;
    free -= turns * kept;
    out += turns * turn.size();
  }
  while (kept > 0) {
    const Blocks& next = turn[out % turn.size()];
    if (next.most > free) break;
    free -= next.kept;
    ++out;
  }
  return kept > 0 ? out : kAnyCount;
}

}  // namespace kvplan
