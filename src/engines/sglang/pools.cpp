#include "engines/sglang/pools.h"

#include "kvplan/numbers.h"

namespace kvplan {

std::uint64_t SglangPools::ring_rows(const Load& load) const {
  constexpr std::uint64_t kStride = 128;
  if (ring_ == 0) return 0;
  const std::uint64_t requests = checked_add(std::max(running_, load.num_seqs), 2, "the rings");
  return round_up(checked_add(checked_mul(requests, ring_, "the rings"), 1, "the rings"), kStride, "the rings");
}

bool SglangPools::grows() const {
  return std::any_of(stages_.begin(), stages_.end(),
                     [](const SglangStage& stage) { return stage.full > Bytes(0) || stage.windows > Bytes(0); });
}

Bytes SglangPools::fullest_slot() const {
  Bytes out;
  for (const SglangStage& stage : stages_) out = std::max(out, stage.slot);
  return out;
}

std::uint64_t SglangPools::source_entries(const Load& load) const {
  return checked_mul(load.source_tokens.count(), load.num_seqs, "the encoder tokens");
}

std::uint64_t SglangPools::windows_of(std::uint64_t full) const {
  if (fixed_windows_ > 0) return fixed_windows_;
  return checked_mul(full, ratio_.part, "the window pool") / ratio_.whole / page_ * page_;
}

SglangCounts SglangPools::pools_for(const Load& load) const {
  SglangCounts out;
  const std::uint64_t one = round_up(load.max_model_len.count(), page_, "a sequence");
  if (grows()) out.full = checked_mul(one, load.num_seqs, "the tokens of the pool");
  if (has_windows()) {
    const std::uint64_t live = std::min(one, round_up(checked_add(window_, page_, "a window"), page_, "a window"));
    const std::uint64_t need = std::max(least_windows(), checked_mul(live, load.num_seqs, "the window pool"));
    if (all_windows_) {
      out.full = 0;
      out.windows = need;
    } else if (fixed_windows_ > 0) {
      out.windows = std::max(need, fixed_windows_);
    } else {
      out.full = std::max(out.full, round_up(ceil_div(checked_mul(need, ratio_.whole, "the window pool"), ratio_.part),
                                             page_, "the pool"));
      out.windows = windows_of(out.full);
    }
  }
  if (states_) out.slots = std::max(checked_mul(load.num_seqs, slots_, "the state slots"), all_slots_.value_or(0));
  return out;
}

std::uint64_t SglangPools::slots_of(std::uint64_t share, std::uint64_t slot) const {
  const std::uint64_t padding = rules_.budgets_padding_slots ? checked_mul(slot, 1 + verified_, "the states") : 0;
  if (share <= padding) return 0;
  const double drafts = rules_.draft_states_first ? 0 : static_cast<double>(verified_) / static_cast<double>(slots_);
  const double each = static_cast<double>(slot) * (1 + drafts);
  return static_cast<std::uint64_t>(static_cast<double>(share - padding) / each);
}

std::uint64_t SglangPools::states_of_drafts(std::uint64_t slots, std::uint64_t padding) const {
  if (!states_ || verified_ == 0) return 0;
  const std::uint64_t requests = std::min(running_, slots / slots_);
  return checked_mul(checked_add(requests, padding, "the states"), verified_, "the states");
}

Bytes SglangPools::state_share(Bytes budget) const {
  return Bytes(static_cast<std::uint64_t>(static_cast<double>(budget.count()) * (state_ratio_ / (1 + state_ratio_))));
}

SglangCounts SglangPools::pools_of(Bytes budget, const Load& load) const {
  SglangCounts out;
  const std::uint64_t total = budget.count();
  const std::uint64_t first = rules_.draft_states_first ? checked_mul(running_, verified_, "the states") : 0;
  if (states_) {
    std::uint64_t slots = kMost;
    for (const SglangStage& stage : stages_) {
      const Bytes rest = budget - std::min(budget, stage.slot * first);
      if (stage.slot > Bytes(0)) slots = std::min(slots, slots_of(state_share(rest).count(), stage.slot.count()));
    }
    out.slots = all_slots_.value_or(slots);
  }
  std::optional<std::uint64_t> tokens;
  for (const SglangStage& stage : stages_) {
    Bytes taken = stage.ring * ring_rows(load) + stage.source * source_entries(load);
    if (stage.slot > Bytes(0)) {
      const std::uint64_t padding = rules_.budgets_padding_slots ? 1 : 0;
      taken += stage.slot *
               checked_add(out.slots + padding, first > 0 ? first : states_of_drafts(out.slots, padding), "the slots");
    }
    const std::uint64_t left = total > taken.count() ? total - taken.count() : 0;
    if (stage.charge > 0) {
      const auto fit = static_cast<std::uint64_t>(static_cast<double>(left) / stage.charge);
      tokens = std::min(tokens.value_or(kMost), fit / page_ * page_);
      continue;
    }
    if (fixed_windows_ > 0) {
      const Bytes token = stage.full + stage.draft_charge;
      const Bytes windows = stage.windows * fixed_windows_;
      const std::uint64_t rest = left > windows.count() ? left - windows.count() : 0;
      if (token > Bytes(0)) tokens = std::min(tokens.value_or(kMost), rest / token.count() / page_ * page_);
      continue;
    }
    // Solves left >= tokens * (full + ratio * windows).
    const std::uint64_t cell =
        all_windows_ ? (stage.windows + stage.draft_charge).count()
                     : ((stage.full + stage.draft_charge) * ratio_.whole + stage.windows * ratio_.part).count();
    if (cell == 0) continue;
    const std::uint64_t scaled = all_windows_ ? left : checked_mul(left, ratio_.whole, "the budget");
    std::uint64_t fit = scaled / cell;
    if (rules_.splits_tokens_first && has_windows() && !all_windows_ && stage.full > Bytes(0)) {
      // First the tokens of all layers are computed, then the main pool's part of them. Both are rounded down
      // (set_num_token_hybrid of 0.5.8).
      const Bytes both = stage.full + stage.windows;
      fit = checked_mul(left / both.count() * both.count(), ratio_.whole, "the budget") / cell;
    }
    tokens = std::min(tokens.value_or(kMost), fit / page_ * page_);
  }
  if (!tokens) return out;
  tokens = std::min(*tokens, most_tokens_ / page_ * page_);
  if (all_windows_)
    out.windows = *tokens;
  else
    out.full = *tokens;
  if (has_windows() && !all_windows_) out.windows = windows_of(out.full);
  return out;
}

std::uint64_t SglangPools::undivided(Bytes budget) const {
  std::uint64_t out = most_tokens_;
  for (const SglangStage& stage : stages_)
    if (const Bytes token = stage.full + stage.windows; token > Bytes(0))
      out = std::min(out, budget.count() / token.count());
  return out / page_ * page_;
}

Bytes SglangPools::least_budget(const Load& load) const {
  const SglangCounts need = pools_for(load);
  const auto enough = [&](std::uint64_t budget) { return holds(pools_of(Bytes(budget), load), need); };
  std::uint64_t high = std::max<std::uint64_t>(fullest(load).count(), 1);
  while (high < (std::uint64_t{1} << 56) && !enough(high)) high *= 2;
  return Bytes(last_good(0, high, [&](std::uint64_t budget) { return !enough(budget); }) + 1);
}

Bytes SglangPools::bytes(const SglangStage& stage, const SglangCounts& pools, const Load& load) const {
  Bytes out;
  if (pools.full > 0) out += stage.full * checked_add(pools.full, page_, "the pool");
  if (pools.full > 0) out += stage.full_page * full_pages(pools.full) + stage.place * pools.full + stage.spare;
  if (pools.windows > 0)
    out += stage.windows * checked_add(pools.windows, page_, "the pool") +
           stage.page_windows * window_pages(pools.windows);
  out += stage.ring * ring_rows(load);
  if (pools.slots > 0) out += stage.slot * checked_add(pools.slots + states_of_drafts(pools.slots), 1, "the slots");
  out += stage.draft * draft_tokens(pools);
  return out + stage.source * source_entries(load);
}

Bytes SglangPools::fullest(const Load& load) const {
  const SglangCounts pools = pools_for(load);
  Bytes out;
  for (const SglangStage& stage : stages_) out = std::max(out, bytes(stage, pools, load));
  return out;
}

}  // namespace kvplan
