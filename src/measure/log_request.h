// The request from a log's options, and the assumptions for what the log does not show.
#pragma once

#include "engines/log_request.h"

namespace kvplan {

// Options in `base` win. Throws Error if neither a line nor `base` names the engine.
LogRequest read_request(const LogReading& reading, const Request& base);

}  // namespace kvplan
