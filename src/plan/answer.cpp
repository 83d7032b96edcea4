#include "plan/answer.h"

#include <algorithm>

#include "kvplan/gpus.h"

namespace kvplan {

std::string layout_name(const Parallel& parallel) {
  std::string out;
  const auto add = [&](std::string_view word, std::uint64_t ranks) {
    if (ranks > 1) out += (out.empty() ? "" : ", ") + std::string(word) + " " + std::to_string(ranks);
  };
  add("TP", parallel.tensor);
  add("PP", parallel.pipeline);
  add("DP", parallel.data);
  if (parallel.data > 1 && parallel.dp_attention) out += " (attention)";
  add("DCP", parallel.decode_context);
  if (out.empty()) return "1 GPU";
  return out + (parallel.expert ? ", EP" : "");
}

Bytes Plan::card_of(std::size_t gpu, Bytes alike) const {
  return request.card.mixed.empty() ? alike : request.card.mixed[gpu % request.card.mixed.size()]->budget();
}

const GpuMemory& Plan::fullest() const {
  if (!request.card.mixed.empty()) {
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

Request Plan::as_asked() const {
  Request out = request;
  out.parallel = asked_parallel;
  return out;
}

Bytes Plan::host_total() const {
  Bytes out;
  for (const LedgerLine& line : host) out += line.bytes;
  return out;
}

}  // namespace kvplan
