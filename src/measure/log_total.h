// The memory that a log prints beside the cache, added up and held against the plan's range.
#ifndef KVPLAN_MEASURE_LOG_TOTAL_H_
#define KVPLAN_MEASURE_LOG_TOTAL_H_

#include <optional>

#include "kvplan/observation.h"
#include "plan/answer.h"

namespace kvplan {

// Of one GPU where ranks print alike (vLLM, SGLang), of all GPUs where devices do (llama.cpp). A part that the log does
// not print is left out on both sides; the first run of a log counts.
std::optional<LogTotal> log_total(const LogReading& reading, const Plan& plan);

}  // namespace kvplan

#endif  // KVPLAN_MEASURE_LOG_TOTAL_H_
