// kvplan measure: an engine's start watched, or the plan rehearsed on a device.
#ifndef KVPLAN_CLI_WATCH_COMMAND_H_
#define KVPLAN_CLI_WATCH_COMMAND_H_

#include "cli/extras_options.h"
#include "report/report.h"

namespace kvplan {

// Watches the start that --watch or --pid asks for, and reports; the exit code.
int run_watch(const Invocation& call, const Asked& asked, const ReportOptions& options);

}  // namespace kvplan

#endif  // KVPLAN_CLI_WATCH_COMMAND_H_
