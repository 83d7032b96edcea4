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
  return nth_word(stage, "process weights profile cache serving");
}
inline std::string_view name(WatchStatus status) {
  return nth_word(status, "started died steady too_slow");
}
inline std::string_view name(LogEventId id) {
  return nth_word(
      id,
      "cache_too_small no_cache_memory free_memory_short out_of_memory graphs_failed buffer_failed "
      "compute_failed cache_failed weights_failed buffer_limit weights_limit fit_failed does_not_fit_devices "
      "component_failed memory_unbalanced host_out_of_memory exited leak no_bfloat16 "
      "quantization_needs_card no_attention_backend block_does_not_divide heads_do_not_divide "
      "length_beyond_model batch_below_length too_few_cards cache_type_needs_flash no_kernel shared_memory "
      "unknown_architecture too_many_sequences refused died raised retried fit_reduced breakdown "
      "device_free projected flash_forced_off spilled no_gpu graphs_done started request_too_long preempted "
      "projector_failed traffic memory_hint room_left phase compiled mark");
}
inline std::string_view name(LogVerdict verdict) {
  return nth_word(verdict,
                  "started as_planned less_room more_room differs serves_with_trouble did_not_start died cannot_tell");
}
inline std::string_view name(LogPhase phase) {
  return nth_word(phase, "unknown loading profiling cache graphs serving");
}

}  // namespace kvplan
