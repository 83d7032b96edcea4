// What changed between two plans, biggest first.
#include <fmt/format.h>

#include "kvplan/strings.h"
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

std::string_view capacity_name(std::string_view what) {
  if (what == "tokens") return "tokens that fit";
  return what == "max_model_len" ? "longest context" : "most sequences";
}

// Models whose cache does not grow take any number.
std::string count_text(const std::optional<std::uint64_t>& count) {
  if (!count) return "-";
  return *count >= kAnyCount ? "any" : grouped(*count);
}

std::string capacity_text(const CapacityChange& change) {
  return fmt::format("{} {} -> {}", capacity_name(change.what), count_text(change.before), count_text(change.after));
}

std::string verdict_change(const PlanDiff& diff) {
  return diff.before.verdict == diff.after.verdict ? "" : diff.before.verdict + " -> " + diff.after.verdict;
}

// What --fail-over said; "" where it did not trip.
std::string limit_text(const PlanDiff& diff) {
  if (!diff.is_too_much) return "";
  return fmt::format("{} is more than --fail-over {}", signed_size(diff.total.difference()),
                     diff.limit.percent ? fmt::format("{:g}%", *diff.limit.percent) : human_bytes(*diff.limit.bytes));
}

}  // namespace

std::string diff_headline(const PlanDiff& diff) {
  std::string out = diff.total.difference() == 0 ? "the same memory" : signed_size(diff.total.difference());
  const std::string causes = join(diff.values, ", ", change_text);
  if (!causes.empty()) out += ": " + one_line(causes, 300);
  for (const CapacityChange& change : diff.capacity)
    if (change.what == "max_model_len") out += "; " + capacity_text(change);
  if (const std::string verdict = verdict_change(diff); !verdict.empty()) out += "; " + verdict;
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
  if (!diff.capacity.empty()) {
    std::vector<std::vector<std::string>> room{{"room", "before", "after"}};
    for (const CapacityChange& change : diff.capacity)
      room.push_back({std::string(capacity_name(change.what)), count_text(change.before), count_text(change.after)});
    out += "\n" + columns(room, 0b110, "");
  }
  if (const std::string verdict = verdict_change(diff); !verdict.empty()) out += "\nverdict: " + verdict + "\n";
  if (!diff.values.empty()) {
    std::vector<std::vector<std::string>> changes{{"changed", "", "before", "after"}};
    for (const ValueChange& change : diff.values)
      changes.push_back(
          {change.where, one_line(change.key, 50), one_line(change.before, 40), one_line(change.after, 40)});
    out += "\n" + columns(changes, 0, "");
  }
  if (const std::string limit = limit_text(diff); !limit.empty())
    out += "\n" + tinted("TOO MUCH:", Tint::kRed, options.color) + " " + limit + "\n";
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
  Json capacity = Json::array();
  const auto count = [](const std::optional<std::uint64_t>& n) { return n ? Json(*n) : Json(nullptr); };
  for (const CapacityChange& change : diff.capacity)
    capacity.push_back({{"what", change.what}, {"before", count(change.before)}, {"after", count(change.after)}});
  const auto status = [](const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); };
  const Json out{{"schema_version", 1},
                 {"kvplan_version", kVersion},
                 {"headline", diff_headline(diff)},
                 {"total",
                  {{"before_bytes", diff.total.before},
                   {"after_bytes", diff.total.after},
                   {"change_bytes", diff.total.difference()}}},
                 {"memory", std::move(memory)},
                 {"capacity", std::move(capacity)},
                 {"verdict", {{"before", status(diff.before.verdict)}, {"after", status(diff.after.verdict)}}},
                 {"limit",
                  {{"bytes", diff.limit.bytes ? Json(diff.limit.bytes->count()) : Json(nullptr)},
                   {"percent", diff.limit.percent ? Json(*diff.limit.percent) : Json(nullptr)},
                   {"exceeded", diff.is_too_much}}},
                 {"changes", std::move(values)}};
  return out.laid_out();
}

std::string diff_markdown(const PlanDiff& diff) {
  std::string out =
      "**" + diff_headline(diff) + "**\n\n| memory, all GPUs | before | after | change |\n|---|---:|---:|---:|\n";
  for (const MemoryChange& change : diff.memory)
    out += fmt::format("| {} | {} | {} | {} |\n", change.part, gib(Bytes(change.before)), gib(Bytes(change.after)),
                       signed_size(change.difference()));
  out += fmt::format("| total | {} | {} | {} |\n", gib(Bytes(diff.total.before)), gib(Bytes(diff.total.after)),
                     signed_size(diff.total.difference()));
  for (const CapacityChange& change : diff.capacity) out += "\n- " + capacity_text(change);
  if (const std::string verdict = verdict_change(diff); !verdict.empty()) out += "\n- verdict: **" + verdict + "**";
  if (const std::string limit = limit_text(diff); !limit.empty()) out += "\n- **too much:** " + limit;
  return out.ends_with("|\n") ? out : out + "\n";
}

}  // namespace kvplan
