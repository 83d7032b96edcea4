// What changed between two plans, biggest first.
#include <fmt/format.h>

#include "kvplan/version.h"
#include "report/json_text.h"
#include "report/report.h"
#include "report/text.h"

namespace kvplan {

namespace {

std::string signed_size(std::int64_t bytes) {
  const bool more = bytes >= 0;
  return (more ? "+" : "-") + human_bytes(Bytes(static_cast<std::uint64_t>(more ? bytes : -bytes)));
}

std::string change_text(const ValueChange& change) {
  return fmt::format("{} {} -> {}", change.key, change.before.empty() ? "(none)" : change.before,
                     change.after.empty() ? "(none)" : change.after);
}

}  // namespace

std::string diff_headline(const PlanDiff& diff) {
  std::string out = diff.total.difference() == 0 ? "the same memory" : signed_size(diff.total.difference());
  std::string causes;
  for (const ValueChange& change : diff.values) causes += (causes.empty() ? "" : ", ") + change_text(change);
  if (!causes.empty()) out += ": " + one_line(causes, 300);
  return out;
}

std::string diff_text(const PlanDiff& diff, const ReportOptions& options) {
  const std::int64_t grown = diff.total.difference();
  std::string out = tinted(diff_headline(diff),
                           grown > 0   ? Tint::kRed
                           : grown < 0 ? Tint::kGreen
                                       : Tint::kBold,
                           options.color) +
                    "\n";
  std::vector<std::vector<std::string>> rows{{"memory, all GPUs", "before", "after", "change"}};
  for (const MemoryChange& change : diff.memory)
    rows.push_back(
        {change.part, gib(Bytes(change.before)), gib(Bytes(change.after)), signed_size(change.difference())});
  rows.push_back({"total", gib(Bytes(diff.total.before)), gib(Bytes(diff.total.after)), signed_size(grown)});
  out += "\n" + columns(rows, 0b1110, "");
  if (diff.before.bytes_per_token != diff.after.bytes_per_token)
    out += fmt::format("\none more token: {} B -> {} B\n", grouped(diff.before.bytes_per_token),
                       grouped(diff.after.bytes_per_token));
  if (diff.before.verdict != diff.after.verdict)
    out += fmt::format("\nverdict: {} -> {}\n", diff.before.verdict, diff.after.verdict);
  if (!diff.values.empty()) {
    std::vector<std::vector<std::string>> changes{{"changed", "", "before", "after"}};
    for (const ValueChange& change : diff.values)
      changes.push_back(
          {change.where, one_line(change.key, 50), one_line(change.before, 40), one_line(change.after, 40)});
    out += "\n" + columns(changes, 0, "");
  }
  return out;
}

std::string diff_json(const PlanDiff& diff) {
  using Json = JsonText;
  Json memory = Json::array();
  for (const MemoryChange& change : diff.memory)
    memory.push_back({{"part", change.part},
                      {"before_bytes", change.before},
                      {"after_bytes", change.after},
                      {"change_bytes", change.difference()}});
  Json values = Json::array();
  for (const ValueChange& change : diff.values)
    values.push_back({{"where", change.where},
                      {"key", change.key},
                      {"before", change.before.empty() ? Json(nullptr) : Json(change.before)},
                      {"after", change.after.empty() ? Json(nullptr) : Json(change.after)}});
  const Json out{{"schema_version", 1},
                 {"kvplan_version", kVersion},
                 {"headline", diff_headline(diff)},
                 {"total",
                  {{"before_bytes", diff.total.before},
                   {"after_bytes", diff.total.after},
                   {"change_bytes", diff.total.difference()}}},
                 {"memory", std::move(memory)},
                 {"changes", std::move(values)}};
  return out.laid_out();
}

std::string diff_markdown(const PlanDiff& diff) {
  std::string out =
      "**" + diff_headline(diff) + "**\n\n| memory, all GPUs | before | after | change |\n|---|---:|---:|---:|\n";
  for (const MemoryChange& change : diff.memory)
    out += fmt::format("| {} | {} | {} | {} |\n", change.part, gib(Bytes(change.before)), gib(Bytes(change.after)),
                       signed_size(change.difference()));
  return out + fmt::format("| total | {} | {} | {} |\n", gib(Bytes(diff.total.before)), gib(Bytes(diff.total.after)),
                           signed_size(diff.total.difference()));
}

}  // namespace kvplan
