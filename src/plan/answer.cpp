#include "plan/answer.h"

#include <algorithm>

namespace kvplan {

const GpuMemory& Plan::fullest() const {
  return *std::max_element(memory.begin(), memory.end(),
                           [](const GpuMemory& a, const GpuMemory& b) { return a.total < b.total; });
}

Bytes Plan::host_total() const {
  Bytes out;
  for (const LedgerLine& line : host) out += line.bytes;
  return out;
}

}  // namespace kvplan
