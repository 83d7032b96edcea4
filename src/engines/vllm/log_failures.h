// Lines of vLLM's log about failures, refusals and traffic.
#pragma once

#include <span>

#include "engines/log_lines.h"

namespace kvplan {

extern const std::span<const LogTemplate> kVllmLogEvents;

}  // namespace kvplan
