#include "plan/answer.h"

#include <algorithm>

#include "kvplan/gpus.h"

namespace kvplan {

Bytes Plan::card_of(std::size_t gpu, Bytes alike) const {
  return request.rig.empty() ? alike : parse_gpu(request.rig[gpu % request.rig.size()]).budget();
}

const GpuMemory& Plan::fullest() const {
  if (!request.rig.empty()) {
    const auto room = [&](std::size_t gpu) {
      return signed_difference(card_of(gpu, Bytes(0)).count(), memory[gpu].total.count());
    };
    std::size_t least = 0;
    for (std::size_t gpu = 1; gpu < memory.size(); ++gpu)
      if (room(gpu) < room(least)) least = gpu;
    return memory[least];
  }
  return *std::max_element(memory.begin(), memory.end(),
                           [](const GpuMemory& a, const GpuMemory& b) { return a.total < b.total; });
}

Bytes Plan::host_total() const {
  Bytes out;
  for (const LedgerLine& line : host) out += line.bytes;
  return out;
}

}  // namespace kvplan
