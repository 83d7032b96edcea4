// The sum of the memory that a log prints apart from the cache, compared with the plan's range.
#ifndef KVPLAN_MEASURE_LOG_TOTAL_H_
#define KVPLAN_MEASURE_LOG_TOTAL_H_

#include <optional>

#include "kvplan/observation.h"
#include "plan/answer.h"

namespace kvplan {

// For one GPU where ranks print equal figures (vLLM, SGLang), for all GPUs where each device has a line (llama.cpp). A
// part that the log does not print is left out on both sides; the first run in a log counts.
std::optional<LogTotal> log_total(const LogReading& reading, const Plan& plan);

}  // namespace kvplan

#endif  // KVPLAN_MEASURE_LOG_TOTAL_H_
