// The fields of the catalogue of models, and of `pick`.
#include "kvplan/strings.h"
#include "report/fields_tables.h"

namespace kvplan {

template <>
const Table<PublishedModel> Fields<PublishedModel>::table(
    {{"id", at<&T::id>},
     {"model", at<&T::model>, "whatever its types"},
     {"family", at<&T::family>},
     {"generation", or_null<&T::generation>},
     {"tasks", [](const T& model) { return split(model.tasks); }},
     {"license", or_null<&T::license>},
     {"date", or_null<&T::date>, "of publication"},
     {"parameters", [](const T& model) { return if_any(model.parameters); }, "in the weights' files"},
     {"gguf", or_null<&T::gguf>, "repository with GGUF files"},
     {"ollama_tag", or_null<&T::ollama>, "tag in ollama's library"}});

template <>
const Table<ModelList> Fields<ModelList>::table("models", "kvplan models",
                                                {{"catalogue_date", at<&T::date>}, {"models", at<&T::models>}},
                                                TableKind::kReport);

template <>
const Table<PickedModel> Fields<PickedModel>::table(
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
const Table<Pick> Fields<Pick>::table("pick", "kvplan pick",
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
