// Names of enumeration values in JSON and CSV; "" after the last one.
#pragma once

#include <string_view>

#include "kvplan/measurement.h"
#include "kvplan/note.h"
#include "kvplan/observation.h"
#include "kvplan/plan.h"
#include "kvplan/terms.h"
#include "plan/answer.h"

namespace kvplan {

std::string_view name(Role role);
std::string_view name(Growth growth);
std::string_view name(Verdict verdict);
std::string_view name(NoteLevel level);
std::string_view name(MeasureStatus status);
std::string_view name(RehearsalStatus status);
std::string_view name(StartStage stage);
std::string_view name(WatchStatus status);
std::string_view name(LogEventId id);
std::string_view name(LogVerdict verdict);
std::string_view name(LogPhase phase);

}  // namespace kvplan
