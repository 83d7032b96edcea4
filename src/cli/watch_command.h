// kvplan measure: watches an engine's start, or rehearses the plan on a device.
#pragma once

#include "cli/extras_options.h"
#include "report/report.h"

namespace kvplan {

// Watches the start that --watch or --pid names, and reports; returns the exit code.
int run_watch(const Invocation& call, const ModelAndRequest& asked, const ReportOptions& options);

}  // namespace kvplan
