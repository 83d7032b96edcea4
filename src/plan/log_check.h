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

// What a log prints of one GPU's memory beside the cache, against the plan: weights, activations, runtime.
struct LogPart {
  std::string what;  // "weights", "activation", "non_torch", "cuda_graphs"
  Section part = Section::kWeights;
  Bytes observed, predicted, low, high;
};
struct LogTotal {
  std::vector<LogPart> parts;
  Bytes observed, predicted, low, high;
};

struct LogCheck {
  LogOptions options;
  Plan plan;
  std::vector<LogLine> lines;
  std::optional<LogTotal> total;  // absent where the log prints none of it
  std::size_t compared = 0;       // exact lines that the plan has a figure for
  std::size_t disagreements = 0;  // exact lines that are off by more than rounding and 1 %
  std::vector<std::string> remarks;
};

}  // namespace kvplan

#endif  // KVPLAN_PLAN_LOG_CHECK_H_
