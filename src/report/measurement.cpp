#include "report/measurement.h"

#include "kvplan/version.h"

namespace kvplan {

namespace {

using Json = JsonText;

std::string_view status_name(MeasureStatus status) {
  switch (status) {
    case MeasureStatus::kAgrees: return "agrees";
    case MeasureStatus::kDisagrees: return "disagrees";
    case MeasureStatus::kRefused: return "refused";
    case MeasureStatus::kFailed: return "failed";
  }
  return "";
}

}  // namespace

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
