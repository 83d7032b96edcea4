// Observed beside predicted, line by line.
#include <fmt/format.h>

#include <cmath>

#include "kvplan/version.h"
#include "report/json_text.h"
#include "report/report.h"
#include "report/text.h"

namespace kvplan {

namespace {

std::string figure(double value, LogUnit unit) {
  switch (unit) {
    case LogUnit::kGibibytes:
    case LogUnit::kMebibytes: return fmt::format("{:.2f} {}", value, unit_name(unit));
    case LogUnit::kTimes: return fmt::format("{:.2f}x", value);
    case LogUnit::kShare: return fmt::format("{:.2f}", value);
    default:
      return fmt::format("{} {}", grouped(static_cast<std::uint64_t>(std::round(std::max(0.0, value)))),
                         unit_name(unit));
  }
}

std::string where(const Observation& seen) {
  std::string out(seen.what);
  if (!seen.device.empty()) out += " " + one_line(seen.device, 20);
  if (seen.rank) out += fmt::format(" rank {}", *seen.rank);
  return out;
}

JsonText total_json(const std::optional<LogTotal>& total) {
  using Json = JsonText;
  if (!total) return nullptr;
  constexpr std::string_view kParts[] = {"weights", "kv_cache", "activation", "runtime"};
  Json parts = Json::array();
  for (const LogPart& part : total->parts)
    parts.push_back({{"what", part.what},
                     {"part", kParts[static_cast<std::size_t>(part.part)]},
                     {"observed_bytes", part.observed.count()},
                     {"predicted_bytes", part.predicted.count()},
                     {"low_bytes", part.low.count()},
                     {"high_bytes", part.high.count()}});
  return {{"observed_bytes", total->observed.count()},
          {"predicted_bytes", total->predicted.count()},
          {"low_bytes", total->low.count()},
          {"high_bytes", total->high.count()},
          {"parts", std::move(parts)}};
}

}  // namespace

std::string check_log_text(const LogCheck& check, const ReportOptions& options) {
  const Plan& plan = check.plan;
  std::string out = tinted(fmt::format("{} {}", plan.request.engine, plan.engine_version), Tint::kBold, options.color) +
                    fmt::format("  {} tokens, TP {}, KV {}\n", grouped(plan.load.max_model_len.count()),
                                plan.request.tensor_parallel, name(plan.types.key));
  if (!check.options.version.empty())
    out += fmt::format("the log names release {}\n", one_line(check.options.version, 40));
  std::vector<std::vector<std::string>> rows{{"line", "what", "printed", "predicted", "off", ""}};
  for (const LogLine& line : check.lines) {
    if (!line.predicted) {
      rows.push_back({std::to_string(line.seen.line_number), where(line.seen), figure(line.seen.value, line.seen.unit),
                      "-", "-", ""});
      continue;
    }
    rows.push_back({std::to_string(line.seen.line_number), where(line.seen), figure(line.seen.value, line.seen.unit),
                    figure(*line.predicted, line.seen.unit), fmt::format("{:+.1f} %", 100 * line.difference()),
                    line.reason});
  }
  out += "\n" + columns(rows, 0b011101, "");
  if (check.total && check.total->parts.size() > 1) {
    const LogTotal& total = *check.total;
    const bool inside = total.low <= total.observed && total.observed <= total.high;
    out += fmt::format("\nwithout the cache: {} printed, {} predicted ({} to {}): {} the range\n", gib(total.observed),
                       gib(total.predicted), gib(total.low), gib(total.high), inside ? "inside" : "outside");
  }
  for (const std::string& remark : check.remarks) out += "\nnote: " + remark + "\n";
  out += "\n" +
         tinted(check.compared == 0        ? "no line of it is one that can be told exactly"
                : check.disagreements == 0 ? "the exact lines agree"
                                           : fmt::format("{} exact lines disagree", check.disagreements),
                check.compared == 0        ? Tint::kYellow
                : check.disagreements == 0 ? Tint::kGreen
                                           : Tint::kRed,
                options.color) +
         "\n";
  return out;
}

std::string check_log_json(const LogCheck& check) {
  using Json = JsonText;
  Json lines = Json::array();
  for (const LogLine& line : check.lines)
    lines.push_back({{"line_number", line.seen.line_number},
                     {"what", line.seen.what},
                     {"value", line.seen.value},
                     {"unit", unit_name(line.seen.unit)},
                     {"device", line.seen.device.empty() ? Json(nullptr) : Json(line.seen.device)},
                     {"rank", line.seen.rank ? Json(*line.seen.rank) : Json(nullptr)},
                     {"predicted", line.predicted ? Json(*line.predicted) : Json(nullptr)},
                     {"exact", line.exact},
                     {"reason", line.reason.empty() ? Json(nullptr) : Json(line.reason)}});
  const Json out{{"schema_version", 1},
                 {"kvplan_version", kVersion},
                 {"engine", check.plan.request.engine},
                 {"engine_version", check.plan.engine_version},
                 {"log_version", check.options.version.empty() ? Json(nullptr) : Json(check.options.version)},
                 {"max_model_len", check.plan.load.max_model_len.count()},
                 {"tensor_parallel_size", check.plan.request.tensor_parallel},
                 {"lines", std::move(lines)},
                 {"total", total_json(check.total)},
                 {"disagreements", check.disagreements},
                 {"remarks", check.remarks}};
  return out.laid_out();
}

}  // namespace kvplan
