// What the commands are made of. First comparisons with reality: devices, watched starts, logs, and the calibration
// files that these write.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/extras_options.h"
#include "cli/options.h"
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

// Puts the calibration that the options name, or the one in the user's folder, into the request. Refuses options that
// contradict each other.
void prepare_measuring(Invocation& call);

// Merges a run into a file, atomically. If two runs do it at the same time, one waits. "default" is the file that later
// plans find by themselves.
void save_calibration(const std::string& path, const CalibrationRecord& record);

std::string today();  // "2026-11-21", UTC

// Watches the start that --watch or --pid names, and reports; returns the exit code.
int run_watch(const Invocation& call, const ModelAndRequest& asked, const ReportOptions& options);

// `call.models` is LOG, or MODEL and LOG. Without MODEL, the caches are searched for a Hub id that the log names.
// Writes the calibration if one was requested.
LogCheck checked_log(const Invocation& call);

// Where a report goes: standard output, or a file, which is replaced atomically if the system can. SECURITY.md has the
// rules.

// "" and "-" are standard output. Throws Error, also for a file that this run has read.
void write_report(const std::string& path, std::string_view text);
// As write_report, but allows a file that this run has read: for files that are read, changed and written again.
void write_output(const std::string& path, std::string_view text);

// The folder that a path is in; "." if it names none.
std::string folder_of(const std::string& path);

// Answers over several engines, GPUs and weight types.

struct Answered {
  std::string text;
  int exit = 0;
  std::vector<std::string> errors;  // for what could not be planned
  bool any = false;                 // at least one was planned

  void planned(const Plan& plan);
  void failed(const Error& error, const std::string& line);
};

int exit_of(const Plan& plan);

// Limits the cost of many answers together. Each input has its own limits, but an untrusted folder may have ten
// thousand inputs that reach them.
class ManyAnswers {
 public:
  explicit ManyAnswers(const Invocation& call);
  // Call it before each model. Throws Error if the previous models took too much CPU time.
  void next();

 private:
  double seconds_ = 10;
  double each_ = 0;
  bool is_first_ = true;
};

// Whether the call prints a table of models and GPUs.
bool is_grid(const Invocation& call);
// Models as rows, GPUs as columns; each engine and weight type is a separate row.
Answered answer_grid(const Invocation& call, const std::vector<std::string>& sources, const ReportOptions& options);
// Plans of each model, for each engine and weight type that the call lists.
Answered answer_models(const Invocation& call, const std::vector<std::string>& sources, const ReportOptions& options);
// A plan of each of several commands.
Answered answer_pasted(const Invocation& call, const ReportOptions& options);
// `compare` for one model, over the engines, GPUs and types that the call lists.
Answered answer_compared(const Invocation& call, const std::string& source, const ReportOptions& options);
// `fit` for one model, for each engine and GPU.
Answered answer_fits(const Invocation& call, const std::string& source, const ReportOptions& options);

// The command that plans one row of a table, a grid or an answer again. It is the typed command with lists, searches
// and `auto` replaced by the row's engine, GPU, types, layout, length and sequences.
OptionValues replay(const Invocation& call, const std::string& source, const Request& planned);

}  // namespace kvplan
