// A plan measured on a real device: what was allocated, and how much memory it took.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kvplan/calibration.h"
#include "kvplan/quantity.h"

namespace kvplan {

// The device as it was before the measurement.
struct DeviceFacts {
  std::string id;                           // "cuda:0"
  std::string name;                         // the driver's name for it
  std::string driver;                       // its version
  Bytes nominal;                            // as the driver's own tools report it; 0 if they report none
  Bytes usable;                             // as a program sees it
  Bytes granularity;                        // the unit that an allocation is rounded up to
  std::optional<Bytes> context;             // memory that opening the device took; absent if nothing counts it
  std::uint64_t least_stream = 256 * kMiB;  // the smallest read that measures memory rather than caches
  double margin = 0.02;                     // fraction of the free memory left to other processes
};

// The buffers of one part of the plan.
struct MeasuredLine {
  std::string what;
  std::uint64_t buffers = 0;
  Bytes planned;
  Bytes rounding;  // at most: each buffer rounded up to the granularity
  Bytes measured;
  std::string reason;  // why planned and measured bytes differ; "" if they do not

  std::int64_t difference() const { return signed_difference(measured.count(), planned.count()); }
  // The difference beyond what the granularity explains.
  Bytes unexplained() const {
    if (measured < planned) return planned - measured;
    const Bytes most = planned + rounding;
    return measured > most ? measured - most : Bytes(0);
  }
};

// Blocks of one size, in any order.
struct BlockSize {
  Bytes bytes;
  std::uint64_t count = 0;
};

// One step of an engine's start, in the blocks that its allocator requests from the driver.
struct RehearsedStep {
  std::string what;  // "weights"
  Bytes planned;     // from the plan's ledger
  Bytes asked;       // in whole blocks of the allocator
  std::uint64_t blocks = 0, held = 0;
  std::vector<BlockSize> sizes{};  // in the order of their first block
};

enum class RehearsalStatus {
  kStarts,  // all steps were allocated at the same time
  kTight,   // it fits only with the margin that is left to other processes
  kStops,   // it failed at a block that could not be allocated
};

// A rehearsed start: the engine's allocations in their order, but not the engine.
struct Rehearsal {
  RehearsalStatus status = RehearsalStatus::kStarts;
  std::vector<RehearsedStep> steps;
  Bytes free;            // before the first step
  Bytes spare, missing;  // after the last one, on the GPU as it is now
  std::string stopped;   // "weights, block 112 of 340"; empty if all were allocated
  std::string reason;    // the driver's words for the refusal
};

// The largest context that can really be allocated.
struct MeasuredMaximum {
  std::uint64_t max_model_len = 0;
  std::uint64_t num_seqs = 1;
  Bytes bytes;
  std::uint64_t tries = 0;  // allocations of the whole cache
  std::string limited_by;
};

enum class MeasureStatus {
  kAgrees,
  kDisagrees,
  kRefused,  // nothing was allocated, because it would not fit
  kFailed,   // the device refused a call, or did not return what was written
};

struct Measurement {
  DeviceFacts device;
  Bytes free;  // memory before anything was allocated
  // The plan's figure for opening the device; absent if its engine has no such line.
  std::optional<Bytes> planned_context;
  Bytes used_by_others;                           // before anything was allocated
  std::optional<std::uint64_t> other_processes;   // absent: unknown
  std::int64_t others_moved = 0;                  // how much other processes' memory changed during the measurement
  std::uint64_t gpu = 0;                          // the planned GPU whose part was allocated
  std::uint64_t max_model_len = 0, num_seqs = 0;  // as measured
  std::string scaled;  // why the measured sequences or tokens are fewer than the plan's; "" if they are not
  std::vector<MeasuredLine> lines;
  Bytes planned, measured;
  double tolerance = 0.01;
  Figure bandwidth;  // bytes read and written a second; n = 0 if the cache is too small to say
  std::optional<MeasuredMaximum> maximum;
  std::optional<Rehearsal> rehearsal;  // absent in host memory, and where the plan does not know the weights
  MeasureStatus status = MeasureStatus::kAgrees;
  std::string reason;

  // (measured - planned) / planned
  double difference() const {
    if (planned == Bytes(0)) return measured == Bytes(0) ? 0 : 1;
    return static_cast<double>(measured.count()) / static_cast<double>(planned.count()) - 1;
  }
};

}  // namespace kvplan
