// Observed beside predicted, line by line.
#include <fmt/format.h>

#include <cmath>

#include "kvplan/version.h"
#include "report/json_text.h"
#include "report/report.h"
#include "report/text.h"

namespace kvplan {

namespace {

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
