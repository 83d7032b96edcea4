// Names of enumeration values in JSON and CSV; "" after the last one.
#pragma once

#include <string_view>

#include "kvplan/measurement.h"
#include "kvplan/note.h"
#include "kvplan/observation.h"
#include "kvplan/plan.h"
#include "kvplan/strings.h"
#include "kvplan/terms.h"
#include "plan/answer.h"

namespace kvplan {

inline std::string_view name(Role role) {
  return nth_word(role, "key value state index");
}
inline std::string_view name(Growth growth) {
  return nth_word(growth, "token source_token sequence");
}
inline std::string_view name(Verdict verdict) {
  return nth_word(verdict, "fits partly_on_cpu does_not_fit unknown");
}
inline std::string_view name(NoteLevel level) {
  return nth_word(level, "info warning");
}
inline std::string_view name(RehearsalStatus status) {
  return nth_word(status, "starts tight stops");
}
inline std::string_view name(MeasureStatus status) {
  return nth_word(status, "agrees disagrees refused failed");
}
inline std::string_view name(StartStage stage) {
  return nth_word(stage, kStartStageWords);
}
inline std::string_view name(WatchStatus status) {
  return nth_word(status, "started died steady too_slow");
}
inline std::string_view name(LogEventId id) {
  return nth_word(id, kLogEventWords);
}
inline std::string_view name(LogVerdict verdict) {
  return nth_word(verdict,
                  "started as_planned less_room more_room differs serves_with_trouble did_not_start died cannot_tell");
}
inline std::string_view name(LogPhase phase) {
  return nth_word(phase, "unknown loading profiling cache graphs serving");
}

}  // namespace kvplan
