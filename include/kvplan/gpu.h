// One GPU of the catalogue.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kvplan/quantity.h"

namespace kvplan {

// Peak of the matrix cores: dense, 16 bit with 32-bit sums. The other members say how many times faster they multiply
// narrower types if both operands are narrow: 1 if there is no gain or no such core.
struct Peak {
  double tflops = 0;  // 10^12 per second; 0 if not known
  double int8 = 2, fp8 = 1, fp4 = 1;
};

// One GPU of the user's own file (--gpu-file). Sizes are bytes.
struct GpuRecord {
  std::string vendor, name, source;
  std::vector<std::string> aliases;
  std::uint64_t memory = 0;
  std::uint64_t usable = 0;  // 0: not said
  bool reported = true;
  bool unified = false;
  double bandwidth_gb_s = 0;  // 0: not said
};

struct Gpu {
  std::string_view vendor;   // "NVIDIA"; the table is sorted by it
  std::string_view name;     // "h100-80gb"
  std::string_view aliases;  // separated by spaces
  std::uint64_t memory_mib;  // as the driver reports it, if known; else the nominal size
  std::uint64_t usable_mib;  // as a program sees it (CUDA's total, Metal's working set); 0 if not recorded
  bool reported;             // memory_mib is what a driver reports
  bool unified;              // shared with the CPU
  double bandwidth_gb_s;     // 10^9 bytes per second; 0 if not known
  std::string_view source;
  // NVIDIA's compute capability times ten (90 for 9.0), AMD's gfx number (0x90a), Gaudi's generation; 0 for others and
  // if not known.
  std::uint32_t capability = 0;
  Peak peak;

  // The total that a program sees, not the driver's: engines compute their budgets from it.
  Bytes budget() const { return Bytes((usable_mib != 0 ? usable_mib : memory_mib) * kMiB); }
};

// Intel's Gaudi is an accelerator, not a GPU.
inline bool is_gaudi(const Gpu& card) {
  return card.vendor == "Intel" && card.capability > 0;
}

}  // namespace kvplan
