// A card of the catalogue.
#ifndef KVPLAN_GPU_H_
#define KVPLAN_GPU_H_

#include <cstdint>
#include <string_view>

#include "kvplan/quantity.h"

namespace kvplan {

struct Gpu {
  std::string_view vendor;   // "NVIDIA"; the table is sorted by it
  std::string_view name;     // "h100-80gb"
  std::string_view aliases;  // separated by spaces
  std::uint64_t memory_mib;  // that the driver reports, where known; else the nominal size
  std::uint64_t usable_mib;  // that a program sees (CUDA's total, Metal's working set); 0 where nobody recorded it
  bool reported;             // memory_mib is what a driver reports
  bool unified;              // shared with the processor
  double bandwidth_gb_s;     // 10^9 bytes a second; 0 where not known
  std::string_view source;

  // What engines share out: their budgets start from the program's total, not from the driver's.
  Bytes budget() const { return Bytes((usable_mib != 0 ? usable_mib : memory_mib) * kMiB); }
};

}  // namespace kvplan

#endif  // KVPLAN_GPU_H_
