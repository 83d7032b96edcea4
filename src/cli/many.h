// Answers over several engines, GPUs and weight types.
#pragma once

#include <string>
#include <vector>

#include "cli/options.h"
#include "plan/answer.h"
#include "report/report.h"

namespace kvplan {

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

// The command that plans one row of a table, a grid or an answer again: the typed one, with lists, searches and `auto`
// replaced by the row's engine, GPU, types, layout, length and sequences.
OptionValues replay(const Invocation& call, const std::string& source, const Request& planned);

}  // namespace kvplan
