// An engine's start as watched from outside: its memory over time, and what each stage took.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kvplan/quantity.h"

namespace kvplan {

// In the order in which engines go through them. An engine may lack some.
inline constexpr std::string_view kStartStageWords = "process weights profile cache serving";
enum class StartStage : std::uint8_t {
  kProcess,  // libraries, the driver's context
  kWeights,  // weights are read and placed
  kProfile,  // a forward pass that finds the peak of activations
  kCache,    // the cache, then the graphs
  kServing,  // up to the answer to the first request
};

struct MemorySample {
  double seconds = 0;  // since watching began
  Bytes memory;
};

struct WatchedStage {
  StartStage stage = StartStage::kProcess;
  double seconds = 0;         // when the stage ended
  Bytes before, after, peak;  // readings of the counter
  std::int64_t grew() const { return signed_difference(after.count(), before.count()); }
};

enum class WatchStatus : std::uint8_t {
  kStarted,
  kDied,     // the process ended
  kSteady,   // its memory stopped changing, but there is no log, or the log does not show a start
  kTooSlow,  // the time limit passed before it had started
};

struct Watched {
  WatchStatus status = WatchStatus::kStarted;
  std::string counter;   // what is counted: "resident memory of 2 processes"
  bool is_host = false;  // the processes' memory, not a GPU's
  std::int64_t pid = 0;
  std::optional<int> exit_code;  // of a process that ended by itself
  std::optional<int> signal;     // that ended the process
  double seconds = 0;
  std::size_t samples = 0;
  std::vector<MemorySample> curve;  // evenly spaced samples
  std::vector<WatchedStage> stages;
  Bytes peak, last;
  std::string log_file;  // the log file that was kept; "" if none was
  std::vector<std::string> remarks;
};

}  // namespace kvplan
