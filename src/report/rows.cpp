#include "report/rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "engines/engine.h"
#include "formulas/kinds.h"
#include "plan/gpus.h"
#include "plan/verdict.h"
#include "report/text.h"

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

namespace {

// "2 x h100-80gb (92 %)": the cards of the plan, and the share of each that the engine may use.
std::string cards_text(const Plan& plan) {
  const Request& request = plan.request;
  std::string out;
  if (request.gpu_memory)
    out = fmt::format("{:.4g}-GiB card", static_cast<double>(request.gpu_memory->count()) / kGiB);
  else if (request.gpu)
    out = *request.gpu;
  if (out.empty()) return "";
  if (plan.memory.size() > 1) out = fmt::format("{} x {}", plan.memory.size(), out);
  const double share = usable_share_of(plan).value_or(1);
  return share == 1 ? out : out + fmt::format(" ({:.4g}%)", share * 100);
}

}  // namespace

std::string request_text(const Plan& plan) {
  const Request& request = plan.request;
  std::string out = fmt::format("{} x {}, {} {}", plural(plan.load.max_model_len.count(), "token"),
                                plural(request.num_seqs, "sequence"), request.engine, plan.engine_version);
  if (!plan.weights_dtype.empty()) out += ", weights " + plan.weights_dtype;
  out += ", KV " + kv_type_text(plan.types);
  if (request.tensor_parallel > 1) out += fmt::format(", TP {}", request.tensor_parallel);
  if (request.pipeline_parallel > 1) out += fmt::format(", PP {}", request.pipeline_parallel);
  if (request.data_parallel > 1)
    out += fmt::format(", DP {}{}", request.data_parallel, request.dp_attention ? " (attention)" : "");
  if (request.decode_context_parallel > 1) out += fmt::format(", DCP {}", request.decode_context_parallel);
  if (request.expert_parallel) out += ", EP";
  if (const std::string cards = cards_text(plan); !cards.empty()) out += ", " + cards;
  return out;
}

std::optional<double> usable_share_of(const Plan& plan) {
  Request request = plan.request;
  if (!request.gpu && !request.gpu_memory) return request.memory_utilization;
  request.gpu_memory = card_memory(plan);
  return usable_share(engine_of(request), request);
}

std::optional<Bytes> memory_at_start(const Plan& plan) {
  if (!plan.capacity || engine_of(plan.request).cache_budget == nullptr) return std::nullopt;
  const GpuMemory& gpu = fullest_gpu(plan);
  return gpu.total - plan.kv_cache.reserved + plan.capacity->kv_cache_memory;
}

std::string headroom_text(const VerdictReport& verdict) {
  if (!verdict.headroom) return "";
  const double room = static_cast<double>(*verdict.headroom) / kGiB;
  return room >= 0 ? fmt::format("{:.2f} GiB left", room) : fmt::format("{:.2f} GiB missing", -room);
}

std::string close_text(const VerdictReport& verdict) {
  if (!verdict.close) return "";
  return fmt::format("close: {:.2f} GiB either way; {}", static_cast<double>(verdict.either_way.count()) / kGiB,
                     verdict.advice);
}

Bytes host_total(const Plan& plan) {
  Bytes out;
  for (const LedgerLine& line : plan.host) out += line.bytes;
  return out;
}

}  // namespace kvplan
