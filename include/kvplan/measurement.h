// A plan held against a real device: what was allocated there, and what it took.
#ifndef KVPLAN_MEASUREMENT_H_
#define KVPLAN_MEASUREMENT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kvplan/calibration.h"
#include "kvplan/quantity.h"

namespace kvplan {

// The device as it was found.
struct DeviceFacts {
  std::string id;                           // "cuda:0"
  std::string name;                         // as the driver has it
  std::string driver;                       // its version
  Bytes nominal;                            // that the driver's own tools report of the card; 0: nobody says
  Bytes usable;                             // that a program sees in all
  Bytes granularity;                        // of an allocation
  std::optional<Bytes> context;             // what opening the device took; absent: nobody counts it
  std::uint64_t least_stream = 256 * kMiB;  // bytes below which caches would answer for the memory
  double margin = 0.02;                     // share of the free memory that is left to others
};

// Buffers of one part of the plan.
struct MeasuredLine {
  std::string what;
  std::uint64_t buffers = 0;
  Bytes planned;
  Bytes rounding;  // at most: every buffer up to whole granules
  Bytes measured;
  std::string reason;  // of a difference; "" where there is none

  std::int64_t difference() const;
  // Bytes of the difference that the granularity does not explain.
  Bytes unexplained() const;
};

// Blocks of one size, wherever they stand among the others.
struct BlockSize {
  Bytes bytes;
  std::uint64_t count = 0;
};

// One thing that an engine takes at its start, in the blocks that its allocator asks of the driver.
struct RehearsedStep {
  std::string what;  // "weights"
  Bytes planned;     // of the plan's ledger
  Bytes asked;       // in the allocator's blocks
  std::uint64_t blocks = 0, held = 0;
  std::vector<BlockSize> sizes{};  // in the order of their first block
};

enum class RehearsalStatus {
  kStarts,  // all of it was held at once
  kTight,   // it would fit, but within the margin that is left to others
  kStops,   // at a block that is not to be had
};

// A start without the engine: what it would take, in its order.
struct Rehearsal {
  RehearsalStatus status = RehearsalStatus::kStarts;
  std::vector<RehearsedStep> steps;
  Bytes free;            // before the first step
  Bytes spare, missing;  // after the last one, on the card as it is now
  std::string stopped;   // "weights, block 112 of 340"; empty where it did not
  std::string reason;    // the driver's words, where it refused
};

// The largest context that really allocates.
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
  kRefused,  // nothing was allocated: it would not have fitted
  kFailed,   // the device refused a call, or did not keep what was written
};

struct Measurement {
  DeviceFacts device;
  Bytes free;  // before anything was allocated
  std::optional<Bytes>
      planned_context;   // what the plan says of opening the device; absent: its engine has no such line
  Bytes used_by_others;  // at that time
  std::optional<std::uint64_t> other_processes;   // absent: nobody says
  std::int64_t others_moved = 0;                  // what the memory of others changed by meanwhile
  std::uint64_t gpu = 0;                          // the GPU of the plan whose share was allocated
  std::uint64_t max_model_len = 0, num_seqs = 0;  // as measured
  std::string scaled;                             // why that is less than the plan; "" where it is not
  std::vector<MeasuredLine> lines;
  Bytes planned, measured;
  double tolerance = 0.01;
  Figure bandwidth;  // bytes read and written a second; n = 0 where the cache is too small to say
  std::optional<MeasuredMaximum> maximum;
  std::optional<Rehearsal> rehearsal;  // absent in host memory, and where the plan does not know the weights
  MeasureStatus status = MeasureStatus::kAgrees;
  std::string reason;

  double difference() const;  // of measured from planned, as a share
};

}  // namespace kvplan

#endif  // KVPLAN_MEASUREMENT_H_
