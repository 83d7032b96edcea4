// The reader of kvplan's own JSON plans: any bytes become a digest, or an Error of one line.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "formats/own_files.h"
#include "kvplan/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    kvplan::parse_plan({reinterpret_cast<const char*>(data), size}, "fuzz");
  } catch (const kvplan::Error& error) {
    if (error.line().find('\n') != std::string::npos) __builtin_trap();
  }
  return 0;
}
