#include "kvplan/observation.h"

#include "kvplan/quantity.h"
#include "kvplan/strings.h"

namespace kvplan {

static std::optional<double> in_bytes(double value, LogUnit unit) {
  if (unit == LogUnit::kGibibytes) return value * kGiB;
  if (unit == LogUnit::kMebibytes) return value * kMiB;
  return unit == LogUnit::kBytes ? std::optional(value) : std::nullopt;
}

double Observation::bytes() const {
  return in_bytes(value, unit).value_or(0);
}

std::string_view unit_name(LogUnit unit) {
  return nth_word(unit, "GiB|MiB|tokens|blocks|layers|sequences|x||bytes|%|s|", '|');
}

std::string_view name(LogCure cure) {
  return nth_word(cure,
                  "nothing shorter_length larger_share smaller_share smaller_cache_type plain_cache_type more_ranks "
                  "ranks_that_divide pipeline_instead whole_experts smaller_batch larger_batch chunked_prefill "
                  "fewer_sequences fewer_images flash_attention no_graphs free_the_card fixed_cache smaller_weights "
                  "other_weights across_nodes ranks_for_blocks fewer_layers_on_gpu other_split fit_by_itself float16 "
                  "longer_by_override longer_context shorter_input other_kernels other_build newer_release other_card "
                  "more_host_memory as_the_log_says other");
}

const LogValue* LogEvent::value(std::string_view wanted) const {
  for (const LogValue& one : values)
    if (one.name == wanted) return &one;
  return nullptr;
}

double LogEvent::number(std::string_view name) const {
  const LogValue* const one = value(name);
  return one == nullptr ? 0 : one->value;
}

std::optional<double> LogEvent::bytes(std::string_view name) const {
  const LogValue* const one = value(name);
  return one == nullptr ? std::nullopt : in_bytes(one->value, one->unit);
}

bool LogEvent::says(std::string_view name, std::string_view part) const {
  const LogValue* const one = value(name);
  return one != nullptr && one->text.find(part) != std::string::npos;
}

std::optional<double> LogReading::first(std::string_view what) const {
  for (const Observation& seen : observations)
    if (seen.what == what) return seen.value;
  return std::nullopt;
}

std::optional<double> LogReading::smallest(std::string_view what) const {
  std::optional<double> out;
  for (const Observation& seen : observations)
    if (seen.what == what && (!out || seen.value < *out)) out = seen.value;
  return out;
}

std::optional<std::uint64_t> LogReading::count(std::string_view what) const {
  const auto value = first(what);
  if (!value || !(*value >= 1 && *value < 1e15)) return std::nullopt;
  return static_cast<std::uint64_t>(*value);
}

const LogEvent* LogReading::first(LogEventId id) const {
  for (const LogEvent& event : events)
    if (event.id == id) return &event;
  return nullptr;
}

}  // namespace kvplan
