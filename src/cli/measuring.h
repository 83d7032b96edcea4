// Comparisons with reality: devices, watched starts, logs, and the calibration files that they write.
#pragma once

#include <string>

#include "cli/extras_options.h"
#include "kvplan/calibration.h"
#include "plan/answer.h"
#include "report/report.h"

namespace kvplan {

// Plans, measures and reports; returns the exit code.
int run_measure(const Invocation& call, const ModelAndRequest& asked, const ReportOptions& options);

// Measures only the GPU and reports; returns the exit code.
int run_card(const Invocation& call, const ReportOptions& options);

// Checks, before a long measurement, that its result can be written.
void check_writable(const std::string& path);

// Puts the calibration that the options name (or the user's folder has) into the request, and refuses options that
// contradict each other.
void prepare_measuring(Invocation& call);

// Merges a run into a file, atomically; two runs at a time wait for each other. "default" is the file that later plans
// find by themselves.
void save_calibration(const std::string& path, const CalibrationRecord& record);

std::string today();  // "2026-11-21", UTC

// Watches the start that --watch or --pid names, and reports; returns the exit code.
int run_watch(const Invocation& call, const ModelAndRequest& asked, const ReportOptions& options);

// `call.models` is LOG, or MODEL and LOG. Without MODEL a Hub id that the log names is looked up in the caches. Writes
// the calibration if one was requested.
LogCheck checked_log(const Invocation& call);

}  // namespace kvplan
