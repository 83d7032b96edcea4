// How certain a plan is: the range of each estimate, and what to do if the limit is within it.
//
// Exact lines have no range. An estimate has the range that was fitted to recorded logs of its engine, +-5 %
// without logs, or +-P % with --margin P%. The range of a total is narrower than the sum of its lines' ranges: the
// errors within one start hardly correlate (kvplan/ranges.h).

#include <algorithm>

#include "engines/capacity.h"
#include "kvplan/gpus.h"
#include "plan/steps.h"

namespace kvplan {

constexpr double kUsual = 0.05;

static Bytes scaled(Bytes bytes, double share) {
  return Bytes(checked_scale(bytes.count(), share, "an estimate"));
}

// The option that lowers the estimate with the widest range.
static std::string_view option_of(const GpuMemory& gpu, bool has_micro_batches) {
  const LedgerLine* widest = nullptr;
  for (const LedgerLine& line : gpu.lines)
    if (widest == nullptr || line.high - line.low > widest->high - widest->low) widest = &line;
  if (widest == nullptr || widest->low == widest->high) return "";
  if (has_micro_batches && widest->part == Section::kActivation) return "--ubatch-size";
  if (widest->id == LineId::kSampled || widest->id == LineId::kGraphs) return "--max-num-seqs";
  if (widest->part == Section::kActivation) return "--max-num-batched-tokens";
  return "";
}

void apply_margin(LedgerLine& line, const std::optional<double>& margin) {
  const bool has_range = line.low != line.high;
  if (!has_range && line.basis != Basis::kEstimate) return;
  if (has_range && !margin) return;
  const double share = margin.value_or(kUsual);
  line.low = scaled(line.bytes, 1 - share);
  line.high = std::max(line.bytes, scaled(line.bytes, 1 + share));
  if (share == 0) line.low = line.high = line.bytes;
}

Template what_to_lower(const CacheLayout& layout, const Plan& plan, const GpuMemory& fullest, Bytes over) {
  const Bytes reserved = plan.kv_cache.reserved;
  if (reserved > over) {
    const std::uint64_t tokens = longest_sequence(layout, reserved - over, plan.load);
    if (tokens > longest_stated(plan.request) && tokens < plan.load.max_model_len.count())
      return {"--max-model-len {tokens} is safe", {{"tokens", tokens}}};
  }
  const std::string_view option = option_of(fullest, engine_of(plan.request).micro_batch > 0);
  if (!option.empty()) return {"lower {option} first: its part is the least certain", {{"option", option}}};
  return "choose a smaller type with --weights";
}

std::optional<Range> budget_range(const EngineInput& input, const Engine& engine, const Plan& plan, Bytes budget) {
  const std::optional<Bytes>& memory = input.request.card.memory;
  if (!memory || plan.request.kv_cache_memory_bytes || engine.cache_budget == nullptr) return std::nullopt;
  const bool shares = input.request.card.is_unified();
  const std::string own = std::string(engine.name) + (shares ? " card, unified memory" : " card");
  const Range card = range_around(own, *memory);
  if (card.low != card.high) {
    const Bytes below = *memory - card.low;
    const Bytes above = card.high - *memory;
    return Range{budget - std::min(budget, below), budget + above};
  }
  RangeSum beside;
  for (const LedgerLine& line : plan.fullest().lines)
    if (line.part != Section::kKvCache || line.id == LineId::kEncoderCache)
      beside.add(line.bytes, {line.low, line.high});
  const Range range = beside.range();
  const Bytes above = beside.bytes() - range.low;
  const Bytes below = range.high - beside.bytes();
  return Range{budget - std::min(budget, below), budget + above};
}

}  // namespace kvplan
