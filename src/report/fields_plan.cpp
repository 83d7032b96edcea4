// The fields of a plan. Bytes are integers; a value that does not apply is null, never absent.
#include "kvplan/ranges.h"
#include "report/fields_tables.h"
#include "report/words.h"

namespace kvplan {

namespace {

struct Host {
  const Plan* plan;
};

std::optional<std::string_view> kernel_name(AttentionKernel kernel) {
  switch (kernel) {
    case AttentionKernel::kEngine: return std::nullopt;
    case AttentionKernel::kNaive: return "naive";
    case AttentionKernel::kFlash: return "flash";
  }
  return std::nullopt;
}

// For a draft or a projector; null where there is none.
template <class Part>
std::optional<std::string_view> source_of(const Part& part) {
  return part ? std::optional<std::string_view>(part->source) : std::nullopt;
}

}  // namespace

template <>
const Table<TermFacts>& table() {
  using T = TermFacts;
  static constexpr auto rows = rows_of<T>({{"name", at<&T::name>},
                                           {"role", at<&T::role>},
                                           {"elements", at<&T::elements>},
                                           {"per", at<&T::growth>},
                                           {"dtype", at<&T::dtype>},
                                           {"bytes", at<&T::entry>, "of one entry"},
                                           {"stride", at<&T::stride>, "tokens for one entry", limit(kFromOne)},
                                           {"token_limit", at<&T::token_limit>, "tokens beyond it cost nothing"}});
  static constexpr Table<T> fields("", "", rows);
  return fields;
}

template <>
const Table<LayerFacts>& table() {
  using T = LayerFacts;
  static constexpr auto rows =
      rows_of<T>({{"kind", [](const T& layer) { return layer.kind.name; }, "", limit(R"("$ref": "#/$defs/kind")")},
                  {"variant", or_null<&T::variant>},
                  {"count", at<&T::count>},
                  {"indices", at<&T::indices>, "", limit(R"("pattern": "^[0-9]+(-[0-9]+)?(, ?[0-9]+(-[0-9]+)?)*$")")},
                  {"bytes_per_token", at<&T::bytes_per_token>, "of one such layer"},
                  {"bytes_per_sequence", at<&T::bytes_per_sequence>, "fixed state of one such layer"},
                  {"token_limit", at<&T::token_limit>, "tokens beyond it cost nothing"},
                  {"terms", at<&T::terms>}});
  static constexpr Table<T> fields("layer", "layers that are alike", rows);
  return fields;
}

template <>
const Table<Parameters>& table() {
  using T = Parameters;
  static constexpr auto rows = rows_of<T>({{"total", at<&T::total>, "unique parameters of the main model"},
                                           {"active", at<&T::active>, "those that one token passes through"},
                                           {"mtp", or_null<&T::mtp>}});
  static constexpr Table<T> fields("", "", rows);
  return fields;
}

template <>
const Table<ConfigFact>& table() {
  using T = ConfigFact;
  static constexpr auto rows = rows_of<T>(
      {{"key", at<&T::key>}, {"value", [](const T& fact) { return Spelled{fact.value}; }}, {"origin", at<&T::origin>}});
  static constexpr Table<T> fields("", "", rows);
  return fields;
}

template <>
const Table<TowerFacts>& table() {
  using T = TowerFacts;
  static constexpr auto rows = rows_of<T>({{"what", [](const T& side) { return name(side.what); }},
                                           {"model_type", or_null<&T::model_type>},
                                           {"num_layers", or_null<&T::num_layers>}});
  static constexpr Table<T> fields("", "", rows);
  return fields;
}

template <>
const Table<ModelOf>& table() {
  using M = ModelFacts;
  static constexpr auto rows = rows_of<ModelOf>(
      {{"source", at<&ModelOf::plan, &Plan::model, &M::source>, "a file, - or an id of the Hub", column()},
       {"model_type", or_null<&ModelOf::plan, &Plan::model, &M::model_type>},
       {"architecture", or_null<&ModelOf::plan, &Plan::model, &M::architecture>},
       {"name", at<&ModelOf::plan, &Plan::model, &M::name>},
       {"checked", or_null<&ModelOf::plan, &Plan::model, &M::checked>,
        "what its weights were held against; null: unverified"},
       {"attention", at<&ModelOf::plan, &Plan::attention>,
        "the one kind of all caching layers, or hybrid where they differ",
        column().limit(R"("anyOf": [{"$ref": "#/$defs/kind"}, {"const": "hybrid"}])")},
       {"dtype", [](const ModelOf& of) { return name(of.plan->model->dtype); }},
       {"num_layers", at<&ModelOf::plan, &Plan::model, &M::num_layers>},
       {"max_model_len", or_null<&ModelOf::plan, &Plan::model, &M::max_model_len>, "null where nobody names one"},
       {"parameters",
        [](const ModelOf& of) {
          const Parameters& parameters = of.plan->model->parameters;
          return parameters.is_known ? std::optional(parameters) : std::nullopt;
        }},
       {"config", at<&ModelOf::plan, &Plan::model, &M::config>, "what the plan read, and from where"},
       {"layers", at<&ModelOf::plan, &Plan::layers>, "a row for each distinct layer"},
       {"sides", at<&ModelOf::plan, &Plan::model, &M::towers>, "models beside the decoder, without a cache"}});
  static constexpr Table<ModelOf> fields("model", "", rows);
  return fields;
}

template <>
const Table<AdapterFile>& table() {
  using T = AdapterFile;
  static constexpr auto rows = rows_of<T>({{"source", at<&T::source>},
                                           {"rank", or_null<&T::rank>, "the largest of any module"},
                                           {"targets", at<&T::targets>},
                                           {"elements", at<&T::elements>},
                                           {"stored_bytes", at<&T::bytes>}});
  static constexpr Table<T> fields("", "", rows);
  return fields;
}

template <>
const Table<RequestOf>& table() {
  using R = Request;
  using E = ExtrasRequest;
  using Of = RequestOf;
  static constexpr auto rows = rows_of<Of>(
      {{"engine", at<&Of::plan, &Plan::engine>, "", column()},
       {"engine_version", at<&Of::plan, &Plan::engine_version>},
       {"max_model_len", [](const Of& of) { return of.plan->load.max_model_len; }, "tokens of one sequence",
        column().limit(kFromOne)},
       {"num_seqs", at<&Of::plan, &Plan::request, &R::num_seqs>, "", column().limit(kFromOne)},
       {"max_num_seqs", at<&Of::plan, &Plan::request, &R::max_num_seqs>},
       {"max_num_batched_tokens", at<&Of::plan, &Plan::request, &R::max_num_batched_tokens>},
       {"encoder_len", [](const Of& of) { return if_any(of.plan->load.source_tokens); }},
       {"kv_cache_dtype", [](const Of& of) { return cache_types_name(of.plan->types); }, "", column()},
       {"state_dtype", [](const Of& of) { return name(of.plan->types.state); }},
       {"weights_dtype",
        [](const Of& of) {
          const std::string& weights = of.plan->weights_dtype;
          return weights.empty() ? std::string(name(of.plan->model->dtype)) : weights;
        },
        "", column()},
       {"tensor_parallel_size", at<&Of::plan, &Plan::request, &R::parallel, &Parallel::tensor>, "",
        column().limit(kFromOne)},
       {"pipeline_parallel_size", at<&Of::plan, &Plan::request, &R::parallel, &Parallel::pipeline>, "",
        column().limit(kFromOne)},
       {"data_parallel_size", at<&Of::plan, &Plan::request, &R::parallel, &Parallel::data>, "",
        column().limit(kFromOne)},
       {"decode_context_parallel_size", at<&Of::plan, &Plan::request, &R::parallel, &Parallel::decode_context>, "",
        column().limit(kFromOne)},
       {"enable_expert_parallel", at<&Of::plan, &Plan::request, &R::parallel, &Parallel::expert>, "", column()},
       {"enable_dp_attention", at<&Of::plan, &Plan::request, &R::parallel, &Parallel::dp_attention>, "", column()},
       {"enforce_eager", at<&Of::plan, &Plan::request, &R::enforce_eager>},
       {"attention", [](const Of& of) { return kernel_name(of.plan->request.attention); }, "as --attention named it",
        limit(R"("enum": ["naive", "flash", null])")},
       {"margin", at<&Of::plan, &Plan::request, &R::margin>, "--margin as a share", limit(kFromZero)},
       {"num_beams", at<&Of::plan, &Plan::request, &R::extras, &E::num_beams>, "", limit(kFromOne)},
       {"num_samples", at<&Of::plan, &Plan::request, &R::extras, &E::num_samples>, "", limit(kFromOne)},
       {"speculative_method", at<&Of::plan, &Plan::draft_method>},
       {"num_speculative_tokens", or_null<&Of::plan, &Plan::request, &R::num_speculative_tokens>},
       {"draft", or_null<&Of::plan, &Plan::draft_source>},
       {"max_loras", at<&Of::plan, &Plan::request, &R::extras, &E::max_loras>},
       {"max_lora_rank", at<&Of::plan, &Plan::request, &R::extras, &E::max_lora_rank>},
       {"loras", at<&Of::plan, &Plan::request, &R::extras, &E::adapters>},
       {"mmproj", [](const Of& of) { return source_of(of.plan->request.extras.projector); }},
       {"gpu",
        [](const Of& of) {
          const Gpu* const gpu = of.plan->request.card.gpu;
          return gpu != nullptr ? std::optional(gpu->name) : std::nullopt;
        },
        "", column()},
       {"gpu_count",
        [](const Of& of) {
          const Request& request = of.plan->request;
          return std::max(request.card.count, request.parallel.gpus());
        },
        "", column().limit(kFromOne)},
       {"gpu_memory_bytes", at<&Of::plan, &Plan::request, &R::card, &CardRequest::memory>},
       {"gpu_memory_utilization", at<&Of::plan, &Plan::usable_share>, "the share of the card that the engine may use"},
       {"kv_cache_memory_bytes", at<&Of::plan, &Plan::request, &R::kv_cache_memory_bytes>}});
  static constexpr Table<Of> fields("request", "", rows);
  return fields;
}

template <>
const Table<GapLine>& table() {
  using T = GapLine;
  static constexpr auto rows =
      rows_of<T>({{"reason", [](const T& line) { return in_words(line.reason); }}, {"bytes", at<&T::bytes>}});
  static constexpr Table<T> fields("", "", rows);
  return fields;
}

template <>
const Table<CacheGroup>& table() {
  using T = CacheGroup;
  static constexpr auto rows = rows_of<T>({{"kind", at<&T::kind>},
                                           {"layers", at<&T::layers>},
                                           {"block_size", at<&T::block_size>, "tokens"},
                                           {"page_bytes", or_null<&T::page_bytes>, "of one layer and block"}});
  static constexpr Table<T> fields("", "", rows);
  return fields;
}

template <>
const Table<KvCachePlan>& table() {
  using T = KvCachePlan;
  static constexpr auto rows = rows_of<T>(
      {{"bytes_per_token", at<&T::bytes_per_token>, "what one more token of one sequence adds beyond every window",
        column()},
       {"bytes_per_token_in_window", at<&T::bytes_per_token_in_window>, "the same while every window still grows"},
       {"bytes_per_sequence", at<&T::bytes_per_sequence>, "fixed state of one sequence", column()},
       {"logical_bytes", at<&T::logical>, "what the architecture needs for the request, whole model", column()},
       {"logical_bytes_per_gpu", at<&T::logical_per_gpu>, "the fullest GPU's share of it"},
       {"reserved_bytes", at<&T::reserved>, "what the engine takes on the fullest GPU", column()},
       {"reserved_total_bytes", at<&T::reserved_total>, "the same over all GPUs"},
       {"gap", at<&T::gap>, "from logical_bytes_per_gpu to reserved_bytes; adds up exactly"},
       {"block_size", at<&T::block_size>, "tokens of the largest group's block"},
       {"groups", at<&T::groups>}});
  static constexpr Table<T> fields("kv_cache", "", rows);
  return fields;
}

template <>
const Table<LedgerLine>& table() {
  using T = LedgerLine;
  static constexpr auto rows =
      rows_of<T>({{"id", [](const T& line) { return id_of(line); }, "what it stands for: stable, for programs"},
                  {"basis", at<&T::basis>, "what the figure rests on"},
                  {"part", at<&T::part>},
                  {"what", [](const T& line) { return in_words(line.what); }},
                  {"bytes", at<&T::bytes>},
                  {"low_bytes", at<&T::low>},
                  {"high_bytes", at<&T::high>},
                  {"formula", [](const T& line) { return in_words(line.formula); }},
                  {"source", at<&T::source>}});
  static constexpr Table<T> fields("line", "", rows);
  return fields;
}

template <>
const Table<GpuMemory>& table() {
  using T = GpuMemory;
  static constexpr auto rows = rows_of<T>({{"gpu", at<&T::gpu>},
                                           {"weights_bytes", at<&T::weights>, "", column()},
                                           {"kv_cache_bytes", at<&T::kv_cache>, "", column()},
                                           {"activation_bytes", at<&T::activation>, "", column()},
                                           {"runtime_bytes", at<&T::runtime>, "", column()},
                                           {"total_bytes", at<&T::total>, "", column()},
                                           {"lines", at<&T::lines>}});
  static constexpr Table<T> fields("gpu_memory", "the four parts add up to the total", rows);
  return fields;
}

template <>
const Table<Host>& table() {
  static constexpr auto rows =
      rows_of<Host>({{"total_bytes", at<&Host::plan, &Plan::host_total>},
                     {"limit_bytes", [](const Host& host) { return host.plan->request.card.host_memory; },
                      "--host-memory, or this machine's with --gpu auto; null where it is not judged"},
                     {"lines", at<&Host::plan, &Plan::host>}});
  static constexpr Table<Host> fields(
      "host_memory",
      "what an engine keeps in host memory besides: no part of the GPUs' totals; null where it keeps nothing there",
      rows);
  return fields;
}

template <>
const Table<EngineSettings>& table() {
  using T = EngineSettings;
  static constexpr auto rows =
      rows_of<T>({{"max_num_batched_tokens", at<&T::max_num_batched_tokens>, "of a step: a prefill chunk, n_batch"},
                  {"max_num_seqs", at<&T::max_num_seqs>, "the scheduler's cap; null: as many as fit"},
                  {"memory_fraction", at<&T::memory_fraction>, "of the card, or of what is free", limit(kFromZero)},
                  {"cuda_graph_sizes", at<&T::cuda_graph_sizes>, "batch sizes that are captured"},
                  {"cuda_graphs", at<&T::cuda_graphs>, "graphs of all of them"},
                  {"state_slots_per_sequence", at<&T::state_slots_per_sequence>},
                  {"prefix_caching", at<&T::prefix_caching>},
                  {"attention_backend", or_null<&T::attention_backend>},
                  {"n_ubatch", at<&T::n_ubatch>, "tokens that pass the layers at once"}});
  static constexpr Table<T> fields(
      "engine_settings",
      "what the engine is planned with, whether asked for or its own default; null where it has no such thing", rows);
  return fields;
}

template <>
const Table<TotalReport>& table() {
  using T = TotalReport;
  static constexpr auto rows =
      rows_of<T>({{"bytes", at<&T::bytes>}, {"low_bytes", at<&T::low>}, {"high_bytes", at<&T::high>}});
  static constexpr Table<T> fields("total", "all GPUs; the range comes from what is estimated", rows);
  return fields;
}

template <>
const Table<Capacity>& table() {
  using T = Capacity;
  static constexpr auto rows =
      rows_of<T>({{"kv_cache_memory_bytes", at<&T::kv_cache_memory>, "per GPU"},
                  {"kv_cache_memory_low_bytes", at<&T::kv_cache_memory_low>,
                   "null where the budget was given, or is the engine's by no rule"},
                  {"kv_cache_memory_high_bytes", at<&T::kv_cache_memory_high>},
                  {"num_blocks", at<&T::num_blocks>},
                  {"tokens", at<&T::tokens>, "as the engine's own log prints them", column("capacity_tokens")},
                  {"tokens_low", at<&T::tokens_low>},
                  {"tokens_high", at<&T::tokens_high>},
                  {"max_concurrency", at<&T::max_concurrency>, "at max_model_len", limit(kFromZero)},
                  {"max_model_len", [](const T& of) { return if_bounded(of.max_model_len); },
                   "the longest at the requested sequences, at most the model's maximum; null: any length",
                   column("longest_context")},
                  {"max_model_len_by_memory", [](const T& of) { return if_bounded(of.max_model_len_by_memory); },
                   "the same without the model's maximum; null: any length", column("longest_context_by_memory")},
                  {"max_num_seqs", [](const T& of) { return if_bounded(of.max_num_seqs); },
                   "the most at the requested length; null: any number", column("most_sequences")}});
  static constexpr Table<T> fields("capacity", "null without a GPU, a size or a KV budget", rows);
  return fields;
}

template <>
const Table<MixReport>& table() {
  using T = MixReport;
  static constexpr auto rows =
      rows_of<T>({{"sequences", at<&T::sequences>},
                  {"tokens", at<&T::tokens>, "of all sequences"},
                  {"needed_bytes", at<&T::needed>, "exactly the tokens that there are"},
                  {"slab_bytes", at<&T::slab>, "max_model_len for every sequence"},
                  {"slab_waste_bytes", [](const T& mix) { return mix.slab - mix.needed; }},
                  {"block_size", at<&T::block_size>},
                  {"engine_pages", at<&T::engine_pages>, "block_size is the engine's own"},
                  {"page_bytes", at<&T::pages>, "whole pages"},
                  {"page_waste_bytes", [](const T& mix) { return mix.pages - mix.needed; }},
                  {"page_table_bytes", at<&T::page_table>},
                  {"shared_prefix", at<&T::shared_prefix>, "tokens"},
                  {"shared_saving_bytes", at<&T::shared_saving>, "of the pages, where the prefix is stored once"}});
  static constexpr Table<T> fields(
      "mix", "what contiguous and paged caches waste over a mix of sequence lengths; null without one", rows);
  return fields;
}

template <>
const Table<Roofline>& table() {
  using T = Roofline;
  static constexpr auto rows = rows_of<T>(
      {{"bandwidth_gb_s", at<&T::bandwidth_gb_s>, "10^9 bytes a second of one GPU", limit(R"("exclusiveMinimum": 0)")},
       {"num_seqs", at<&T::num_seqs>},
       {"weights_read_bytes", at<&T::weights_read>, "of one rank, all stages, in a step of one sequence"},
       {"weights_read_batch_bytes", at<&T::weights_read_batch>, "in a step of the whole batch: more experts"},
       {"cache_read_bytes", at<&T::cache_read>, "of one sequence at full length"},
       {"tokens_per_s_empty", at<&T::tokens_per_s_empty>, "one sequence, nothing cached", limit(kFromZero)},
       {"tokens_per_s", at<&T::tokens_per_s>, "one sequence at full length", column().limit(kFromZero)},
       {"tokens_per_s_batch", at<&T::tokens_per_s_batch>, "all sequences together, each at full length",
        column().limit(kFromZero)},
       {"cache_outweighs_at", at<&T::cache_outweighs_at>, "sequences from which a step reads more cache than weights"},
       {"prefill_flops", at<&T::prefill_flops>, "of one prompt of full length", limit(kFromZero)},
       {"tflops", at<&T::tflops>, "10^12 a second of one GPU, dense"},
       {"first_token_s", at<&T::first_token_s>, "", limit(kFromZero)},
       {"host_read_bytes", at<&T::host_read>, "of a step of one sequence at full length, from host memory"},
       {"host_bandwidth_gb_s",
        [](const T& bounds) { return bounds.host_gb_s > 0 ? std::optional(bounds.host_gb_s) : std::nullopt; },
        "at which that is read; null where nothing lies there"}});
  static constexpr Table<T> fields(
      "bounds",
      "bounds of speed from the card's bandwidth: upper for tokens a second, lower for the first token; null where no "
      "bandwidth is known",
      rows);
  return fields;
}

template <>
const Table<Remedy>& table() {
  using T = Remedy;
  static constexpr auto rows = rows_of<T>({{"changes", at<&T::changes>, "option and value"},
                                           {"total_bytes", at<&T::total>, "of the fullest GPU, then"},
                                           {"headroom_bytes", at<&T::headroom>}});
  static constexpr Table<T> fields("", "", rows);
  return fields;
}

template <>
const Table<VerdictReport>& table() {
  using T = VerdictReport;
  static constexpr auto rows = rows_of<T>(
      {{"status", at<&T::status>, "", column("verdict")},
       {"close", at<&T::close>, "the limit lies inside the range", column()},
       {"reason", [](const T& v) { return reason_of(v); }},
       {"headroom_bytes", at<&T::headroom>, "negative where memory is missing", column()},
       {"starts", at<&T::starts>, "the engine starts, whether or not all sequences run at once; null where not known"},
       {"refusal", [](const T& v) { return v.refusal ? std::optional(in_words(v.refusal->words)) : std::nullopt; },
        "why it does not start, where that is not memory"},
       {"runs_at_once", at<&T::runs_at_once>,
        "sequences like the request's that the engine's scheduler runs together; null where not known"},
       {"budget_bytes", or_null<&T::budget>, "what the verdict was held against"},
       {"reserve_bytes", at<&T::reserve>, "kept free of budget_bytes, where --reserve asks for it"},
       {"suggestions", at<&T::suggestions>, "what makes it fit: one change each, the one that gives up least first"},
       {"either_way_bytes", [](const T& of) { return of.close ? std::optional(of.either_way) : std::nullopt; },
        "where it is close: half the width of the range of what a GPU needs"},
       {"advice", [](const T& v) { return v.advice.empty() ? std::nullopt : std::optional(in_words(v.advice)); },
        "where it is close: what to lower first; where a stated mix of lengths is not what the verdict is for: whether "
        "it fits"}});
  static constexpr Table<T> fields("verdict", "", rows);
  return fields;
}

template <>
const Table<Note>& table() {
  using T = Note;
  static constexpr auto rows = rows_of<T>({{"level", at<&T::level>},
                                           {"code", at<&T::code>, "stable, for programs"},
                                           {"message", [](const T& note) { return in_words(note.message); }}});
  static constexpr Table<T> fields("note", "", rows);
  return fields;
}

template <>
const Table<Plan>& table() {
  using T = Plan;
  static constexpr auto rows = rows_of<T>(
      {{"model", [](const T& plan) { return ModelOf{&plan}; }},
       {"request", [](const T& plan) { return RequestOf{&plan}; }},
       {"kv_cache", at<&T::kv_cache>},
       {"engine_settings", at<&T::settings>},
       {"memory", at<&T::memory>, "a row for each GPU", limit(R"("minItems": 1)")},
       {"gpus", [](const T& plan) { return plan.memory.size(); }, "", csv_only()},
       {"fullest", at<&T::fullest>, "", csv_only()},
       {"total_low_bytes", [](const T& plan) { return range_of(plan.fullest().lines).low; }, "", csv_only()},
       {"total_high_bytes", [](const T& plan) { return range_of(plan.fullest().lines).high; }, "", csv_only()},
       {"host_bytes", at<&T::host_total>, "", csv_only()},
       {"host_memory", [](const T& plan) { return plan.host.empty() ? std::nullopt : std::optional(Host{&plan}); }},
       {"total", at<&T::total>},
       {"capacity", at<&T::capacity>},
       {"mix", at<&T::mix>},
       {"bounds", at<&T::roofline>},
       {"verdict", at<&T::verdict>},
       {"calibration",
        [](const T& plan) {
          const bool is_used = !plan.calibrated.empty() && plan.request.calibration;
          return is_used ? std::optional(CalibrationOf{&plan}) : std::nullopt;
        },
        "estimates that figures of a calibration replaced"},
       {"measurement", at<&T::measurement>, "--measure: the plan's cache, allocated on a device"},
       {"notes", at<&T::notes>},
       {"command", [](const T& plan) { return replay_text(plan.command); }, kReplayed, column()}});
  static constexpr Table<T> fields("plan", "kvplan MODEL --format json", rows, TableKind::kReport);
  return fields;
}

void define_plan(Json& definitions) {
  table<Plan>().schema(definitions);
}

}  // namespace kvplan
