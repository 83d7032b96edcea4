// The memory that a started engine uses, counted from outside and without allocating anything.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "kvplan/quantity.h"

namespace kvplan {

class MemoryCounter {
 public:
  MemoryCounter() = default;
  MemoryCounter(const MemoryCounter&) = delete;
  MemoryCounter& operator=(const MemoryCounter&) = delete;
  virtual ~MemoryCounter() = default;
  // Bytes that the processes use now.
  virtual Bytes of(const std::vector<pid_t>& processes) = 0;
  virtual std::string describe() const = 0;
  virtual bool is_host() const { return false; }
  // Sentences about doubts, such as other processes that started or ended. Empty if there are none.
  virtual std::vector<std::string> disturbances() const { return {}; }
};

// Resident memory of the processes.
std::unique_ptr<MemoryCounter> host_counter();
// Memory on all NVIDIA GPUs: of each process where the library lists it, else the growth of the GPUs' own counters
// (in a container the library lists the host's PIDs). Null if there is no library or no
// GPU.
std::unique_ptr<MemoryCounter> nvidia_counter(const std::string& library);

}  // namespace kvplan
