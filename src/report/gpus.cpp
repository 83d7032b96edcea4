// The catalogue of cards, as a table and as JSON.
#include <fmt/format.h>

#include "kvplan/strings.h"

#include "kvplan/version.h"
#include "report/json_text.h"
#include "report/report.h"
#include "report/text.h"

namespace kvplan {

std::string gpus_json(std::span<const Gpu> cards) {
  using Json = JsonText;
  Json rows = Json::array();
  for (const Gpu& gpu : cards) {
    Json aliases = Json::array();
    for (const std::string_view alias : split(gpu.aliases)) aliases.push_back(alias);
    rows.push_back({{"vendor", gpu.vendor},
                    {"name", gpu.name},
                    {"aliases", std::move(aliases)},
                    {"memory_bytes", gpu.memory_mib * kMiB},
                    {"memory_reported", gpu.reported},
                    {"usable_bytes", gpu.usable_mib == 0 ? Json(nullptr) : Json(gpu.usable_mib * kMiB)},
                    {"bandwidth_gb_s", gpu.bandwidth_gb_s > 0 ? Json(gpu.bandwidth_gb_s) : Json(nullptr)},
                    {"kind", gpu.unified ? "unified" : "discrete"},
                    {"source", gpu.source}});
  }
  const Json out{{"schema_version", 1}, {"kvplan_version", kVersion}, {"gpus", std::move(rows)}};
  return out.laid_out();
}

}  // namespace kvplan
