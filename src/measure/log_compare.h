// Compares figures of a log with the ledger of a plan: buffers of devices, pools of tokens.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "engines/log_request.h"
#include "formulas/model.h"
#include "measure/log_reader.h"
#include "plan/answer.h"

namespace kvplan {

// Whether they are equal to the last digit that the line prints.
bool agrees(const LogLine& line);
double in_unit(double value, LogUnit unit);

// The GPU that llama.cpp names "CUDA1", "CUDA1_Split", "Metal"; the first one for "", null for host memory.
const GpuMemory* gpu_of(const Plan& plan, std::string_view device);

// What the plan's lines say about a figure that logs print ("weights", "compute_buffer"); nothing for other figures.
std::optional<LogPart> planned_part(const std::vector<LedgerLine>& lines, std::string_view what);

// llama.cpp's caches: each line that matches one part of the plan, and the sum of the others. If only the sum over
// devices is known, it is compared.
void compare_buffers(const Plan& plan, std::vector<LogLine>& lines);

// The memory that a log prints apart from the cache, with the plan's range: for one GPU if ranks print equal figures
// (vLLM, SGLang), for all GPUs if each device has a line (llama.cpp). A part that the log does not print is left out of
// both sums.
std::optional<LogTotal> log_total(const LogReading& reading, const Plan& plan);

// The bytes of a plan's tokens on its first GPU, without states.
struct PoolBytes {
  double all = 0, keys = 0;
};
PoolBytes pool_bytes(const Plan& plan);

// Throws Error if the request makes no sense for the model.
LogCheck check_against(const ModelSpec& model, const LogRequest& stated, const LogReading& reading);

// Whether a line could not be compared, because it depends on options that the log does not name.
bool rests_on_assumptions(const LogCheck& check);

// The request from a log's options, and the assumptions for what the log does not show. Options in `base` win. Throws
// Error if neither a line nor `base` names the engine.
LogRequest read_request(const LogReading& reading, const Request& base);

}  // namespace kvplan
