
#include <array>
#include <cstdio>
#include <memory>

#include "base/library.h"
#include "cli/commands.h"
#include "engines/engine.h"
#include "kvplan/error.h"
#include "kvplan/progress.h"
#include "measure/diagnosis.h"
#include "measure/measure.h"
#include "measure/watch.h"

namespace kvplan {

static std::unique_ptr<MemoryCounter> counter_of(const std::string& device) {
  if (device == "host") return host_counter();
  auto out = nvidia_counter(environment_or("KVPLAN_NVML", "libnvidia-ml.so.1"));
  if (out == nullptr)
    throw Error(Exit::kNoDevice, "no GPU management library (NVML) was found",
                "use --device host to watch main memory");
  return out;
}

static void show(ProgressLine& progress, const Watched& seen) {
  if (!progress.is_due()) return;
  std::array<char, 128> text{};
  std::snprintf(text.data(), text.size(), "watching process %lld: %.2f GiB, %zu stages",
                static_cast<long long>(seen.pid), static_cast<double>(seen.last.count()) / kGiB, seen.stages.size());
  progress.show(text.data());
}

static WatchedStart watched(const Invocation& call, MemoryCounter& counter) {
  const MeasuringOptions& measuring = call.measuring;
  WatchOptions options;
  options.command = measuring.command;
  options.pid = static_cast<pid_t>(measuring.pid.value_or(0));
  options.engine = engine_of(call.request).name;
  options.keeps_engine = measuring.keep;
  options.stop = InterruptGuard::interrupted;
  std::string left;
  options.on_left_running = [&](pid_t pid, const std::string& log) {
    left = "; the engine keeps running as process " + std::to_string(pid) + ", its log is " + one_line(log, 200);
  };
  const InterruptGuard guard;
  try {
    ProgressLine progress;
    options.progress = [&](const Watched& seen) { show(progress, seen); };
    return watch_start(options, counter);
  } catch (const Interrupted&) {
    if (left.empty()) left = measuring.command.empty() ? "; the engine keeps running" : "; the engine was stopped";
    std::fputs(("kvplan: interrupted" + left + "\n").c_str(), stderr);
    InterruptGuard::pass_on();
  }
}

int run_watch(const Invocation& call, const ModelAndRequest& asked, const ReportOptions& options) {
  const std::unique_ptr<MemoryCounter> counter = counter_of(call.measuring.device);
  WatchedStart start = watched(call, *counter);
  WatchReport report;
  with_source(asked.model.source, [&] {
    const bool has_figures = !start.log.observations.empty();
    report.check = has_figures ? check_log(asked.model, asked.request, start.log) : without_model(start.log);
    conclude(start.log, report.check);
    if (start.seen.status == WatchStatus::kDied && !report.check.engine.empty())
      try_remedies(asked.model, asked.request, start.log, report.check.diagnosis);
    // The plan uses the options that the log shows.
    report.plan = has_figures ? report.check.plan : make_plan(asked.model, asked.request);
  });
  report.seen = std::move(start.seen);
  compare_start(report);
  const bool disturbed = !report.seen.remarks.empty();
  if (!call.measuring.save.empty() && !disturbed && report.check.has_plan && !start.log.observations.empty())
    for (const CalibrationRecord& record : calibration_of_log(asked.model, report.check, today()))
      save_calibration(call.measuring.save, record);
  write_output(call.output, written(reply_of(report), call.format, "a watched start", options));
  return static_cast<int>(report.agrees ? Exit::kAnswered : Exit::kDoesNotFit);
}

}  // namespace kvplan
