#include "measure/watch.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <thread>
#include <utility>

#include "engines/engine.h"
#include "kvplan/error.h"
#include "measure/child_process.h"
#include "measure/log_reader.h"
#include "measure/measure.h"
#include "measure/proc.h"

namespace kvplan {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPeriod(50);
constexpr double kTreePeriod = 0.5;      // seconds between two searches for its processes
constexpr double kSteadyWithoutLog = 5;  // seconds without growth, if no log line reports the start
constexpr double kBehind = 0.1;          // seconds between an event and the line that reports it
constexpr std::size_t kMostCurve = 240;
constexpr std::size_t kLongestPrinted = 16384;

// The samples, thinned evenly when there are many.
class Curve {
 public:
  void add(MemorySample sample) {
    if (count_++ % every_ != 0) return;
    samples_.push_back(sample);
    if (samples_.size() < 2 * kMostCurve) return;
    for (std::size_t i = 0; i < kMostCurve; ++i) samples_[i] = samples_[2 * i];
    samples_.resize(kMostCurve);
    every_ *= 2;
  }
  std::size_t count() const { return count_; }
  std::vector<MemorySample> take() { return std::move(samples_); }

 private:
  std::size_t count_ = 0, every_ = 1;
  std::vector<MemorySample> samples_;
};

// How long memory has not changed by more than 1 % and 16 MiB.
class Steadiness {
 public:
  double held(double now, Bytes memory) {
    const double size = static_cast<double>(memory.count());
    const double play = std::max(static_cast<double>(level_.count()) / 100, 16.0 * kMiB);
    if (std::abs(size - static_cast<double>(level_.count())) > play) {
      level_ = memory;
      since_ = now;
    }
    return now - since_;
  }

 private:
  Bytes level_;
  double since_ = 0;
};

// Whether the engine prints a line when the stage ends.
bool tells(std::string_view engine, StartStage stage) {
  for (const Engine& each : engines())
    if (engine.empty() || each.name == engine)
      for (const StageMark& mark : log_of(each).stages)
        if (mark.ended == stage) return true;
  return false;
}

class Watch {
 public:
  Watch(const WatchOptions& options, MemoryCounter& counter) : options_(options), counter_(counter) {}

  // `find` returns the engine's processes.
  template <class Find>
  void sample(const Find& find) {
    const double now = seconds();
    if (processes_.empty() || now - looked_ >= kTreePeriod) {
      processes_ = find();
      looked_ = now;
    }
    const Bytes memory = counter_.of(processes_);
    if (processes_.empty()) return;
    // A printed line causes an extra sample, but the curve takes only one per period.
    if (now >= next_point_) {
      curve_.add({now, memory});
      next_point_ = now + std::chrono::duration<double>(kPeriod).count();
    }
    recent_.push_back({now, memory});
    while (recent_.front().seconds < now - kBehind) recent_.pop_front();
    seen_.last = memory;
    seen_.peak = std::max(seen_.peak, memory);
    peak_of_stage_ = std::max(peak_of_stage_, memory);
    held_ = steadiness_.held(now, memory);
  }

  void read(std::string_view text) {
    if (!text.empty()) printed_ = seconds();
    reader_.piece(text);
    for (const char each : text) {
      if (each != '\n') {
        if (line_.size() < kLongestPrinted) line_ += each;
        continue;
      }
      if (const auto ended = stage_ended_by(options_.engine, line_)) end_stage(*ended);
      line_.clear();
    }
  }

  void end_stage(StartStage stage) {
    // The last rank ends the stage. A line of an earlier stage belongs to another model, a draft.
    if (!seen_.stages.empty() && seen_.stages.back().stage > stage) return;
    if (!seen_.stages.empty() && seen_.stages.back().stage == stage) {
      WatchedStage& same = seen_.stages.back();
      same.seconds = seconds();
      same.after = seen_.last;
      same.peak = std::max(same.peak, peak_of_stage_);
    } else {
      const Bytes before = seen_.stages.empty() ? Bytes(0) : seen_.stages.back().after;
      // Loading begins with the line that ends the process's own stage. That line may be printed and read a little
      // late.
      const bool begins = stage == StartStage::kProcess && !recent_.empty();
      const Bytes after = begins ? std::min(recent_.front().memory, seen_.last) : seen_.last;
      seen_.stages.push_back({stage, seconds(), before, after, std::max(after, peak_of_stage_)});
    }
    peak_of_stage_ = seen_.last;
  }

