// Any text is a log, and any log has a diagnosis.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "measure/diagnosis.h"
#include "measure/log_reader.h"
#include "report/report.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto reading = kvplan::read_log(std::string_view(reinterpret_cast<const char*>(data), size));
  for (const auto& seen : reading.observations)
    if (seen.line_number == 0 || seen.line_number > reading.lines) __builtin_trap();
  for (const auto& event : reading.events)
    if (event.line_number == 0 || event.line_number > reading.lines) __builtin_trap();
  kvplan::LogCheck check = kvplan::without_model(reading);
  kvplan::conclude(reading, check);
  for (const char* form : {"table", "markdown", "json"})
    if (kvplan::written(kvplan::reply_of(check), form, "check-log", {}).empty()) __builtin_trap();
  return 0;
}
