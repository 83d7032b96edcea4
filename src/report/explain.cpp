// `kvplan explain`: each kind of layer with its formula and the numbers put in, the keys and defaults that the plan
// rests on, the ledger, and what a decoded token costs to compute with and without the cache.
#include <fmt/format.h>

#include <algorithm>

#include "report/extras_text.h"
#include "report/report.h"
#include "report/rows.h"
#include "report/speed.h"
#include "report/text.h"

namespace kvplan {

namespace {

std::string shape_text(const TermFacts& term) {
  const Shape& shape = term.shape;
  std::string out;
  const auto factor = [&out](std::uint64_t n) { out += (out.empty() ? "" : " * ") + std::to_string(n); };
  if (shape.columns > 0) out = fmt::format("({} - 1)", shape.columns);
  if (shape.units > 1) factor(shape.units);
  if (shape.vectors > 1) factor(shape.vectors);
  factor(shape.width);
  return out;
}

std::string per_text(const TermFacts& term) {
  switch (term.growth) {
    case Growth::kSequence: return "per sequence";
    case Growth::kSourceToken: return "per source token";
    case Growth::kToken: break;
  }
  std::string out = term.stride == 1 ? "per token" : fmt::format("per {} tokens", term.stride);
  if (term.token_limit) out += fmt::format(", up to {}", grouped(*term.token_limit));
  return out;
}

std::string layer_section(const LayerFacts& layer) {
  std::string out = fmt::format("{} x {}", layer.count, layer.kind.title);
  if (!layer.variant.empty()) out += fmt::format(" [{}]", layer.variant);
  out += fmt::format("\n  layers   {}\n  formula  {}\n", layer.indices, layer.kind.formula);
  std::string values;
  for (const Symbol& symbol : layer.symbols)
    values += fmt::format("{}{} = {} ({})", values.empty() ? "" : ", ", symbol.symbol, symbol.value, symbol.key);
  if (!values.empty()) out += "  with     " + values + "\n";
  out += fmt::format("  source   {}\n", layer.kind.source);
  std::vector<std::vector<std::string>> rows;
  Bytes sum;
  for (const TermFacts& term : layer.terms) {
    const Bytes bytes = term.entry * term.entries;
    sum += bytes;
    rows.push_back({std::string(term.name), shape_text(term), "= " + grouped(term.elements), per_text(term), term.dtype,
                    grouped(term.entry.count()) + " B", "x " + grouped(term.entries), "= " + human_bytes(bytes)});
  }
  out += columns(rows, 0b11100100, "    ");
  if (!rows.empty())
    out += fmt::format("    {} x {} layers = {}\n", human_bytes(sum), layer.count, human_bytes(sum * layer.count));
  return out;
}

std::string work_section(const Plan& plan) {
  const auto tokens = static_cast<double>(plan.load.max_model_len.count());
  const double attention = plan.explanation.attention_flops;
  // Two operations for each parameter that a token passes through.
  const Parameters& parameters = plan.model->parameters;
  const double matrices = parameters.is_known ? 2 * static_cast<double>(parameters.active) : 0;
  // Without a cache every earlier token is run again: n times the matrices, and the attention of every position, which
  // is about half of n times that of the last one.
  const double with = matrices + attention;
  const double without = matrices * tokens + attention * tokens / 2;
  return fmt::format(
      "Work of one decoded token after {} tokens{}\n"
      "  with the cache     {:.3g} FLOPs: 2 x active parameters = {:.3g}, attention over the cache {:.3g}\n"
      "  without it         {:.3g} FLOPs: every earlier token again, {:.0f} times as much\n",
      grouped(plan.load.max_model_len.count()),
      parameters.is_known ? "" : " (attention alone: the parameters are not known)", with, matrices, attention, without,
      with > 0 ? without / with : 1.0);
}

std::string fact_section(const ModelFacts& model) {
  std::vector<std::vector<std::string>> rows;
  for (const ConfigFact& fact : model.config) {
    std::string value = one_line(fact.value, 60);
    rows.push_back({one_line(fact.key, 60), value, std::string(name(fact.origin))});
  }
  return "What the plan read\n" + columns(rows, 0);
}

std::string ledger_section(const Plan& plan) {
  std::string out;
  for (const GpuMemory& gpu : plan.memory) {
    if (gpu.gpu > 0 && gpu.total == plan.memory[gpu.gpu - 1].total) continue;
    out += fmt::format("Ledger of GPU {}\n", gpu.gpu);
    for (const LedgerLine& line : gpu.lines) {
      const std::string range =
          line.low == line.high ? "" : fmt::format(" ({} to {})", human_bytes(line.low), human_bytes(line.high));
      out += fmt::format("  {:<34} {:>12}{}\n      {}\n      {}\n", line.what, human_bytes(line.bytes), range,
                         line.formula, line.source);
    }
    out += fmt::format("  {:<34} {:>12}\n", "total", human_bytes(gpu.total));
  }
  if (!plan.host.empty()) out += "Ledger of host memory\n";
  for (const LedgerLine& line : plan.host)
    out += fmt::format("  {:<34} {:>12}\n      {}\n      {}\n", line.what, human_bytes(line.bytes), line.formula,
                       line.source);
  return out;
}

// The layers of the draft, at its own types, and what was read of its config.
std::string draft_section(const Plan& plan) {
  if (plan.request.extras.draft == nullptr || !plan.draft_method) return "";
  std::string out =
      fmt::format("\nDraft {} ({})\n", one_line(plan.explanation.draft_source, 200), name(*plan.draft_method));
  for (const LayerFacts& layer : plan.explanation.draft_layers) out += layer_section(layer);
  std::vector<std::vector<std::string>> rows;
  for (const ConfigFact& fact : plan.explanation.draft_config)
    rows.push_back({"draft: " + one_line(fact.key, 60), one_line(fact.value, 60), std::string(name(fact.origin))});
  return out + columns(rows, 0);
}

std::string gap_section(const Plan& plan) {
  const KvCachePlan& kv = plan.kv_cache;
  if (kv.gap.empty()) return "";
  std::vector<std::vector<std::string>> rows{
      {"logical share of the fullest GPU", grouped(kv.logical_per_gpu.count()) + " B"}};
  for (const GapLine& line : kv.gap) {
    const bool more = line.bytes >= 0;
    rows.push_back({"  " + line.reason,
                    (more ? "+" : "-") + grouped(static_cast<std::uint64_t>(more ? line.bytes : -line.bytes)) + " B"});
  }
  rows.push_back({"reserved", grouped(kv.reserved.count()) + " B"});
  return "From need to reservation\n" + columns(rows, 0b10);
}

// From the card to the tokens that it holds, with the numbers put in.
std::string capacity_section(const Plan& plan) {
  if (!plan.capacity) return "";
  const Capacity& capacity = *plan.capacity;
  const GpuMemory& gpu = plan.fullest();
  const auto bytes = [](Bytes count) { return grouped(count.count()) + " B"; };
  std::vector<std::vector<std::string>> rows;
  if (plan.request.kv_cache_memory_bytes) {
    rows.push_back({"budget of the cache", bytes(capacity.kv_cache_memory), "as --kv-cache-memory-bytes names it"});
  } else {
    const Bytes card = plan.card.value_or(Bytes(0));
    const Bytes beside = gpu.total - plan.kv_cache.reserved;
    const double share = plan.usable_share.value_or(1);
    rows.push_back({"the card", bytes(card), ""});
    rows.push_back({"usable share", fmt::format("{:.4g}", share), "--gpu-memory-utilization"});
    rows.push_back({"beside the cache", bytes(beside), "weights, activations, runtime"});
    const Bytes usable(static_cast<std::uint64_t>(static_cast<double>(card.count()) * share));
    const std::int64_t rest =
        signed_difference(usable.count(), beside.count()) - static_cast<std::int64_t>(capacity.kv_cache_memory.count());
    rows.push_back({"budget of the cache", bytes(capacity.kv_cache_memory),
                    rest >= -1 && rest <= 1 ? "card x share - beside the cache" : "by the engine's own rule"});
  }
  // Groups that are alike share a row.
  std::vector<std::pair<CacheGroup, std::uint64_t>> groups;
  for (const CacheGroup& group : plan.kv_cache.groups) {
    if (!group.block_size) continue;
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const auto& other) {
      const CacheGroup& o = other.first;
      return o.kind == group.kind && o.layers == group.layers && o.block_size == group.block_size &&
             o.page_bytes == group.page_bytes;
    });
    if (same == groups.end())
      groups.emplace_back(group, 1);
    else
      ++same->second;
  }
  for (const auto& [group, count] : groups)
    rows.push_back({"a block of " + group.kind, bytes(group.page_bytes * group.layers),
                    fmt::format("{} of {}{}", plural(group.layers, "layer"), plural(*group.block_size, "token"),
                                count > 1 ? fmt::format(", {} groups", count) : "")});
  if (capacity.num_blocks) rows.push_back({"blocks", grouped(*capacity.num_blocks), "whole ones in the budget"});
  if (capacity.tokens) rows.push_back({"tokens", grouped(*capacity.tokens), ""});
  rows.push_back({"sequences of " + plural(plan.load.max_model_len.count(), "token"),
                  fmt::format("{:.2f}", capacity.max_concurrency), ""});
  rows.push_back({"the request reserves", bytes(plan.kv_cache.reserved), ""});
  std::string out = "Capacity\n" + columns(rows, 0b010);
  if (plan.verdict.status != Verdict::kUnknown)
    out += "  " +
           wrapped(fmt::format("{}: {}", plan.verdict.status == Verdict::kFits ? "fits" : "does not fit",
                               plan.verdict.reason),
                   78) +
           "\n";
  return out;
}

}  // namespace

std::string explain_text(const Plan& plan, const ReportOptions& options) {
  std::string out = tinted(title_of(*plan.model), Tint::kBold, options.color);
  out += fmt::format("  read by the rule \"{}\"\n", plan.model->family);
  out += wrapped(request_text(plan), static_cast<std::size_t>(options.width)) + "\n";
  for (const LayerFacts& layer : plan.layers) out += "\n" + layer_section(layer);
  out += draft_section(plan);
  if (const std::string files = companions_text(plan.request.extras); !files.empty()) out += "\n" + files;
  if (const std::string gap = gap_section(plan); !gap.empty()) out += "\n" + gap;
  out += "\n" + ledger_section(plan);
  if (const std::string capacity = capacity_section(plan); !capacity.empty()) out += "\n" + capacity;
  out += "\n" + prefill_section(plan);
  out += "\n" + work_section(plan);
  if (const std::string speed = speed_section(plan); !speed.empty()) out += "\n" + speed;
  out += "\n" + fact_section(*plan.model);
  for (const Note& note : plan.notes) out += "\n" + one_line(note.message) + "\n";
  return out;
}

}  // namespace kvplan
