// An engine's start-up log against the plan: the plan is made with the options that the log tells, and each figure
// that the engine printed stands beside the predicted one.
#ifndef KVPLAN_MEASURE_CHECK_LOG_H_
#define KVPLAN_MEASURE_CHECK_LOG_H_

#include "formulas/model.h"
#include "kvplan/observation.h"
#include "plan/log_check.h"

namespace kvplan {

// The request that a log's own words make of `base` (what the command line named wins). Error where no line told the
// engine and the command line did not.
Request request_of_log(const LogReading& reading, const Request& base);

// Throws Error(kBadInput) where the text holds no known line.
LogCheck check_log(const ModelSpec& model, const Request& base, const LogReading& reading);

}  // namespace kvplan

#endif  // KVPLAN_MEASURE_CHECK_LOG_H_
