// The fields of the built-in tables.
#include "kvplan/strings.h"
#include "report/fields_tables.h"
#include "report/report.h"

namespace kvplan {

namespace {

struct Cards {
  std::vector<Gpu> gpus;
};
struct Engines {
  std::vector<EngineRow> engines;
};
struct Dtypes {
  std::vector<DtypeInfo> dtypes;
};
struct Kinds {
  std::vector<KindInfo> kinds;
};

constexpr std::uint64_t kHead = 128;  // a usual width

// Bytes of an element including its share of the scales; nothing for a layout that plain vectors cannot have.
template <PackRule DtypeInfo::*side>
std::optional<double> element_bytes(const DtypeInfo& type) {
  if (type.id == Dtype::kFp8DsMla) return std::nullopt;
  return bytes_per_element(type.*side, kHead);
}

}  // namespace

template <>
const Table<Gpu>& table() {
  using T = Gpu;
  static constexpr auto rows = rows_of<T>(
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
  static constexpr Table<T> fields("", "", rows);
  return fields;
}

template <>
const Table<Cards>& table() {
  static constexpr auto rows = rows_of<Cards>({{"gpus", at<&Cards::gpus>}});
  static constexpr Table<Cards> fields("gpus", "kvplan gpus", rows, TableKind::kReport);
  return fields;
}

template <>
const Table<EngineRow>& table() {
  using T = EngineRow;
  static constexpr auto rows = rows_of<T>({{"engine", at<&T::engine>},
                                           {"release", at<&T::release>, "the last one of an engine is the default"},
                                           {"evidence", at<&T::evidence>, "what its rules rest on"}});
  static constexpr Table<T> fields("", "", rows);
  return fields;
}

template <>
const Table<Engines>& table() {
  static constexpr auto rows = rows_of<Engines>({{"engines", at<&Engines::engines>}});
  static constexpr Table<Engines> fields("engines", "kvplan engines", rows, TableKind::kReport);
  return fields;
}

template <>
const Table<DtypeInfo>& table() {
  using T = DtypeInfo;
  static constexpr auto rows = rows_of<T>(
      {{"name", at<&T::name>},
       {"aliases", [](const T& type) { return split(type.aliases); }},
       {"key_bytes_per_element", at<&element_bytes<&T::key>>,
        "of a head of 128, with its scales; null for a layout of latents", limit(R"("exclusiveMinimum": 0)")},
       {"value_bytes_per_element", at<&element_bytes<&T::value>>, "", limit(R"("exclusiveMinimum": 0)")},
       {"kv_only", at<&T::kv_only>, "of a cache alone: no type that a model computes in"},
       {"note", or_null<&T::note>}});
  static constexpr Table<T> fields("", "", rows);
  return fields;
}

template <>
const Table<Dtypes>& table() {
  static constexpr auto rows = rows_of<Dtypes>({{"dtypes", at<&Dtypes::dtypes>}});
  static constexpr Table<Dtypes> fields("dtypes", "kvplan dtypes", rows, TableKind::kReport);
  return fields;
}

template <>
const Table<KindInfo>& table() {
  using T = KindInfo;
  static constexpr auto rows = rows_of<T>({{"kind", at<&T::name>, "", limit(R"("$ref": "#/$defs/kind")")},
                                           {"title", at<&T::title>},
                                           {"formula", at<&T::formula>, "elements of a layer"},
                                           {"config_keys", at<&T::keys>},
                                           {"grows_with", at<&T::growth>},
                                           {"source", at<&T::source>}});
  static constexpr Table<T> fields("", "", rows);
  return fields;
}

template <>
const Table<Kinds>& table() {
  static constexpr auto rows = rows_of<Kinds>({{"kinds", at<&Kinds::kinds>}});
  static constexpr Table<Kinds> fields("formulas", "kvplan formulas", rows, TableKind::kReport);
  return fields;
}

void define_lists(Json& definitions) {
  table<Cards>().schema(definitions);
  table<Engines>().schema(definitions);
  table<Dtypes>().schema(definitions);
  table<Kinds>().schema(definitions);
}

std::string gpus_json(std::span<const Gpu> cards) {
  return table<Cards>().text({{cards.begin(), cards.end()}});
}

std::string engines_json(std::span<const EngineRow> rows) {
  return table<Engines>().text({{rows.begin(), rows.end()}});
}

std::string dtypes_json() {
  return table<Dtypes>().text({{dtypes().begin(), dtypes().end()}});
}

std::string kinds_json(std::span<const KindInfo> kinds) {
  return table<Kinds>().text({{kinds.begin(), kinds.end()}});
}

}  // namespace kvplan
