#include "kvplan/observation.h"

#include "kvplan/quantity.h"

namespace kvplan {

double Observation::bytes() const {
  if (unit == LogUnit::kGibibytes) return value * kGiB;
  if (unit == LogUnit::kMebibytes) return value * kMiB;
  if (unit == LogUnit::kBytes) return value;
  return 0;
}

std::string_view unit_name(LogUnit unit) {
  switch (unit) {
    case LogUnit::kGibibytes: return "GiB";
    case LogUnit::kMebibytes: return "MiB";
    case LogUnit::kTokens: return "tokens";
    case LogUnit::kBlocks: return "blocks";
    case LogUnit::kLayers: return "layers";
    case LogUnit::kSequences: return "sequences";
    case LogUnit::kTimes: return "x";
    case LogUnit::kShare: return "";
    case LogUnit::kBytes: return "bytes";
    case LogUnit::kPercent: return "%";
    case LogUnit::kSeconds: return "s";
    case LogUnit::kCount: return "";
  }
  return "";
}

const LogValue* LogEvent::value(std::string_view wanted) const {
  for (const LogValue& one : values)
    if (one.name == wanted) return &one;
  return nullptr;
}

}  // namespace kvplan
