// An engine's start-up log against the plan: the plan is made with the options that the log tells, and each figure
// that the engine printed stands beside the predicted one.
#ifndef KVPLAN_MEASURE_CHECK_LOG_H_
#define KVPLAN_MEASURE_CHECK_LOG_H_

#include <string_view>
#include <vector>

#include "formulas/model.h"
#include "kvplan/calibration.h"
#include "kvplan/observation.h"
#include "plan/answer.h"

namespace kvplan {

// The request that a log's own words make of `base` (what the command line named wins). Error where no line told the
// engine and the command line did not.
Request request_of_log(const LogReading& reading, const Request& base);

// Throws Error(kBadInput) where the text holds no known line.
LogCheck check_log(const ModelSpec& model, const Request& base, const LogReading& reading);

// What the log teaches of its card (--gpu): the peak of activations, what lies outside of PyTorch, the graphs. Error
// where it prints none of them.
std::vector<CalibrationRecord> calibration_of_log(const ModelSpec& model, const LogCheck& check, std::string_view date);

}  // namespace kvplan

#endif  // KVPLAN_MEASURE_CHECK_LOG_H_
