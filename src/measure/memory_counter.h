// What a started engine holds, counted from outside and without allocating anything.
#ifndef KVPLAN_MEASURE_MEMORY_COUNTER_H_
#define KVPLAN_MEASURE_MEMORY_COUNTER_H_

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
  // Bytes that the processes hold now.
  virtual Bytes of(const std::vector<pid_t>& processes) = 0;
  virtual std::string describe() const = 0;
  virtual bool is_host() const { return false; }
  // What makes its figures doubtful, each in a sentence: others that came or went. Empty where nothing does.
  virtual std::vector<std::string> disturbances() const { return {}; }
};

// Resident memory of the processes.
std::unique_ptr<MemoryCounter> host_counter();
// Memory on all of NVIDIA's cards, by process where the library tells it, else by what the cards' own counters grew by
// (in a container the library names processes as the host numbers them). Null where there is no library or no card.
std::unique_ptr<MemoryCounter> nvidia_counter(const std::string& library);

}  // namespace kvplan

#endif  // KVPLAN_MEASURE_MEMORY_COUNTER_H_
