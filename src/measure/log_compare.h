// Figures of a log against the ledger of a plan: buffers of devices, pools of tokens.
#ifndef KVPLAN_MEASURE_LOG_COMPARE_H_
#define KVPLAN_MEASURE_LOG_COMPARE_H_

#include <string_view>
#include <vector>

#include "plan/answer.h"

namespace kvplan {

// Whether they are the same to the last digit that the line prints.
bool agrees(const LogLine& line);
double in_unit(double value, LogUnit unit);

// The GPU that llama.cpp calls "CUDA1", "CUDA1_Split", "Metal"; the first one for "", null for host memory.
const GpuMemory* gpu_of(const Plan& plan, std::string_view device);

// llama.cpp's caches: each line that has a part of the plan to itself, and the sum of those that have not. Where only
// the sum over devices is known, that is compared.
void compare_buffers(const Plan& plan, std::vector<LogLine>& lines);

// What the tokens of a plan take on its first GPU, states left out.
struct PoolBytes {
  double all = 0, keys = 0;
};
PoolBytes pool_bytes(const Plan& plan);

}  // namespace kvplan

#endif  // KVPLAN_MEASURE_LOG_COMPARE_H_
