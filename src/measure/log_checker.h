// A log against the plan of one request: the predicted figure for each that the engine printed.
#ifndef KVPLAN_MEASURE_LOG_CHECKER_H_
#define KVPLAN_MEASURE_LOG_CHECKER_H_

#include "formulas/model.h"
#include "measure/log_reader.h"
#include "measure/log_request.h"
#include "plan/answer.h"

namespace kvplan {

// Throws Error where the request makes no sense for the model.
LogCheck check_against(const ModelSpec& model, const LogRequest& stated, const LogReading& reading);

// Whether a line could not be compared, because it depends on options that the log does not name.
bool rests_on_assumptions(const LogCheck& check);

}  // namespace kvplan

#endif  // KVPLAN_MEASURE_LOG_CHECKER_H_
