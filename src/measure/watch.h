// An engine's start, watched: memory sampled until it serves, its log read meanwhile. Nothing is allocated.
#ifndef KVPLAN_MEASURE_WATCH_H_
#define KVPLAN_MEASURE_WATCH_H_

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kvplan/observation.h"
#include "kvplan/watched.h"
#include "measure/memory_counter.h"

namespace kvplan {

struct WatchOptions {
  std::vector<std::string> command;  // to start; empty: `pid` is joined
  pid_t pid = 0;
  std::string engine;          // whose marks end the stages
  bool keeps_engine = false;   // it goes on afterwards
  double patience = 1800;      // seconds until it must have started
  double settles = 2;          // seconds for which memory must stand still behind the start
  double quiet = 60;           // seconds of a silent log and still memory after which no line is waited for
  std::function<bool()> stop;  // asked often; true: end, and throw Interrupted
  std::function<void(const Watched&)> progress;
  // Told of an engine that goes on after `stop`: its process, and the file of what it prints.
  std::function<void(pid_t, const std::string&)> left;
};

struct WatchedStart {
  Watched seen;
  LogReading log;  // empty of a process that was joined
};

// Throws Error(kBadInput) where the command cannot be started or there is no such process, and Interrupted.
WatchedStart watch_start(const WatchOptions& options, MemoryCounter& counter);

// The stage that ends where the engine prints the line; none for other lines.
std::optional<StartStage> stage_ended_by(std::string_view engine, std::string_view line);

}  // namespace kvplan

#endif  // KVPLAN_MEASURE_WATCH_H_
