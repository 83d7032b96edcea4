// Why an engine did not start, or what keeps it from serving: from its log alone.
#ifndef KVPLAN_MEASURE_DIAGNOSIS_H_
#define KVPLAN_MEASURE_DIAGNOSIS_H_

#include <string>
#include <string_view>
#include <vector>

#include "formulas/model.h"
#include "kvplan/observation.h"
#include "plan/answer.h"

namespace kvplan {

// The cause, its figures, what is short, and remedies in the engine's own options, least loss first. A log without a
// cause: kStarted where it tells of a start, else kCannotTell.
Diagnosis diagnose(const LogReading& reading);

// The engine whose log it is, by its options or by its events; "" where neither tells.
std::string engine_of_log(const LogReading& reading);

// Whether the engine runs on processors alone: there is no card to give it more of.
bool runs_on_cpu(const LogReading& reading);

// What the log alone tells, without a model.
LogCheck without_model(const LogReading& reading);
// The engine, the diagnosis and, where a plan was made, whether the start went as planned.
void conclude(const LogReading& reading, LogCheck& check);

// Plans each remedy that a plan knows, on the card of the log or of `base`.
void try_remedies(const ModelSpec& model, const Request& base, const LogReading& reading, Diagnosis& diagnosis);

// The remedies for a cause (measure/remedies.cpp). `diagnosis` has the cause, the phase and what is missing.
std::vector<LogRemedy> remedies_for(const LogReading& reading, std::string_view engine, const Diagnosis& diagnosis);

}  // namespace kvplan

#endif  // KVPLAN_MEASURE_DIAGNOSIS_H_
