// What changed between two plans, biggest first.
#include <fmt/format.h>

#include "kvplan/strings.h"
#include "kvplan/version.h"
#include "report/json_text.h"
#include "report/report.h"
#include "report/text.h"

namespace kvplan {

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

}  // namespace kvplan
