// Any text is a log.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "measure/log_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto reading = kvplan::read_log(std::string_view(reinterpret_cast<const char*>(data), size));
  for (const auto& seen : reading.observations)
    if (seen.line_number == 0 || seen.line_number > reading.lines) __builtin_trap();
  return 0;
}
