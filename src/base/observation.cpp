#include "kvplan/observation.h"

namespace kvplan {

double Observation::bytes() const {
  if (unit == LogUnit::kGiB) return value * 1073741824.0;
  if (unit == LogUnit::kMiB) return value * 1048576.0;
  return 0;
}

std::string_view unit_name(LogUnit unit) {
  switch (unit) {
    case LogUnit::kGiB: return "GiB";
    case LogUnit::kMiB: return "MiB";
    case LogUnit::kTokens: return "tokens";
    case LogUnit::kBlocks: return "blocks";
    case LogUnit::kLayers: return "layers";
    case LogUnit::kSequences: return "sequences";
    case LogUnit::kTimes: return "x";
    case LogUnit::kShare: return "";
  }
  return "";
}

}  // namespace kvplan
