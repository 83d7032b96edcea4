#include "report/rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/text.h"

namespace kvplan {

std::string title_of(const ModelFacts& model) {
  const std::string& name = model.architecture.empty() ? model.model_type : model.architecture;
  return name.empty() ? "a model without a name" : one_line(name, 100);
}

std::string kind_of(const LayerFacts& layer) {
  std::string out(layer.kind.name);
  if (!layer.variant.empty()) out += " (" + std::string(layer.variant) + ")";
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
  const double share = plan.usable_share.value_or(1);
  return share == 1 ? out : out + fmt::format(" ({:.4g}%)", share * 100);
}

}  // namespace

std::string request_text(const Plan& plan) {
  const Request& request = plan.request;
  std::string out = fmt::format("{} x {}, {} {}", plural(plan.load.max_model_len.count(), "token"),
                                plural(request.num_seqs, "sequence"), request.engine, plan.engine_version);
  if (!plan.weights_dtype.empty()) out += ", weights " + plan.weights_dtype;
  out += ", KV " + cache_types_name(plan.types);
  if (request.tensor_parallel > 1) out += fmt::format(", TP {}", request.tensor_parallel);
  if (request.pipeline_parallel > 1) out += fmt::format(", PP {}", request.pipeline_parallel);
  if (request.data_parallel > 1)
    out += fmt::format(", DP {}{}", request.data_parallel, request.dp_attention ? " (attention)" : "");
  if (request.decode_context_parallel > 1) out += fmt::format(", DCP {}", request.decode_context_parallel);
  if (request.expert_parallel) out += ", EP";
  if (const std::string cards = cards_text(plan); !cards.empty()) out += ", " + cards;
  return out;
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

}  // namespace kvplan
