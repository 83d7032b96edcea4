#include "report/rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "formulas/kinds.h"
#include "plan/gpus.h"

namespace kvplan {

LayerFigures layer_figures(const LayerGroup& group, const CacheTypes& types) {
  LayerFigures out;
  for (const Term& term : cache_terms(*group.mixer)) {
    const std::uint64_t entry = entry_bytes(term, types).count();
    if (term.growth == Growth::kToken) out.per_token += entry / term.stride;
    if (term.growth == Growth::kSequence) out.per_sequence += entry;
    if (term.role != Role::kState && term.limit.kind != LimitKind::kNone && out.limit == 0)
      out.limit = term.limit.total().count();
  }
  return out;
}

const GpuMemory& fullest_gpu(const Plan& plan) {
  return *std::max_element(plan.memory.begin(), plan.memory.end(),
                           [](const GpuMemory& a, const GpuMemory& b) { return a.total < b.total; });
}

Bytes card_memory(const Plan& plan) {
  const Request& request = plan.request;
  if (request.gpu_memory) return *request.gpu_memory;
  return request.gpu ? parse_gpu(*request.gpu).budget() : Bytes(0);
}

std::string kv_type_text(const CacheTypes& types) {
  std::string out(name(types.key));
  if (types.value != types.key) out += "/" + std::string(name(types.value));
  return out;
}

std::string headroom_text(const VerdictReport& verdict) {
  if (!verdict.headroom) return "";
  const double room = static_cast<double>(*verdict.headroom) / (1024.0 * 1024.0 * 1024.0);
  return room >= 0 ? fmt::format("{:.2f} GiB left", room) : fmt::format("{:.2f} GiB missing", -room);
}

std::string close_text(const VerdictReport& verdict) {
  if (!verdict.close) return "";
  return fmt::format("close: {:.2f} GiB either way; {}",
                     static_cast<double>(verdict.either_way.count()) / (1024.0 * 1024.0 * 1024.0), verdict.advice);
}

Bytes host_total(const Plan& plan) {
  Bytes out;
  for (const LedgerLine& line : plan.host) out += line.bytes;
  return out;
}

}  // namespace kvplan
