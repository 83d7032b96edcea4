#include "report/names.h"

#include <algorithm>
#include <cstddef>

namespace kvplan {

// The word of a list in the enumeration's order, separated by spaces; "" after the last one.
template <class Enumeration>
static std::string_view nth_word(Enumeration value, std::string_view words) {
  for (auto n = static_cast<std::size_t>(value); n > 0 && !words.empty(); --n)
    words.remove_prefix(std::min(words.find(' '), words.size() - 1) + 1);
  return words.substr(0, words.find(' '));
}

std::string_view name(Role role) {
  return nth_word(role, "key value state index");
}
std::string_view name(Growth growth) {
  return nth_word(growth, "token source_token sequence");
}
std::string_view name(Verdict verdict) {
  return nth_word(verdict, "fits partly_on_cpu does_not_fit unknown");
}
std::string_view name(NoteLevel level) {
  return nth_word(level, "info warning");
}
std::string_view name(RehearsalStatus status) {
  return nth_word(status, "starts tight stops");
}
std::string_view name(MeasureStatus status) {
  return nth_word(status, "agrees disagrees refused failed");
}
std::string_view name(StartStage stage) {
  return nth_word(stage, "process weights profile cache serving");
}
std::string_view name(WatchStatus status) {
  return nth_word(status, "started died steady too_slow");
}
std::string_view name(LogEventId id) {
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
std::string_view name(LogVerdict verdict) {
  return nth_word(verdict,
                  "started as_planned less_room more_room differs serves_with_trouble did_not_start died cannot_tell");
}
std::string_view name(LogPhase phase) {
  return nth_word(phase, "unknown loading profiling cache graphs serving");
}

}  // namespace kvplan
