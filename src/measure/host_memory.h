// What the kernel reports about this machine's memory, and this process's part of it.
#ifndef KVPLAN_MEASURE_HOST_MEMORY_H_
#define KVPLAN_MEASURE_HOST_MEMORY_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kvplan/quantity.h"

namespace kvplan {

struct HostMemory {
  Bytes total;      // of the machine
  Bytes limit;      // for this process: the machine's memory, or the smallest limit of its control groups
  Bytes available;  // can still be allocated without pushing out others
};

// `root` is put before /proc and /sys: a test's folder, else "".
HostMemory host_memory(const std::string& root = "");

// Bytes of memory and swap of the mappings within `ranges`, as `smaps` counts them.
std::uint64_t resident_bytes(std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges, const std::string& smaps);

}  // namespace kvplan

#endif  // KVPLAN_MEASURE_HOST_MEMORY_H_
