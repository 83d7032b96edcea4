// Why an engine did not start, or what keeps it from serving, found only from its log.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engines/engine.h"
#include "engines/log_request.h"
#include "formulas/model.h"
#include "kvplan/calibration.h"
#include "kvplan/observation.h"
#include "measure/log_reader.h"
#include "plan/answer.h"

namespace kvplan {

// The cause, its figures, how much memory is missing, and remedies as options of the engine, smallest change first.
// Without a cause: kStarted if the log shows a start, else kCannotTell.
Diagnosis diagnose(const LogReading& reading);

// The program that wrote the log, by its options or its events; "" if neither shows it.
std::string engine_of_log(const LogReading& reading);

// Whether the engine runs only on CPUs: a larger GPU would not help.
bool runs_on_cpu(const LogReading& reading);

// The check of a log without a model.
LogCheck without_model(const LogReading& reading);
// Adds the engine, the diagnosis and, if there is a plan, whether the start went as planned.
void conclude(const LogReading& reading, LogCheck& check);

// Plans each remedy that is a kvplan option, on the log's GPU or `base`'s.
void try_remedies(const ModelSpec& model, const Request& base, const LogReading& reading, Diagnosis& diagnosis);

// The remedies for a cause (measure/remedies.cpp). `diagnosis` must have the cause, the phase and what is missing.
std::vector<LogRemedy> remedies_for(const LogReading& reading, std::string_view engine, const Diagnosis& diagnosis);

// Compares an engine's start-up log with a plan that uses the log's options. Each figure of the engine is next to
// the planned one.

// Combines the log's options with `base`; options of the command line take precedence. Throws Error if neither names
// the engine.
Request request_of_log(const LogReading& reading, const Request& base);

// Throws Error(kBadInput) if the text has no known line.
LogCheck check_log(const ModelSpec& model, const Request& base, const LogReading& reading);

// What the log shows about its GPU (--gpu): the activation peak, memory outside PyTorch, and CUDA graphs. Throws Error
// if it has none of these.
std::vector<CalibrationRecord> calibration_of_log(const ModelSpec& model, const LogCheck& check, std::string_view date);

// Compares figures of a log with the ledger of a plan: buffers of devices, pools of tokens.

// Whether they are equal to the last digit that the line prints.
bool agrees(const LogLine& line);
double in_unit(double value, LogUnit unit);

// The GPU that llama.cpp names "CUDA1", "CUDA1_Split", "Metal"; the first one for "", null for host memory.
const GpuMemory* gpu_of(const Plan& plan, std::string_view device);

// The plan's figure for something that logs print ("weights", "compute_buffer"); nothing for other figures.
std::optional<LogPart> planned_part(const std::vector<LedgerLine>& lines, std::string_view what);

// Compares llama.cpp's caches: each line that matches one part of the plan, and the others by their sum. If the log
// only has the sum over devices, that is compared.
void compare_buffers(const Plan& plan, std::vector<LogLine>& lines);

// The memory without the KV cache according to a log, with the plan's range. It is for one GPU if all ranks print the
// same figures (vLLM, SGLang), and for all GPUs if each device has a line (llama.cpp). A part that the log does not
// print is left out of both sums.
std::optional<LogTotal> log_total(const LogReading& reading, const Plan& plan);

// The bytes of a plan's tokens on its first GPU, without states.
struct PoolBytes {
  double all = 0, keys = 0;
};
PoolBytes pool_bytes(const Plan& plan);

// Throws Error if the request makes no sense for the model.
LogCheck check_against(const ModelSpec& model, const LogRequest& stated, const LogReading& reading);

// Whether a line could not be compared because it depends on options that the log does not name.
bool rests_on_assumptions(const LogCheck& check);

// The request from a log's options, and assumptions for whatever the log does not show. Options in `base` take
// precedence. Throws Error if neither a line nor `base` names the engine.
LogRequest read_request(const LogReading& reading, const Request& base);

}  // namespace kvplan
