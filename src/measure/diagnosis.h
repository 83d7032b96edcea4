// Why an engine did not start, or what keeps it from serving, found only from its log.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engines/engine.h"
#include "formulas/model.h"
#include "kvplan/calibration.h"
#include "kvplan/observation.h"
#include "plan/answer.h"

namespace kvplan {

// The cause, its figures, how much memory is missing, and remedies as options of the engine, smallest change first.
// Without a cause: kStarted if the log shows a start, else kCannotTell.
Diagnosis diagnose(const LogReading& reading);

// The program that wrote the log, by its options or its events; "" if neither tells.
std::string engine_of_log(const LogReading& reading);

// Whether the engine runs only on CPUs: a larger GPU would not help.
bool runs_on_cpu(const LogReading& reading);

// The check of a log without a model.
LogCheck without_model(const LogReading& reading);
// Adds the engine, the diagnosis and, where a plan was made, whether the start went as planned.
void conclude(const LogReading& reading, LogCheck& check);

// Plans each remedy that is an option of plans, on the log's GPU or `base`'s.
void try_remedies(const ModelSpec& model, const Request& base, const LogReading& reading, Diagnosis& diagnosis);

// The remedies for a cause (measure/remedies.cpp). `diagnosis` must have the cause, the phase and what is missing.
std::vector<LogRemedy> remedies_for(const LogReading& reading, std::string_view engine, const Diagnosis& diagnosis);

// Compares an engine's start-up log with a plan that is made with the log's options: each figure of the engine next to
// the predicted one.

// The request that the log's options and `base` make together; options of the command line take precedence. Throws
// Error if neither the log nor the command line names the engine.
Request request_of_log(const LogReading& reading, const Request& base);

// Throws Error(kBadInput) if the text has no known line.
LogCheck check_log(const ModelSpec& model, const Request& base, const LogReading& reading);

// What the log shows about its GPU (--gpu): the peak of activations, memory outside PyTorch, the graphs. Throws Error
// if it has none of these.
std::vector<CalibrationRecord> calibration_of_log(const ModelSpec& model, const LogCheck& check, std::string_view date);

}  // namespace kvplan
