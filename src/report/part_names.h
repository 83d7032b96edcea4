// The four parts of a GPU's memory, in the order that every form prints them.
#ifndef KVPLAN_REPORT_PART_NAMES_H_
#define KVPLAN_REPORT_PART_NAMES_H_

#include <array>
#include <optional>
#include <string_view>

#include "kvplan/plan.h"

namespace kvplan {

struct PartName {
  Section part;
  std::string_view name;
  std::optional<Bytes> GpuMemory::*bytes;
};
inline constexpr std::array kParts{PartName{Section::kWeights, "weights", &GpuMemory::weights},
                                   PartName{Section::kKvCache, "KV cache", &GpuMemory::kv_cache},
                                   PartName{Section::kActivation, "activations", &GpuMemory::activation},
                                   PartName{Section::kRuntime, "runtime", &GpuMemory::runtime}};

}  // namespace kvplan

#endif  // KVPLAN_REPORT_PART_NAMES_H_
