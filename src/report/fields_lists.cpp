// The fields of the built-in tables.
#include "kvplan/strings.h"
#include "report/fields_tables.h"
#include "report/report.h"

namespace kvplan {

namespace {

struct Cards {
  std::vector<Gpu> gpus;
};

}  // namespace

template <>
const Table<Gpu>& table() {
  using T = Gpu;
  static const Table<T> fields(
      "", "",
      {{"vendor", at<&T::vendor>},
       {"name", at<&T::name>},
       {"aliases", [](const T& gpu) { return split(gpu.aliases); }},
       {"memory_bytes", [](const T& gpu) { return gpu.memory_mib * kMiB; }, "of one card", limit(kFromOne)},
       {"memory_reported", at<&T::reported>, "memory_bytes is what a driver reports; else the nominal size"},
       {"usable_bytes", [](const T& gpu) { return if_any(gpu.usable_mib * kMiB); }, "that a program sees"},
       {"bandwidth_gb_s",
        [](const T& gpu) { return gpu.bandwidth_gb_s > 0 ? std::optional(gpu.bandwidth_gb_s) : std::nullopt; },
        "10^9 bytes a second"},
       {"kind", [](const T& gpu) { return std::string_view(gpu.unified ? "unified" : "discrete"); }, "",
        limit(R"("enum": ["unified", "discrete"])")},
       {"source", at<&T::source>}});
  return fields;
}

template <>
const Table<Cards>& table() {
  static const Table<Cards> fields = Table<Cards>::report("gpus", "kvplan gpus", {{"gpus", at<&Cards::gpus>}});
  return fields;
}

void define_lists(Json& definitions) {
  table<Cards>().schema(definitions);
}

std::string gpus_json(std::span<const Gpu> cards) {
  return json_text(table<Cards>().json({{cards.begin(), cards.end()}}));
}

}  // namespace kvplan
