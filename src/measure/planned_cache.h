// The cache of a plan as its engine allocates it: the buffers of the fullest GPU, for any load.
#pragma once

#include <memory>
#include <vector>

#include "engines/engine.h"
#include "formulas/model.h"
#include "kvplan/error.h"
#include "plan/plan.h"

namespace kvplan {

class PlannedCache {
 public:
  PlannedCache(const ModelSpec& model, const Plan& plan, Bytes granularity)
      : input_(engine_input(model, plan.request)),
        layout_(engine_of(plan.request).layout(input_, notes_)),
        granularity_(granularity) {
    const std::vector<RankCache> ranks = layout_->explain(plan.load);
    for (std::size_t i = 0; i < plan.memory.size(); ++i)
      if (plan.memory[i].kv_cache.value_or(Bytes(0)) > plan.memory[gpu_].kv_cache.value_or(Bytes(0))) gpu_ = i;
    rank_ = ranks.empty() ? 0 : gpu_ % ranks.size();
  }

  std::uint64_t gpu() const { return gpu_; }
  std::vector<CacheBuffer> buffers(const Load& load) const { return layout_->buffers(load, rank_); }

  Bytes rounding(Bytes bytes) const {
    const std::uint64_t rest = bytes.count() % granularity_.count();
    return rest == 0 ? Bytes(0) : Bytes(granularity_.count() - rest);
  }
  // The bytes with every buffer rounded up to whole granules.
  Bytes footprint(const Load& load) const {
    Bytes out;
    for (const CacheBuffer& buffer : buffers(load)) out += buffer.bytes + rounding(buffer.bytes);
    return out;
  }
  bool fits(const Load& load, Bytes room) const {
    try {
      return footprint(load) <= room;
    } catch (const Error& error) {
      take_as_misfit(error);
      return false;  // an overflow exceeds any device
    }
  }

 private:
  EngineInput input_;
  std::vector<Note> notes_;
  std::unique_ptr<CacheLayout> layout_;
  Bytes granularity_;
  std::size_t gpu_ = 0;
  std::size_t rank_ = 0;
};

}  // namespace kvplan
