// A start of an engine as it was watched from outside: its memory over time, and what each stage of the start took.
#ifndef KVPLAN_WATCHED_H_
#define KVPLAN_WATCHED_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kvplan/quantity.h"

namespace kvplan {

// In the order in which an engine passes through them; an engine may lack some.
enum class StartStage : std::uint8_t {
  kProcess,  // libraries, the driver's context
  kWeights,  // read, and laid out
  kProfile,  // a forward pass that finds the peak of activations
  kCache,    // the cache, and graphs behind it
  kServing,  // what comes before the first request is answered
};

struct MemorySample {
  double seconds = 0;  // since the start was watched
  Bytes memory;
};

struct WatchedStage {
  StartStage stage = StartStage::kProcess;
  double seconds = 0;         // when it was over
  Bytes before, after, peak;  // of the counter
  std::int64_t grew() const { return signed_difference(after.count(), before.count()); }
};

enum class WatchStatus : std::uint8_t {
  kStarted,
  kDied,     // the process ended
  kSteady,   // a running process that was joined, or one whose log tells no start: its memory stood still
  kTooSlow,  // time was over before it started
};

struct Watched {
  WatchStatus status = WatchStatus::kStarted;
  std::string counter;   // what is counted, in words: "resident memory of 2 processes"
  bool is_host = false;  // processes' memory, and none of a card
  std::int64_t pid = 0;
  std::optional<int> exit_code;  // of a process that ended by itself
  std::optional<int> signal;     // that ended it
  double seconds = 0;
  std::size_t samples = 0;
  std::vector<MemorySample> curve;  // some of them, evenly
  std::vector<WatchedStage> stages;
  Bytes peak, last;
  std::string log_file;  // that was kept; "" where none was
  std::vector<std::string> remarks;
};

}  // namespace kvplan

#endif  // KVPLAN_WATCHED_H_