  // The result if watching ends now; nothing while it continues.
  std::optional<WatchStatus> result(bool is_running) {
    if (!is_running) return WatchStatus::kDied;
    const bool is_settled = held_ >= options_.settles;
    if (options_.command.empty()) {
      if (is_settled) return WatchStatus::kSteady;
    } else if (serves()) {
      if (is_settled) return WatchStatus::kStarted;
    } else if (!tells(options_.engine, StartStage::kServing) && is_settled && held_ >= kSteadyWithoutLog) {
      return WatchStatus::kSteady;
    } else if (std::min(held_, seconds() - printed_) >= options_.quiet) {
      seen_.remarks.push_back("no known log line shows that it serves: its log and memory did not change for " +
                              std::to_string(static_cast<int>(options_.quiet)) + " s");
      return WatchStatus::kSteady;
    }
    return seconds() > options_.patience ? std::optional(WatchStatus::kTooSlow) : std::nullopt;
  }

  bool serves() const { return !seen_.stages.empty() && seen_.stages.back().stage == StartStage::kServing; }
  double seconds() const { return std::chrono::duration<double>(Clock::now() - begun_).count(); }
  Watched& seen() { return seen_; }

  WatchedStart finish() {
    seen_.seconds = seconds();
    seen_.samples = curve_.count();
    seen_.curve = curve_.take();
    seen_.counter = counter_.describe();
    seen_.is_host = counter_.is_host();
    // Memory taken after the last line belongs to the stage that this line ended.
    if (!seen_.stages.empty() && serves()) seen_.stages.back().after = seen_.last;
    // If an engine prints nothing after its process started, it has loaded once its memory stops changing.
    if (seen_.status == WatchStatus::kSteady && !seen_.stages.empty() &&
        seen_.stages.back().stage == StartStage::kProcess && !tells(options_.engine, StartStage::kWeights))
      end_stage(StartStage::kWeights);
    for (std::string& each : counter_.disturbances()) seen_.remarks.push_back(std::move(each));
    return {std::move(seen_), reader_.finish()};
  }

 private:
  const WatchOptions& options_;
  MemoryCounter& counter_;
  Clock::time_point begun_ = Clock::now();
  Watched seen_;
  Curve curve_;
  Steadiness steadiness_;
  LogReader reader_;
  std::string line_;
  std::vector<pid_t> processes_;
  double looked_ = 0, held_ = 0, printed_ = 0, next_point_ = 0;
  std::deque<MemorySample> recent_;
  Bytes peak_of_stage_;
};

}  // namespace

std::optional<StartStage> stage_ended_by(std::string_view engine, std::string_view line) {
  for (const Engine& each : engines())
    if (engine.empty() || each.name == engine)
      for (const StageMark& mark : log_of(each).stages)
        if (line.find(mark.text) != std::string_view::npos) return mark.ended;
  return std::nullopt;
}

WatchedStart watch_start(const WatchOptions& options, MemoryCounter& counter) {
  std::optional<ChildProcess> engine;  // absent if a process that was already running is watched
  if (!options.command.empty())
    engine.emplace(options.command, options.keeps_engine);
  else if (process_tree(options.pid).empty())
    fail("--pid " + std::to_string(options.pid) + ": no such process", "give the id of a running process");
  Watch watch(options, counter);
  Watched& seen = watch.seen();
  seen.pid = engine ? engine->pid() : options.pid;
  for (;;) {
    if (options.stop && options.stop()) {
      if (engine && options.keeps_engine) {
        engine->leave();
        engine->keep_log();
        if (options.on_left_running) options.on_left_running(engine->pid(), engine->log_file());
      }
      throw Interrupted();
    }
    const bool is_running = engine ? engine->is_running() : !process_tree(options.pid).empty();
    // A count taken after a line was printed includes what that line reports.
    const std::string printed = engine ? engine->read_output() : "";
    watch.sample([&] { return engine ? engine->processes() : process_tree(options.pid); });
    watch.read(printed);
    const bool has_more = printed.size() == ChildProcess::kMostAtOnce;
    if (!is_running && has_more) continue;
    if (const auto status = watch.result(is_running)) {
      seen.status = *status;
      break;
    }
    if (options.progress) options.progress(seen);
    if (!engine)
      std::this_thread::sleep_for(kPeriod);
    else if (!has_more)
      engine->wait_for_output(kPeriod);
  }
  if (!engine) return watch.finish();
  if (seen.status == WatchStatus::kDied) {
    seen.exit_code = engine->exit_code();
    seen.signal = engine->signal();
  }
  if (seen.status == WatchStatus::kDied || options.keeps_engine) {
    engine->keep_log();
    seen.log_file = engine->log_file();
  }
  if (options.keeps_engine && seen.status != WatchStatus::kDied) engine->leave();
  return watch.finish();
}

}  // namespace kvplan
