// Any bytes are a calibration that can be written and read again, or an Error of one line.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "formats/own_files.h"
#include "kvplan/error.h"
#include "report/report.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const kvplan::Calibration read =
        kvplan::parse_calibration(std::string_view(reinterpret_cast<const char*>(data), size));
    kvplan::Calibration merged = read;
    for (const kvplan::CalibrationRecord& record : read.records) {
      if (record.figures.empty()) __builtin_trap();
      for (const kvplan::NamedFigure& each : record.figures)
        if (each.figure.n == 0 || !(each.figure.low <= each.figure.mean && each.figure.mean <= each.figure.high))
          __builtin_trap();
      merged.merge(record);
    }
    const std::string text = kvplan::calibration_json(merged);
    if (kvplan::calibration_json(kvplan::parse_calibration(text)) != text) __builtin_trap();
  } catch (const kvplan::Error& error) {
    const std::string line = error.line();
    if (line.find('\n') != std::string::npos || !line.starts_with("kvplan: ")) __builtin_trap();
  }
  return 0;
}
