// An engine's start-up log against the plan: the plan is made with the options that the log tells, and each figure
// that the engine printed stands beside the predicted one.
#ifndef KVPLAN_MEASURE_CHECK_LOG_H_
#define KVPLAN_MEASURE_CHECK_LOG_H_

#include <optional>
#include <string>
#include <vector>

#include "formulas/model.h"
#include "measure/log_reader.h"
#include "plan/plan.h"

namespace kvplan {

struct LogLine {
  Observation seen;
  std::optional<double> predicted;  // in the unit of the line; absent: the plan says nothing of it
  bool exact = false;               // arithmetic: a difference is a disagreement
  std::string reason;               // why they differ, or what the line means, where that is known

  double difference() const;  // of predicted from seen, as a share
};

struct LogCheck {
  LogOptions options;
  Plan plan;
  std::vector<LogLine> lines;
  std::size_t disagreements = 0;  // exact lines that are off by more than rounding and 1 %
  std::vector<std::string> remarks;
};

// The request that a log's own words make of `base` (what the command line named wins). Error where no line told the
// engine and the command line did not.
Request request_of_log(const LogReading& reading, const Request& base);

// Throws Error(kBadInput) where the text holds no known line.
LogCheck check_log(const ModelSpec& model, const Request& base, const LogReading& reading);

}  // namespace kvplan

#endif  // KVPLAN_MEASURE_CHECK_LOG_H_
