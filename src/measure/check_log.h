// Compares an engine's start-up log with a plan that is made with the log's options: each figure of the engine next to
// the predicted one.
#pragma once

#include <string_view>
#include <vector>

#include "formulas/model.h"
#include "kvplan/calibration.h"
#include "kvplan/observation.h"
#include "plan/answer.h"

namespace kvplan {

// The request that the log's options make of `base` (options of the command line win). Throws Error if neither the
// log nor the command line names the engine.
Request request_of_log(const LogReading& reading, const Request& base);

// Throws Error(kBadInput) if the text has no known line.
LogCheck check_log(const ModelSpec& model, const Request& base, const LogReading& reading);

// What the log shows about its GPU (--gpu): the peak of activations, memory outside of PyTorch, the graphs. Throws
// Error if it has none of these.
std::vector<CalibrationRecord> calibration_of_log(const ModelSpec& model, const LogCheck& check, std::string_view date);

}  // namespace kvplan
