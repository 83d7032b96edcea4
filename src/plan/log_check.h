// A start-up log beside the plan: what check-log finds and the reports show.
#ifndef KVPLAN_PLAN_LOG_CHECK_H_
#define KVPLAN_PLAN_LOG_CHECK_H_

#include <optional>
#include <string>
#include <vector>

#include "kvplan/observation.h"
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

}  // namespace kvplan

#endif  // KVPLAN_PLAN_LOG_CHECK_H_
