// Allocates the cache of a plan on a device, in the engine's own layout, and compares.
#pragma once

#include <csignal>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engines/engine.h"
#include "formulas/model.h"
#include "kvplan/calibration.h"
#include "kvplan/card_measurement.h"
#include "kvplan/error.h"
#include "kvplan/measurement.h"
#include "measure/device.h"
#include "plan/plan.h"
#include "plan/steps.h"

namespace kvplan {

// Thrown after `stop` returned true; everything is freed by then.
class Interrupted : public std::exception {
 public:
  const char* what() const noexcept override { return "interrupted"; }
};

struct MeasureOptions {
  double tolerance = 0.01;     // fraction of the plan by which it may differ without a reason
  bool find_maximum = false;   // find the largest context that can really be allocated
  std::function<bool()> stop;  // called often; if true, everything is freed and Interrupted is thrown
  std::function<void(std::string_view step, Bytes done, Bytes all)> progress;
};

// How many of `free` bytes kvplan may allocate. It leaves `margin` of them, and at least 256 MiB, to other processes.
Bytes usable_room(Bytes free, double margin);

// Measures the fullest GPU of `plan`, with a smaller load if the device lacks the memory. If the device refuses, that
// is part of the answer. Nothing stays allocated.
Measurement measure_plan(const ModelSpec& model, const Plan& plan, Device& device, const MeasureOptions& options);

// What a measurement shows about its GPU, for any engine; `date` as "2026-11-21".
CalibrationRecord calibration_of(const Measurement& measurement, std::string_view date);

// `open` opens the device three times, because a context's size is the smallest of three. Throws Interrupted and
// whatever `open` throws. A refusal by the device becomes a remark.
CardMeasurement measure_card(const std::function<std::unique_ptr<Device>()>& open, const MeasureOptions& options);

// The part that later plans use; nothing if other processes moved memory during the measurement.
std::optional<CalibrationRecord> calibration_of(const CardMeasurement& seen, std::string_view date);

// Allocates, in addition to the open context, what libraries take, the weights, the cache (the whole pool if the engine
// allocates one at its start), graphs, and the activations of a full batch. It never takes more than usable_room, and
// frees everything. Returns nothing for main memory, which swaps or freezes instead of refusing, and if the plan does
// not know the weights. Throws Interrupted.
std::optional<Rehearsal> rehearse(const ModelSpec& model, const Plan& plan, Device& device,
                                  const MeasureOptions& options);

// The buffers of one measurement on a device: allocated, written, read back, and freed on every way out.

class DeviceBuffers {
 public:
  // `buffers`: all that will be allocated, for the progress line.
  DeviceBuffers(Device& device, const MeasureOptions& options, const std::vector<CacheBuffer>& buffers);
  ~DeviceBuffers();
  DeviceBuffers(const DeviceBuffers&) = delete;
  DeviceBuffers& operator=(const DeviceBuffers&) = delete;

  // Allocates a buffer and writes all of it. Throws a DeviceError that names the buffer, or Interrupted.
  void hold(const CacheBuffer& buffer);
  // Writes a distinct mark into every granule of every buffer, then reads all back. Throws DeviceError if one has
  // changed.
  void verify();
  // Reads through every buffer once; returns bytes per second.
  double stream();
  Bytes all() const { return all_; }

 private:
  struct Held {
    BufferId id = 0;
    std::string name;
    std::uint64_t bytes = 0;
  };
  template <class Visit>
  void for_each_mark(const Visit& visit);
  void step(std::string_view what, Bytes done) const;

  Device& device_;
  const MeasureOptions& options_;
  Bytes all_, written_;
  std::vector<Held> held_;
};

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

// Ctrl-C during a measurement: everything is freed, then the signal takes effect.

// During its lifetime SIGINT, SIGTERM and SIGHUP are recorded; a second one ends the process at once.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  static bool interrupted();
  // Ends the process as the recorded signal would have.
  [[noreturn]] static void pass_on();

 private:
  struct sigaction before_[3];
};

}  // namespace kvplan
