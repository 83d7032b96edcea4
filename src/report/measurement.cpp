#include "report/measurement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kvplan/version.h"
#include "report/text.h"

namespace kvplan {

namespace {

using Json = JsonText;

std::size_t width_of(const ReportOptions& options) {
  return static_cast<std::size_t>(std::clamp(options.width, 40, 120));
}

std::string_view status_name(MeasureStatus status) {
  switch (status) {
    case MeasureStatus::kAgrees: return "agrees";
    case MeasureStatus::kDisagrees: return "disagrees";
    case MeasureStatus::kRefused: return "refused";
    case MeasureStatus::kFailed: return "failed";
  }
  return "";
}

// "+2,097,152 B (+0.05 %)"; "none".
std::string difference_text(std::int64_t bytes, Bytes planned) {
  if (bytes == 0) return "none";
  const auto size = static_cast<std::uint64_t>(std::llabs(bytes));
  const double share = planned == Bytes(0) ? 1 : static_cast<double>(size) / static_cast<double>(planned.count());
  return fmt::format("{}{} ({:.2f} %)", bytes > 0 ? "+" : "-", human_bytes(Bytes(size)), 100 * share);
}

std::string speed_text(double bytes_a_second) {
  return fmt::format("{} GB/s", bytes_a_second >= 1e11 ? grouped(static_cast<std::uint64_t>(bytes_a_second / 1e9))
                                                       : fmt::format("{:.1f}", bytes_a_second / 1e9));
}

std::string tokens_of(std::uint64_t tokens, std::uint64_t sequences) {
  return fmt::format("{} tokens x {}", grouped(tokens), plural(sequences, "sequence"));
}

// A sentence of a section.
std::string indented(std::string_view text, const ReportOptions& options) {
  return "  " + wrapped(text, width_of(options) - 2) + "\n";
}

std::string verdict_text(const Measurement& seen, const ReportOptions& options) {
  std::string word;
  std::string text;
  const bool good = seen.status == MeasureStatus::kAgrees;
  switch (seen.status) {
    case MeasureStatus::kAgrees: word = "AGREES"; break;
    case MeasureStatus::kDisagrees: word = "DISAGREES"; break;
    case MeasureStatus::kRefused: word = "NOT MEASURED"; break;
    case MeasureStatus::kFailed: word = "FAILED"; break;
  }
  if (good || seen.status == MeasureStatus::kDisagrees)
    text = fmt::format("{} measured, {} planned: {:+.3f} %, and {:g} % may differ", human_bytes(seen.measured),
                       human_bytes(seen.planned), 100 * seen.difference(), 100 * seen.tolerance);
  if (!seen.reason.empty()) text += (text.empty() ? "" : "; ") + seen.reason;
  return tinted(word, good ? Tint::kGreen : Tint::kRed, options.color) +
         wrapped(word + ": " + text, width_of(options)).substr(word.size()) + "\n";
}

}  // namespace

std::string measurement_lines(const Plan& plan, const ReportOptions& options) {
  if (!plan.measurement) return "";
  const Measurement& seen = *plan.measurement;
  std::string out = fmt::format("Measured on {}: {}{}\n", seen.device.id, seen.device.name,
                                seen.device.driver.empty() ? "" : ", driver " + seen.device.driver);
  std::vector<std::vector<std::string>> facts;
  if (seen.device.nominal > Bytes(0)) facts.push_back({"memory, as the driver reports it", gib(seen.device.nominal)});
  facts.push_back({"memory that a program sees", gib(seen.device.usable)});
  if (seen.device.context) facts.push_back({"taken by opening the device", human_bytes(*seen.device.context)});
  if (seen.device.context && seen.planned_context)
    facts.push_back({"  planned, with libraries", human_bytes(*seen.planned_context)});
  facts.push_back({"free before the measurement", human_bytes(seen.free)});
  // A driver's own crumbs are nobody's.
  constexpr std::uint64_t kCrumbs = 16 * kMiB;
  const std::uint64_t programs = seen.other_processes.value_or(0);
  if (seen.used_by_others.count() >= kCrumbs || programs > 0)
    facts.push_back({programs > 0 ? "in use by others (" + plural(programs, "program") + ")" : "in use by others",
                     human_bytes(seen.used_by_others)});
  facts.push_back({"granularity of an allocation", human_bytes(seen.device.granularity)});
  out += columns(facts, 0b10);
  if (plan.memory.size() > 1) out += fmt::format("  the share of GPU {} of {}\n", seen.gpu, plan.memory.size());
  if (!seen.scaled.empty())
    out +=
        indented("at a smaller scale, " + tokens_of(seen.max_model_len, seen.num_seqs) + ": " + seen.scaled, options);
  if (!seen.lines.empty()) {
    std::vector<std::vector<std::string>> rows{{"cache", "buffers", "planned", "measured", "difference"}};
    std::string reasons;
    for (const MeasuredLine& line : seen.lines) {
      const bool reached = line.measured > Bytes(0) || seen.status != MeasureStatus::kFailed;
      rows.push_back({end_of(line.what, 44), grouped(line.buffers), human_bytes(line.planned),
                      reached ? human_bytes(line.measured) : "-",
                      reached ? difference_text(line.difference(), line.planned) : "-"});
      if (!line.reason.empty() && reasons.find(line.reason) == std::string::npos)
        reasons += indented(line.what + ": " + line.reason, options);
    }
    out += columns_within(rows, 0b01110, "  ", width_of(options), {1}) + reasons;
  }
  if (seen.bandwidth.n > 0)
    out += fmt::format("  streamed at {} ({} passes, {} to {})\n", speed_text(seen.bandwidth.mean), seen.bandwidth.n,
                       speed_text(seen.bandwidth.low), speed_text(seen.bandwidth.high));
  if (seen.maximum) {
    const MeasuredMaximum& most = *seen.maximum;
    out += indented(fmt::format("the cache alone allocates up to {}, {}; the limit is {}",
                                tokens_of(most.max_model_len, most.num_seqs), human_bytes(most.bytes), most.limited_by),
                    options);
  }
  return out + verdict_text(seen, options);
}

std::string calibration_lines(const Plan& plan, const ReportOptions& options) {
  if (plan.calibrated.empty() || !plan.request.calibration) return "";
  std::string out = "Calibrated by " + one_line(plan.request.calibration->path, 200) + "\n";
  for (const AppliedFigure& each : plan.calibrated)
    out += indented(fmt::format("{}: {}, {}", each.what, human_bytes(each.figure.mean_bytes()), each.source), options);
  return out;
}

Json measurement_object(const Plan& plan) {
  if (!plan.measurement) return nullptr;
  const Measurement& seen = *plan.measurement;
  const auto text = [](const std::string& value) { return value.empty() ? Json(nullptr) : Json(value); };
  const auto size = [](const std::optional<Bytes>& value) { return value ? Json(value->count()) : Json(nullptr); };
  Json lines = Json::array();
  for (const MeasuredLine& line : seen.lines)
    lines.push_back({{"what", line.what},
                     {"buffers", line.buffers},
                     {"planned_bytes", line.planned.count()},
                     {"rounding_bytes", line.rounding.count()},
                     {"measured_bytes", line.measured.count()},
                     {"difference_bytes", line.difference()},
                     {"reason", text(line.reason)}});
  Json bandwidth = nullptr;
  if (seen.bandwidth.n > 0)
    bandwidth = {{"n", seen.bandwidth.n},
                 {"low", seen.bandwidth.low / 1e9},
                 {"high", seen.bandwidth.high / 1e9},
                 {"mean", seen.bandwidth.mean / 1e9}};
  Json maximum = nullptr;
  if (seen.maximum)
    maximum = {{"max_model_len", seen.maximum->max_model_len},
               {"num_seqs", seen.maximum->num_seqs},
               {"bytes", seen.maximum->bytes.count()},
               {"tries", seen.maximum->tries},
               {"limited_by", seen.maximum->limited_by}};
  return {{"device",
           {{"id", seen.device.id},
            {"name", seen.device.name},
            {"driver", text(seen.device.driver)},
            {"nominal_bytes", seen.device.nominal > Bytes(0) ? Json(seen.device.nominal.count()) : Json(nullptr)},
            {"usable_bytes", seen.device.usable.count()},
            {"context_bytes", size(seen.device.context)},
            {"granularity_bytes", seen.device.granularity.count()},
            {"free_bytes", seen.free.count()},
            {"used_by_others_bytes", seen.used_by_others.count()},
            {"other_processes", seen.other_processes ? Json(*seen.other_processes) : Json(nullptr)}}},
          {"planned_context_bytes", size(seen.planned_context)},
          {"gpu", seen.gpu},
          {"max_model_len", seen.max_model_len},
          {"num_seqs", seen.num_seqs},
          {"scaled", text(seen.scaled)},
          {"lines", std::move(lines)},
          {"planned_bytes", seen.planned.count()},
          {"measured_bytes", seen.measured.count()},
          {"left_bytes", seen.others_moved},
          {"difference", seen.difference()},
          {"tolerance", seen.tolerance},
          {"bandwidth_gb_s", std::move(bandwidth)},
          {"maximum", std::move(maximum)},
          {"status", status_name(seen.status)},
          {"reason", text(seen.reason)}};
}

Json calibration_object(const Plan& plan) {
  if (plan.calibrated.empty() || !plan.request.calibration) return nullptr;
  Json figures = Json::array();
  for (const AppliedFigure& each : plan.calibrated)
    figures.push_back({{"name", each.name},
                       {"what", each.what},
                       {"n", each.figure.n},
                       {"low", each.figure.low},
                       {"high", each.figure.high},
                       {"mean", each.figure.mean},
                       {"source", each.source}});
  return {{"file", plan.request.calibration->path}, {"figures", std::move(figures)}};
}

std::string calibration_json(const Calibration& calibration) {
  const auto text = [](const std::string& value) { return value.empty() ? Json(nullptr) : Json(value); };
  Json records = Json::array();
  for (const CalibrationRecord& record : calibration.records) {
    Json figures = Json::array();
    for (const NamedFigure& each : record.figures)
      figures.push_back({{"name", each.name},
                         {"n", each.figure.n},
                         {"low", each.figure.low_bytes().count()},
                         {"high", each.figure.high_bytes().count()},
                         {"mean", each.figure.mean_bytes().count()}});
    records.push_back({{"device", record.device},
                       {"device_memory_bytes", record.memory > Bytes(0) ? Json(record.memory.count()) : Json(nullptr)},
                       {"driver", text(record.driver)},
                       {"engine", record.engine},
                       {"engine_version", text(record.engine_version)},
                       {"model", text(record.model)},
                       {"source", record.source},
                       {"date", record.date},
                       {"figures", std::move(figures)}});
  }
  const Json out{{"schema_version", 1}, {"kvplan_version", kVersion}, {"calibration", std::move(records)}};
  return out.laid_out();
}

}  // namespace kvplan
