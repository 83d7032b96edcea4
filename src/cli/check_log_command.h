// The answer of check-log: about a log by itself, or compared with a model's plan.
#pragma once

#include "cli/options.h"
#include "plan/answer.h"

namespace kvplan {

// `call.models` is LOG, or MODEL and LOG. Without MODEL a Hub id that the log names is looked up in the caches. Writes
// the calibration if one was requested.
LogCheck checked_log(const Invocation& call);

}  // namespace kvplan
