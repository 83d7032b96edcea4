// The catalogue of cards, as a table and as JSON.
#include <fmt/format.h>

#include "kvplan/strings.h"

#include "kvplan/version.h"
#include "report/json_text.h"
#include "report/report.h"
#include "report/text.h"

namespace kvplan {

namespace {

std::string mib_as_gib(std::uint64_t mib) {
  return fmt::format("{:.2f}", static_cast<double>(mib) / 1024);
}

// Exact figures print bare; the mark says that nobody recorded what the driver reports.
std::string memory_text(const Gpu& gpu) {
  return (gpu.reported ? "" : "~") + mib_as_gib(gpu.memory_mib);
}

// "data sheet; nvidia-smi; CUDA total ..." without the sheet, which every row has for its bandwidth, and the details.
std::string source_text(const Gpu& gpu) {
  std::string out;
  for (std::string_view part : split(gpu.source, ';')) {
    if (part.starts_with(' ')) part.remove_prefix(1);
    if (part != "data sheet") out += (out.empty() ? "" : ", ") + std::string(part.substr(0, part.find(" from ")));
  }
  return out.empty() ? std::string(gpu.source) : out;
}

}  // namespace

std::string gpus_text(std::span<const Gpu> cards) {
  std::vector<std::vector<std::string>> rows{
      {"vendor", "card", "memory GiB", "usable", "GB/s", "source", "also called"}};
  for (const Gpu& gpu : cards)
    rows.push_back({std::string(gpu.vendor), std::string(gpu.name), memory_text(gpu),
                    gpu.usable_mib == 0 ? "-" : mib_as_gib(gpu.usable_mib),
                    gpu.bandwidth_gb_s > 0 ? fmt::format("{:.0f}", gpu.bandwidth_gb_s) : "-", source_text(gpu),
                    gpu.aliases.empty() ? "-" : std::string(gpu.aliases)});
  return columns(rows, 0b11100, "") +
         "\nMemory as the driver reports it (by the tool that the source names); ~ nominal, where no report is known. "
         "Usable: what a program is given of "
         "it (CUDA's\ntotal, Metal's working set); engines share out that, or the memory where it is not known.\n";
}

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
