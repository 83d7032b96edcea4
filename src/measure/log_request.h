// The request that a log's options make, and what has to be assumed where the log is silent.
#pragma once

#include "engines/log_request.h"

namespace kvplan {

// Options in `base` win. Throws Error where neither a line nor `base` names the engine.
LogRequest read_request(const LogReading& reading, const Request& base);

}  // namespace kvplan
