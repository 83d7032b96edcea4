// Watches an engine's start: samples its memory until it serves, and reads its log. Nothing is allocated.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kvplan/observation.h"
#include "kvplan/quantity.h"
#include "kvplan/watched.h"
#include "plan/answer.h"

namespace kvplan {

// The memory that a started engine uses, counted from outside and without allocating anything.
class MemoryCounter {
 public:
  MemoryCounter() = default;
  MemoryCounter(const MemoryCounter&) = delete;
  MemoryCounter& operator=(const MemoryCounter&) = delete;
  virtual ~MemoryCounter() = default;
  // Bytes that the processes use now.
  virtual Bytes of(const std::vector<pid_t>& processes) = 0;
  virtual std::string describe() const = 0;
  virtual bool is_host() const { return false; }
  // One sentence per doubt, such as another process that started or ended.
  virtual std::vector<std::string> disturbances() const { return {}; }
};

// Resident memory of the processes.
std::unique_ptr<MemoryCounter> host_counter();
// Memory on all NVIDIA GPUs: of each process if the library lists it, otherwise the growth of the GPUs' own counters
// (in a container the library lists the host's PIDs). Null if there is no library or no GPU.
std::unique_ptr<MemoryCounter> nvidia_counter(const std::string& library);

struct WatchOptions {
  std::vector<std::string> command;  // the program to start; empty: `pid` is watched
  pid_t pid = 0;
  std::string engine;         // the engine whose log lines end the stages
  bool keeps_engine = false;  // the engine keeps running afterwards
  double patience = 1800;     // seconds in which it must start
  double settles = 2;         // seconds for which memory must not change after the start
  double quiet = 60;  // seconds without new log lines and memory changes after which no line is expected any more
  std::function<bool()> stop;  // called often; if true, watching ends and Interrupted is thrown
  std::function<void(const Watched&)> progress;
  // Called for an engine that keeps running after `stop`, with its process and the file of its output.
  std::function<void(pid_t, const std::string&)> on_left_running;
};

struct WatchedStart {
  Watched seen;
  LogReading log;  // empty for a process that was already running
};

// Throws Error(kBadInput) if the command cannot be started or there is no such process; throws Interrupted.
WatchedStart watch_start(const WatchOptions& options, MemoryCounter& counter);

// The stage that ends when the engine prints this line. Nothing for other lines.
std::optional<StartStage> stage_ended_by(std::string_view engine, std::string_view line);

// Compares a watched start with its plan, stage by stage: fills the lines and the verdict from `plan`, `seen` and
// `check`.
void compare_start(WatchReport& report);

}  // namespace kvplan
