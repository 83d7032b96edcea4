// The fields of the built-in tables, and of `pick`.
#include "kvplan/strings.h"
#include "report/fields_tables.h"

namespace kvplan {

constexpr auto kWhole = at<std::identity{}>;
constexpr std::uint64_t kHead = 128;  // a usual width

// Bytes of an element, including its part of the scales. Nothing for a layout that is not for plain vectors.
template <PackRule DtypeInfo::*side>
static std::optional<double> element_bytes(const DtypeInfo& type) {
  if (type.id == Dtype::kFp8DsMla) return std::nullopt;
  return bytes_per_element(type.*side, kHead);
}

template <>
const Table<Gpu> Schema<Gpu>::table(
    {{"vendor", at<&T::vendor>},
     {"name", at<&T::name>},
     {"aliases", [](const T& gpu) { return split(gpu.aliases); }},
     {"memory_bytes", [](const T& gpu) { return gpu.memory_mib * kMiB; }, "of one GPU", limit(kFromOne)},
     {"memory_reported", at<&T::reported>, "memory_bytes is what a driver reports; else the nominal size"},
     {"usable_bytes", [](const T& gpu) { return if_any(gpu.usable_mib * kMiB); }, "memory that a program sees"},
     {"bandwidth_gb_s", or_null<&T::bandwidth_gb_s>, "10^9 bytes a second"},
     {"compute_capability", [](const T& gpu) { return if_any(gpu.vendor == "NVIDIA" ? gpu.capability : 0U); },
      "compute capability of an NVIDIA GPU, times ten: 90 for 9.0"},
     {"kind", [](const T& gpu) { return std::string_view(gpu.unified ? "unified" : "discrete"); },
      limit(R"("enum": ["unified", "discrete"])")},
     {"source", at<&T::source>}});

template <>
const Table<std::span<const Gpu>> Schema<std::span<const Gpu>>::table("gpus", "kvplan gpus", {{"gpus", kWhole}},
                                                                      TableKind::kReport);

template <>
const Table<EngineRow> Schema<EngineRow>::table({{"engine", at<&T::engine>},
                                                 {"release", at<&T::release>,
                                                  "the last release of an engine is the default"},
                                                 {"evidence", at<&T::evidence>, "evidence for its rules"}});

template <>
const Table<std::span<const EngineRow>> Schema<std::span<const EngineRow>>::table("engines", "kvplan engines",
                                                                                  {{"engines", kWhole}},
                                                                                  TableKind::kReport);

template <>
const Table<EngineRule> Schema<EngineRule>::table(
    {{"engine", at<&T::engine>},
     {"since", or_null<&T::since>, "the first release; null: as far back as kvplan knows"},
     {"until", or_null<&T::until>, "the first release without it; null: still so"},
     {"rule", at<&T::rule>},
     {"value", or_null<&T::value>, "null if the rule is only on or off"},
     {"evidence", at<&T::evidence>},
     {"checked", at<&T::checked>, limit(R"("pattern": "^(executed|source|between .* and .*)$")")}});

template <>
const Table<std::span<const EngineRule>> Schema<std::span<const EngineRule>>::table("rules", "kvplan engines --rules",
                                                                                    {{"rules", kWhole}},
                                                                                    TableKind::kReport);

template <>
const Table<DtypeInfo> Schema<DtypeInfo>::table(
    {{"name", at<&T::name>},
     {"aliases", [](const T& type) { return split(type.aliases); }},
     {"key_bytes_per_element", at<&element_bytes<&T::key>>,
      "of a head of 128, with its scales; null for a layout of latents", limit(R"("exclusiveMinimum": 0)")},
     {"value_bytes_per_element", at<&element_bytes<&T::value>>, limit(R"("exclusiveMinimum": 0)")},
     {"kv_only", at<&T::kv_only>, "for caches only: no model computes in it"},
     {"note", or_null<&T::note>}});

template <>
const Table<std::span<const DtypeInfo>> Schema<std::span<const DtypeInfo>>::table("dtypes", "kvplan dtypes",
                                                                                  {{"dtypes", kWhole}},
                                                                                  TableKind::kReport);

template <>
const Table<KindInfo> Schema<KindInfo>::table({{"kind", at<&T::name>, limit(R"("$ref": "#/$defs/kind")")},
                                               {"title", at<&T::title>},
                                               {"formula", at<&T::formula>, "elements of a layer"},
                                               {"config_keys", at<&T::keys>},
                                               {"grows_with", at<&T::growth>},
                                               {"source", at<&T::source>}});

template <>
const Table<std::span<const KindInfo>> Schema<std::span<const KindInfo>>::table("formulas", "kvplan formulas",
                                                                                {{"kinds", kWhole}},
                                                                                TableKind::kReport);

template <>
const Table<PublishedModel> Schema<PublishedModel>::table(
    {{"id", at<&T::id>},
     {"model", at<&T::model>, "whatever its types"},
     {"family", at<&T::family>},
     {"generation", or_null<&T::generation>},
     {"tasks", [](const T& model) { return split(model.tasks); }},
     {"license", or_null<&T::license>},
     {"date", or_null<&T::date>, "of publication"},
     {"parameters", [](const T& model) { return if_any(model.parameters); },
      "in its files, or else counted from its config"},
     {"gguf", or_null<&T::gguf>, "repository with GGUF files"},
     {"ollama_tag", or_null<&T::ollama>, "tag in ollama's library"}});

template <>
const Table<ModelList> Schema<ModelList>::table("models", "kvplan models",
                                                {{"catalogue_date", at<&T::date>}, {"models", at<&T::models>}},
                                                TableKind::kReport);

template <>
const Table<PickedModel> Schema<PickedModel>::table(
    {{"id", [](const T& row) { return row.model.id; }},
     {"model", [](const T& row) { return row.model.model; }},
     {"parameters", at<&T::parameters>},
     {"weights_dtype", at<&T::type>, "the least lossy that fits"},
     {"max_model_len", at<&T::longest>, "the longest context that fits"},
     {"gpu_bytes", at<&T::gpu>, "on the fullest GPU"},
     {"host_bytes", at<&T::host>, "weights in main memory; 0 if everything is on the GPUs"},
     {"tokens_per_s", at<&T::tokens_per_s>, "upper bound for all users together; null without a bandwidth"},
     {"command", at<&T::command>, "the start command, one string per argument"}});

template <>
const Table<Pick> Schema<Pick>::table("pick", "kvplan pick",
                                      {{"catalogue_date", at<&T::date>},
                                       {"card", at<&T::card>},
                                       {"memory_bytes", at<&T::memory>, "of one GPU"},
                                       {"host_memory_bytes", at<&T::host_memory>, "null: not used"},
                                       {"engine", at<&T::engine>},
                                       {"engine_version", at<&T::engine_version>},
                                       {"task", at<&T::task>},
                                       {"max_model_len", at<&T::max_model_len>},
                                       {"users", at<&T::users>},
                                       {"picks", at<&T::models>},
                                       {"left_out", at<&T::left_out>,
                                        "models of older generations, which --all shows"}},
                                      TableKind::kReport);

}  // namespace kvplan
