#include "measure/watch.h"

#include <algorithm>
#include <cmath>

#include "engines/engine.h"

namespace kvplan {

namespace {

// Tolerance for the memory of processes. A plan does not include what the interpreter and its libraries take meanwhile.
constexpr double kHostTolerance = 0.10;
constexpr std::int64_t kHostLeast = 96 * static_cast<std::int64_t>(kMiB);
// Tolerance for a GPU: the rounding of allocators.
constexpr double kCardTolerance = 0.01;

struct PlannedRange {
  Bytes bytes, low, high;
  void add(const LedgerLine& line) {
    bytes += line.bytes;
    low += line.low;
    high += line.high;
  }
};

// The plan's figure for `wanted` on all GPUs. If processes are watched, it includes host memory.
template <class Wanted>
PlannedRange planned(const WatchReport& report, const Wanted& wanted) {
  PlannedRange out;
  for (const GpuMemory& gpu : report.plan.memory)
    for (const LedgerLine& line : gpu.lines)
      if (wanted(line)) out.add(line);
  if (report.seen.is_host)
    for (const LedgerLine& line : report.plan.host)
      if (wanted(line)) out.add(line);
  return out;
}

std::optional<Bytes> logged(const WatchReport& report, std::initializer_list<std::string_view> names) {
  double sum = 0;
  bool any = false;
  for (const LogLine& line : report.check.lines)
    if (std::find(names.begin(), names.end(), line.seen.what) != names.end() && line.seen.bytes() > 0) {
      sum += line.seen.bytes();
      any = true;
    }
  if (!any || sum > 1e18) return std::nullopt;
  return Bytes(static_cast<std::uint64_t>(sum));
}

// The weights, with the packed copies of the embedding and the head that some engines make for CPU kernels, even if
// both are one tensor.
PlannedRange planned_weights(const WatchReport& report) {
  PlannedRange out = planned(report, [](const LedgerLine& line) { return line.part == Section::kWeights; });
  if (!report.seen.is_host || !engine_of(report.plan.request).loading.packs_embedding_on_cpu) return out;
  const auto of = [&](std::string_view id) {
    return planned(report, [&](const LedgerLine& line) { return id_of(line) == id; }).bytes;
  };
  const Bytes embedding = of("embedding");
  const Bytes head = of("lm_head");
  out.high += embedding + (head > Bytes(0) ? head : embedding);
  return out;
}

const WatchedStage* stage_of(const Watched& seen, StartStage stage) {
  for (const WatchedStage& each : seen.stages)
    if (each.stage == stage) return &each;
  return nullptr;
}

// An engine that allocates its cache at the start takes the whole budget of each GPU.
PlannedRange planned_cache(const WatchReport& report) {
  const Plan& plan = report.plan;
  const auto of_cache = [](const LedgerLine& line) { return line.part == Section::kKvCache; };
  PlannedRange out = planned(report, of_cache);
  if (!plan.taken_at_start || !plan.capacity) return out;
  const Bytes all = plan.capacity->kv_cache_memory * plan.memory.size();
  return {all, all, all};
}

void add(WatchReport& report, StartStage stage, const PlannedRange& range, std::int64_t seen,
         std::optional<Bytes> logged, bool is_judged, bool is_whole = false) {
  WatchedLine line{stage, is_whole, logged, range.bytes, range.low, range.high, seen, is_judged, true};
  const double share = report.seen.is_host ? kHostTolerance : kCardTolerance;
  const auto size = static_cast<std::int64_t>(range.bytes.count());
  auto play = static_cast<std::int64_t>(std::ceil(share * static_cast<double>(size)));
  if (report.seen.is_host) play = std::max(play, kHostLeast);
  line.is_inside = seen >= static_cast<std::int64_t>(range.low.count()) - play &&
                   seen <= static_cast<std::int64_t>(range.high.count()) + play;
  report.lines.push_back(line);
  report.agrees = report.agrees && (line.is_inside || !is_judged);
}

}  // namespace

void compare_start(WatchReport& report) {
  const Watched& seen = report.seen;
  report.lines.clear();
  report.agrees = seen.status == WatchStatus::kStarted || seen.status == WatchStatus::kSteady;
  const auto of = [](Section section) { return [section](const LedgerLine& line) { return line.part == section; }; };
  const WatchedStage* const process = stage_of(seen, StartStage::kProcess);
  const WatchedStage* const weights = stage_of(seen, StartStage::kWeights);
  const WatchedStage* const profile = stage_of(seen, StartStage::kProfile);
  if (weights != nullptr && process != nullptr) {
    PlannedRange range = planned_weights(report);
    const std::optional<Bytes> printed = logged(report, {"weights"});
    // If a file is mapped, its pages that were read count in addition to the buffers made from them (CPU_REPACK).
    if (seen.is_host && printed) range.high = std::max(range.high, *printed);
    add(report, StartStage::kWeights, range, weights->grew(), printed, true);
  }
  if (weights != nullptr && profile != nullptr)
    add(report, StartStage::kProfile, planned(report, of(Section::kActivation)),
        signed_difference(profile->peak.count(), weights->after.count()), logged(report, {"activation", "peak_torch"}),
        !seen.is_host);
  if (seen.status == WatchStatus::kDied) return;
  const WatchedStage* const last_before_cache = profile != nullptr ? profile : weights;
  if (last_before_cache != nullptr)
    add(report, StartStage::kCache, planned_cache(report),
        signed_difference(seen.last.count(), last_before_cache->after.count()),
        logged(report, {"kv_buffer", "kv_budget", "kv_bytes"}), false);
  // From the end of the process's own stage on, all parts count except the context, which belongs to the process.
  if (process == nullptr && seen.is_host) return;
  PlannedRange all = planned(report, [&](const LedgerLine& line) {
    return line.part != Section::kKvCache && (!seen.is_host || line.part != Section::kRuntime);
  });
  const PlannedRange cache = planned_cache(report);
  all.bytes += cache.bytes;
  all.low += cache.low;
  all.high += cache.high;
  const std::uint64_t start = seen.is_host ? process->after.count() : 0;
  add(report, StartStage::kServing, all, signed_difference(seen.last.count(), start), std::nullopt, !seen.is_host,
      true);
}

}  // namespace kvplan
