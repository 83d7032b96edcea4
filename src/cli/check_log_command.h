// What check-log answers: a log alone, or with the model that it is held against.
#ifndef KVPLAN_CLI_CHECK_LOG_COMMAND_H_
#define KVPLAN_CLI_CHECK_LOG_COMMAND_H_

#include "cli/options.h"
#include "plan/answer.h"

namespace kvplan {

// Of `call.models`: LOG, or MODEL and LOG. Without MODEL a Hub id that the log names is looked up in the caches.
// Writes the calibration where one was asked for.
LogCheck checked_log(const Invocation& call);

}  // namespace kvplan

#endif  // KVPLAN_CLI_CHECK_LOG_COMMAND_H_
