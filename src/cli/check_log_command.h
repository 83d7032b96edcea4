// The answer of check-log: about a log alone, or against the plan of a model.
#pragma once

#include "cli/options.h"
#include "plan/answer.h"

namespace kvplan {

// `call.models` is LOG, or MODEL and LOG. Without MODEL a Hub id that the log names is looked up in the caches. Writes
// the calibration where one was asked for.
LogCheck checked_log(const Invocation& call);

}  // namespace kvplan
