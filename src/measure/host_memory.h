// What the kernel says of this machine's memory, and of this process's share.
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
  Bytes limit;      // that this process may use in all: the machine's, or the least of its control groups
  Bytes available;  // that may still be taken without pushing others out
};

// `root` stands before /proc and /sys: a test's own folder, else "".
HostMemory host_memory(const std::string& root = "");

// Bytes of memory and swap behind the mappings whose addresses lie within `ranges`, as `smaps` counts them.
std::uint64_t resident_bytes(std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges, const std::string& smaps);

}  // namespace kvplan

#endif  // KVPLAN_MEASURE_HOST_MEMORY_H_
