// What `kvplan measure card` finds out about a GPU: its identity, the memory that it keeps for itself, how it
// allocates, and how fast it is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kvplan/calibration.h"
#include "kvplan/quantity.h"

namespace kvplan {

// A step of opening the GPU, and the memory that the step took.
struct ContextStage {
  std::string what;
  Bytes took;
};

// The GPU as its driver and the management library describe it.
struct CardFacts {
  std::string uuid;            // "" if neither gives one
  bool is_slice = false;       // part of a partitioned GPU (MIG)
  bool is_integrated = false;  // it uses main memory
  bool is_wsl = false;
  // True: the context is our process's memory. False: it is the growth of the GPU's counter.
  bool is_by_process = false;
  std::optional<bool> corrects_errors;  // ECC
  std::optional<Bytes> reserved;        // memory kept by the driver
  std::vector<ContextStage> stages;     // the steps of opening the context
};

// How much the counter grows for an allocation of `bytes`.
struct SizeProbe {
  Bytes asked, took;
};

struct CardMeasurement {
  std::string id, name, driver;
  CardFacts facts;
  Bytes nominal, usable, free, used_by_others;
  std::optional<std::uint64_t> other_processes;
  std::vector<Bytes> contexts;   // one for each time that the GPU was opened
  std::optional<Bytes> context;  // the smallest of them; absent if it cannot be measured
  Bytes granularity;             // as the driver gives it
  std::vector<SizeProbe> probes;
  Bytes block;        // the block that was read and copied
  Figure read, copy;  // bytes per second; n = 0 if not measured
  std::vector<std::string> remarks;
  bool is_disturbed = false;  // other processes took or freed memory meanwhile, so nothing is saved
};

}  // namespace kvplan
