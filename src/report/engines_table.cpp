// Engines side by side: one model, one request, a row for each engine, and what the differences come from.
#include <fmt/format.h>

#include <cstdlib>

#include "report/report.h"
#include "report/rows.h"
#include "report/text.h"

namespace kvplan {

namespace {

std::string part_text(const std::optional<Bytes>& part) {
  return part ? gib_number(*part) : "-";
}

std::string amount(std::int64_t bytes) {
  const double size = static_cast<double>(std::llabs(bytes));
  const char sign = bytes < 0 ? '-' : '+';
  if (size >= kGiB / 10.0) return fmt::format("{}{:.2f} GiB", sign, size / kGiB);
  return fmt::format("{}{:.2f} MiB", sign, size / kMiB);
}

}  // namespace

std::string engines_table(const std::vector<FleetEntry>& entries, const ReportOptions& options) {
  const FleetEntry* first = nullptr;
  for (const FleetEntry& entry : entries)
    if (entry.plan && first == nullptr) first = &entry;
  std::string out;
  if (first != nullptr) {
    out += tinted(title_of(*first->plan->model), Tint::kBold, options.color) +
           fmt::format("  {} tokens x {} sequence{}, GiB of the fullest GPU\n\n",
                       grouped(first->plan->load.max_model_len.count()), first->plan->request.num_seqs,
                       first->plan->request.num_seqs == 1 ? "" : "s");
  }
  std::vector<std::vector<std::string>> rows{
      {"engine", "KV type", "needs", "KV", "weights", "activ.", "runtime", "total", "host", "tokens", "verdict"}};
  bool has_host = false;  // no column of nothing
  for (const FleetEntry& entry : entries) {
    if (!entry.plan) {
      rows.push_back({entry.engine, one_line(entry.error, 60)});
      continue;
    }
    const Plan& plan = *entry.plan;
    const GpuMemory& gpu = plan.fullest();
    has_host = has_host || plan.host_total() > Bytes(0);
    rows.push_back({plan.request.engine + " " + plan.engine_version, cache_types_name(plan.types),
                    part_text(plan.kv_cache.logical_per_gpu), part_text(plan.kv_cache.reserved), part_text(gpu.weights),
                    part_text(gpu.activation), part_text(gpu.runtime), part_text(gpu.total),
                    plan.host_total() > Bytes(0) ? part_text(plan.host_total()) : "-",
                    plan.capacity && plan.capacity->tokens ? grouped(*plan.capacity->tokens) : "-",
                    plan.verdict.status == Verdict::kUnknown ? "-"
                    : plan.verdict.status == Verdict::kFits  ? "fits"
                                                             : "does not fit"});
  }
  constexpr std::size_t kHost = 8;
  if (!has_host)
    for (auto& row : rows)
      if (row.size() > kHost) row.erase(row.begin() + kHost);
  out += columns(rows, 0b01111111100, "");
  out += "\nWhat explains the differences\n";
  for (const FleetEntry& entry : entries) {
    if (!entry.plan) continue;
    const Plan& plan = *entry.plan;
    std::vector<std::string> reasons;
    if (cache_types_name(plan.types) != cache_types_name(first->plan->types))
      reasons.push_back("KV in " + cache_types_name(plan.types));
    if (plan.types.state != first->plan->types.state && plan.kv_cache.bytes_per_sequence > Bytes(0))
      reasons.push_back(fmt::format("states in {}", name(plan.types.state)));
    for (const GapLine& line : plan.kv_cache.gap) reasons.push_back(amount(line.bytes) + " " + line.reason);
    if (reasons.empty()) reasons.push_back("exactly what the architecture needs");
    for (std::size_t i = 0; i < reasons.size(); ++i)
      out += fmt::format("  {:<14}{}\n", i == 0 ? plan.request.engine : "", reasons[i]);
  }
  return out;
}

}  // namespace kvplan
