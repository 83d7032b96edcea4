// What the kernel reports about this machine's memory.
#pragma once

#include <string>

#include "kvplan/quantity.h"

namespace kvplan {

struct HostMemory {
  Bytes total;      // of the machine
  Bytes limit;      // for this process: the machine's memory, or the smallest limit of its control groups
  Bytes available;  // can still be allocated without swapping
};

// `root` is put before /proc and /sys: a test's folder, else "".
HostMemory host_memory(const std::string& root = "");

}  // namespace kvplan
