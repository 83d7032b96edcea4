#include "measure/measure.h"

#include <algorithm>
#include <numeric>

#include "kvplan/quantity.h"
#include "plan/plan_cache.h"

namespace kvplan {

namespace {

struct Need {
  std::string what;
  Bytes planned;
  std::vector<Bytes> blocks;
};

Bytes sum_of(const std::vector<Bytes>& blocks) {
  return std::accumulate(blocks.begin(), blocks.end(), Bytes(0));
}

// The weights: PyTorch's segments if the engine loads with PyTorch, otherwise one buffer.
Need weights_of(const ModelSpec& model, const Plan& plan, const GpuMemory& gpu) {
  Need out{"weights", *gpu.weights, {}};
  PlanCache cache(model);
  const RankWeights& weights = cache.weighed(plan.request).weights;
  const std::uint64_t per_stage =
      std::max<std::uint64_t>(1, plan.memory.size() / plan.request.parallel.data / plan.request.parallel.pipeline);
  const std::size_t stage = gpu.gpu / per_stage % plan.request.parallel.pipeline;
  if (stage < weights.segments.size()) out.blocks = weights.segments[stage];
  const Bytes held = sum_of(out.blocks);
  if (out.planned > held) out.blocks.push_back(out.planned - held);
  return out;
}

// The cache: the load's, or the whole pool if the engine allocates its budget.
Need cache_of(const ModelSpec& model, const Plan& plan, const GpuMemory& gpu, Bytes granularity) {
  const Bytes load = gpu.kv_cache.value_or(Bytes(0));
  const bool is_pool = plan.taken_at_start && plan.capacity;
  Need out{is_pool ? "cache, the whole pool" : "cache", load, {}};
  const PlannedCache cache(model, plan, granularity);
  Bytes all;
  for (const CacheBuffer& buffer : cache.buffers(plan.load)) {
    out.blocks.push_back(buffer.bytes);
    all += buffer.bytes;
  }
  if (is_pool && all > Bytes(0)) {
    const double scale = static_cast<double>(plan.capacity->kv_cache_memory.count()) / static_cast<double>(all.count());
    for (Bytes& block : out.blocks)
      block = Bytes(static_cast<std::uint64_t>(static_cast<double>(block.count()) * scale));
    out.planned = plan.capacity->kv_cache_memory + (load > all ? load - all : Bytes(0));
  }
  if (load > all) out.blocks.push_back(load - all);  // an encoder's outputs, a draft's cache
  return out;
}

std::vector<Need> needs_of(const ModelSpec& model, const Plan& plan, std::uint64_t index, const DeviceFacts& device) {
  const GpuMemory& gpu = plan.memory[index];
  Bytes libraries, graphs;
  for (const LedgerLine& line : gpu.lines)
    if (line.part == Section::kRuntime) (line.id == LineId::kGraphs ? graphs : libraries) += line.bytes;
  libraries = libraries - std::min(libraries, device.context.value_or(Bytes(0)));
  const auto one = [](std::string what, Bytes bytes) { return Need{std::move(what), bytes, {bytes}}; };
  std::vector<Need> out{one("libraries, beyond the open context", libraries), weights_of(model, plan, gpu),
                        cache_of(model, plan, gpu, device.granularity), one("graphs", graphs),
                        one("activations of a full batch", gpu.activation.value_or(Bytes(0)))};
  for (Need& need : out) std::erase(need.blocks, Bytes(0));
  std::erase_if(out, [](const Need& need) { return need.blocks.empty(); });
  return out;
}

std::vector<BlockSize> sizes_of(const std::vector<Bytes>& blocks) {
  std::vector<BlockSize> out;
  for (const Bytes block : blocks) {
    auto same = std::find_if(out.begin(), out.end(), [&](const BlockSize& size) { return size.bytes == block; });
    if (same == out.end()) same = out.insert(out.end(), BlockSize{block, 0});
    ++same->count;
  }
  return out;
}

// Allocates one part after another, until all are allocated or one fails.
void hold_all(const std::vector<Need>& needs, Bytes all, Bytes room, Device& device, const MeasureOptions& options,
              Rehearsal& out) {
  HeldBuffers held(device);
  Bytes taken;
  for (const Need& need : needs) {
    out.steps.push_back({need.what, need.planned, sum_of(need.blocks), need.blocks.size(), 0, sizes_of(need.blocks)});
    RehearsedStep& step = out.steps.back();
    for (const Bytes block : need.blocks) {
      if (options.stop && options.stop()) throw Interrupted();
      const auto stop_here = [&](RehearsalStatus status) {
        out.status = status;
        out.stopped = need.what + ", block " + std::to_string(step.held + 1) + " of " + std::to_string(step.blocks) +
                      " (" + format_bytes(block) + ")";
      };
      if (taken + block > room) return stop_here(all <= out.free ? RehearsalStatus::kTight : RehearsalStatus::kStops);
      try {
        held.take(block);
      } catch (const DeviceError& error) {
        out.reason = one_line(error.what(), 200);
        return stop_here(RehearsalStatus::kStops);
      }
      taken += block;
      ++step.held;
      if (options.progress) options.progress("rehearsing", taken, all);
    }
  }
  out.spare = device.memory().free;
}

}  // namespace

std::optional<Rehearsal> rehearse(const ModelSpec& model, const Plan& plan, Device& device,
                                  const MeasureOptions& options) {
  const CardFacts card = device.card();
  const DeviceFacts& facts = device.facts();
  if (facts.id == "host" || card.is_integrated || card.is_wsl) return std::nullopt;
  const std::uint64_t index = PlannedCache(model, plan, facts.granularity).gpu();
  if (!plan.memory[index].weights) return std::nullopt;
  const std::vector<Need> needs = needs_of(model, plan, index, facts);
  Bytes all;
  for (const Need& need : needs) all += sum_of(need.blocks);
  Rehearsal out;
  out.free = device.memory().free;
  out.spare = out.free - std::min(out.free, all);
  out.missing = all - std::min(out.free, all);
  hold_all(needs, all, usable_room(out.free, facts.margin), device, options, out);
  return out;
}

}  // namespace kvplan
