// The fields of a plan. Bytes are integers; a value that does not apply is null, never absent.
#include "kvplan/ranges.h"
#include "report/fields_tables.h"
#include "report/words.h"

namespace kvplan {

namespace {

struct Host {
  const Plan* plan;
};

template <auto... members>
constexpr auto of_model = at<&ModelOf::plan, &Plan::model, members...>;
template <auto... members>
constexpr auto of_request = at<&RequestOf::plan, &Plan::request, members...>;

std::optional<std::string_view> kernel_name(AttentionKernel kernel) {
  switch (kernel) {
    case AttentionKernel::kEngine: return std::nullopt;
    case AttentionKernel::kNaive: return "naive";
    case AttentionKernel::kFlash: return "flash";
  }
  return std::nullopt;
}

// For a draft or a projector; null if there is none.
template <class Part>
std::optional<std::string_view> source_of(const Part& part) {
  return part ? std::optional<std::string_view>(part->source) : std::nullopt;
}

}  // namespace

template <>
const Table<TermFacts> Schema<TermFacts>::table({{"name", at<&T::name>},
                                                 {"role", at<&T::role>},
                                                 {"elements", at<&T::elements>},
                                                 {"per", at<&T::growth>},
                                                 {"dtype", at<&T::dtype>},
                                                 {"bytes", at<&T::entry>, "of one entry"},
                                                 {"stride", at<&T::stride>, "tokens for one entry", limit(kFromOne)},
                                                 {"token_limit", at<&T::token_limit>,
                                                  "tokens beyond it cost nothing"}});

template <>
const Table<LayerFacts> Schema<LayerFacts>::table(
    "layer", "layers that are alike",
    {{"kind", [](const T& layer) { return layer.kind.name; }, limit(R"("$ref": "#/$defs/kind")")},
     {"variant", or_null<&T::variant>},
     {"count", at<&T::count>},
     {"indices", at<&T::indices>, limit(R"("pattern": "^[0-9]+(-[0-9]+)?(, ?[0-9]+(-[0-9]+)?)*$")")},
     {"bytes_per_token", at<&T::bytes_per_token>, "of one such layer"},
     {"bytes_per_sequence", at<&T::bytes_per_sequence>, "fixed state of one such layer"},
     {"token_limit", at<&T::token_limit>, "tokens beyond it cost nothing"},
     {"terms", at<&T::terms>}});

template <>
const Table<Parameters> Schema<Parameters>::table({{"total", at<&T::total>, "unique parameters of the main model",
                                                    column("parameters")},
                                                   {"active", at<&T::active>, "parameters used for one token"},
                                                   {"mtp", or_null<&T::mtp>}});

template <>
const Table<ConfigFact> Schema<ConfigFact>::table({{"key", at<&T::key>},
                                                   {"value", [](const T& fact) { return Spelled{fact.value}; }},
                                                   {"origin", at<&T::origin>}});

template <>
const Table<TowerFacts> Schema<TowerFacts>::table({{"what", [](const T& side) { return name(side.what); }},
                                                   {"model_type", or_null<&T::model_type>},
                                                   {"num_layers", or_null<&T::num_layers>}});

template <>
const Table<ModelOf> Schema<ModelOf>::table(
    "model", "",
    {{"source", of_model<&ModelFacts::source>, "a file, - or a Hub id", column()},
     {"model_type", or_null<&T::plan, &Plan::model, &ModelFacts::model_type>},
     {"architecture", or_null<&T::plan, &Plan::model, &ModelFacts::architecture>},
     {"name", of_model<&ModelFacts::name>},
     {"checked", or_null<&T::plan, &Plan::model, &ModelFacts::checked>,
      "what its weights were compared with; null: unverified"},
     {"attention", at<&T::plan, &Plan::attention>, "the kind of all caching layers, or hybrid if they differ",
      column().limit(R"("anyOf": [{"$ref": "#/$defs/kind"}, {"const": "hybrid"}])")},
     {"dtype", [](const T& of) { return name(of.plan->model->dtype); }},
     {"num_layers", of_model<&ModelFacts::num_layers>},
     {"max_model_len", or_null<&T::plan, &Plan::model, &ModelFacts::max_model_len>, "null if the config has none"},
     {"parameters",
      [](const T& of) {
        const Parameters& parameters = of.plan->model->parameters;
        return parameters.is_known ? std::optional(parameters) : std::nullopt;
      }},
     {"config", of_model<&ModelFacts::config>, "what the plan read, and from where"},
     {"layers", at<&T::plan, &Plan::layers>, "a row for each distinct layer"},
     {"towers", of_model<&ModelFacts::towers>, "models beside the decoder, without a cache"}});

template <>
const Table<AdapterFile> Schema<AdapterFile>::table({{"source", at<&T::source>},
                                                     {"rank", or_null<&T::rank>, "the largest of any module"},
                                                     {"targets", at<&T::targets>},
                                                     {"elements", at<&T::elements>},
                                                     {"stored_bytes", at<&T::bytes>}});

template <>
const Table<RequestOf> Schema<RequestOf>::table(
    "request", "",
    {{"engine", at<&T::plan, &Plan::engine>, column()},
     {"engine_version", at<&T::plan, &Plan::engine_version>},
     {"max_model_len", [](const T& of) { return of.plan->load.max_model_len; }, "tokens of one sequence",
      column().limit(kFromOne)},
     {"num_seqs", of_request<&Request::num_seqs>, column().limit(kFromOne)},
     {"max_num_seqs", of_request<&Request::max_num_seqs>},
     {"max_num_batched_tokens", of_request<&Request::max_num_batched_tokens>},
     {"encoder_len", [](const T& of) { return if_any(of.plan->load.source_tokens); }},
     {"kv_cache_dtype", [](const T& of) { return cache_types_name(of.plan->types); }, column()},
     {"state_dtype", [](const T& of) { return name(of.plan->types.state); }},
     {"weights_dtype",
      [](const T& of) {
        const std::string& weights = of.plan->weights_dtype;
        return weights.empty() ? std::string(name(of.plan->model->dtype)) : weights;
      },
      "", column()},
     {"tensor_parallel_size", of_request<&Request::parallel, &Parallel::tensor>, column().limit(kFromOne)},
     {"pipeline_parallel_size", of_request<&Request::parallel, &Parallel::pipeline>, column().limit(kFromOne)},
     {"data_parallel_size", of_request<&Request::parallel, &Parallel::data>, column().limit(kFromOne)},
     {"decode_context_parallel_size", of_request<&Request::parallel, &Parallel::decode_context>,
      column().limit(kFromOne)},
     {"enable_expert_parallel", of_request<&Request::parallel, &Parallel::expert>, column()},
     {"enable_dp_attention", of_request<&Request::parallel, &Parallel::dp_attention>, column()},
     {"enforce_eager", of_request<&Request::enforce_eager>},
     {"attention", [](const T& of) { return kernel_name(of.plan->request.attention); }, "as --attention named it",
      limit(R"("enum": ["naive", "flash", null])")},
     {"margin", of_request<&Request::margin>, "--margin as a fraction", limit(kFromZero)},
     {"num_beams", of_request<&Request::extras, &ExtrasRequest::num_beams>, limit(kFromOne)},
     {"num_samples", of_request<&Request::extras, &ExtrasRequest::num_samples>, limit(kFromOne)},
     {"speculative_method", at<&T::plan, &Plan::draft_method>},
     {"num_speculative_tokens", or_null<&T::plan, &Plan::request, &Request::num_speculative_tokens>},
     {"draft", or_null<&T::plan, &Plan::draft_source>},
     {"max_loras", of_request<&Request::extras, &ExtrasRequest::max_loras>},
     {"max_lora_rank", of_request<&Request::extras, &ExtrasRequest::max_lora_rank>},
     {"loras", of_request<&Request::extras, &ExtrasRequest::adapters>},
     {"mmproj", [](const T& of) { return source_of(of.plan->request.extras.projector); }},
     {"gpu",
      [](const T& of) {
        const Gpu* const gpu = of.plan->request.card.gpu;
        return gpu != nullptr ? std::optional(gpu->name) : std::nullopt;
      },
      column()},
     {"gpu_count",
      [](const T& of) {
        const Request& request = of.plan->request;
        return std::max(request.card.count, request.parallel.gpus());
      },
      "", column().limit(kFromOne)},
     {"gpu_memory_bytes", of_request<&Request::card, &CardRequest::memory>},
     {"gpu_memory_utilization", at<&T::plan, &Plan::usable_share>,
      "the fraction of GPU memory that the engine may use"},
     {"kv_cache_memory_bytes", of_request<&Request::kv_cache_memory_bytes>}});

template <>
const Table<GapLine> Schema<GapLine>::table({{"reason", at<&T::reason>}, {"bytes", at<&T::bytes>}});

template <>
const Table<CacheGroup> Schema<CacheGroup>::table({{"kind", at<&T::kind>},
                                                   {"layers", at<&T::layers>},
                                                   {"block_size", at<&T::block_size>, "tokens"},
                                                   {"page_bytes", or_null<&T::page_bytes>, "of one layer and block"}});

template <>
const Table<KvCachePlan> Schema<KvCachePlan>::table(
    "kv_cache", "",
    {{"bytes_per_token", at<&T::bytes_per_token>, "what one more token adds once every sliding window is full",
      column()},
     {"bytes_per_token_in_window", at<&T::bytes_per_token_in_window>, "the same while every window is still filling"},
     {"bytes_per_sequence", at<&T::bytes_per_sequence>, "fixed state of one sequence", column()},
     {"logical_bytes", at<&T::logical>, "what the architecture needs for the request, whole model", column()},
     {"logical_bytes_per_gpu", at<&T::logical_per_gpu>, "the part of it on the fullest GPU"},
     {"reserved_bytes", at<&T::reserved>, "what the engine takes on the fullest GPU", column()},
     {"reserved_total_bytes", at<&T::reserved_total>, "the same over all GPUs"},
     {"gap", at<&T::gap>, "from logical_bytes_per_gpu to reserved_bytes; adds up exactly"},
     {"block_size", at<&T::block_size>, "tokens of the largest group's block"},
     {"groups", at<&T::groups>}});

template <>
const Table<LedgerLine> Schema<LedgerLine>::table("line", "",
                                                  {{"id", [](const T& line) { return id_of(line); },
                                                    "stable name, for programs"},
                                                   {"basis", at<&T::basis>, "where the figure comes from"},
                                                   {"part", at<&T::part>},
                                                   {"what", at<&T::what>},
                                                   {"bytes", at<&T::bytes>},
                                                   {"low_bytes", at<&T::low>},
                                                   {"high_bytes", at<&T::high>},
                                                   {"formula", at<&T::formula>},
                                                   {"source", at<&T::source>}});

template <>
const Table<GpuMemory> Schema<GpuMemory>::table("gpu_memory", "the four parts add up to the total",
                                                {{"gpu", at<&T::gpu>},
                                                 {"weights_bytes", at<&T::weights>, column()},
                                                 {"kv_cache_bytes", at<&T::kv_cache>, column()},
                                                 {"activation_bytes", at<&T::activation>, column()},
                                                 {"runtime_bytes", at<&T::runtime>, column()},
                                                 {"total_bytes", at<&T::total>, column()},
                                                 {"lines", at<&T::lines>}});

template <>
const Table<Host> Schema<Host>::table(
    "host_memory", "what the engine also keeps in host memory, not part of the GPUs' totals; null if nothing",
    {{"total_bytes", at<&T::plan, &Plan::host_total>},
     {"limit_bytes", [](const T& host) { return host.plan->request.card.host_memory; },
      "--host-memory, or this machine's with --gpu auto; null: not checked"},
     {"lines", at<&T::plan, &Plan::host>}});

template <>
const Table<EngineSettings> Schema<EngineSettings>::table(
    "engine_settings", "the engine's settings, requested or default; null if the engine has no such setting",
    {{"max_num_batched_tokens", at<&T::max_num_batched_tokens>, "tokens per step: a prefill chunk, n_batch"},
     {"max_num_seqs", at<&T::max_num_seqs>, "the scheduler's cap; null: as many as fit"},
     {"memory_fraction", at<&T::memory_fraction>, "of GPU memory, or of what is free", limit(kFromZero)},
     {"cuda_graph_sizes", at<&T::cuda_graph_sizes>, "batch sizes that are captured"},
     {"cuda_graphs", at<&T::cuda_graphs>, "graphs of all of them"},
     {"state_slots_per_sequence", at<&T::state_slots_per_sequence>},
     {"prefix_caching", at<&T::prefix_caching>},
     {"attention_backend", or_null<&T::attention_backend>},
     {"n_ubatch", at<&T::n_ubatch>, "tokens computed at once"}});

template <>
const Table<TotalReport> Schema<TotalReport>::table("total", "all GPUs; the range comes from the estimates",
                                                    {{"bytes", at<&T::bytes>},
                                                     {"low_bytes", at<&T::low>},
                                                     {"high_bytes", at<&T::high>}});

template <>
const Table<Capacity> Schema<Capacity>::table(
    "capacity", "null without a GPU, a size or a KV budget",
    {{"kv_cache_memory_bytes", at<&T::kv_cache_memory>, "per GPU"},
     {"kv_cache_memory_low_bytes", at<&T::kv_cache_memory_low>,
      "null if the budget was given or kvplan has no rule for it"},
     {"kv_cache_memory_high_bytes", at<&T::kv_cache_memory_high>},
     {"num_blocks", at<&T::num_blocks>},
     {"tokens", at<&T::tokens>, "as the engine's log prints it", column("capacity_tokens")},
     {"tokens_low", at<&T::tokens_low>},
     {"tokens_high", at<&T::tokens_high>},
     {"max_concurrency", at<&T::max_concurrency>, "at max_model_len", limit(kFromZero)},
     {"max_model_len", bounded<&T::max_model_len>,
      "the longest at the requested sequences, at most the model's maximum; null: any length",
      column("longest_context")},
     {"max_model_len_by_memory", bounded<&T::max_model_len_by_memory>,
      "the same without the model's maximum; null: any length", column("longest_context_by_memory")},
     {"max_num_seqs", bounded<&T::max_num_seqs>, "the most at the requested length; null: any number",
      column("most_sequences")}});

template <>
const Table<MixReport> Schema<MixReport>::table(
    "mix", "what contiguous and paged caches waste with different sequence lengths; null if all are equal",
    {{"sequences", at<&T::sequences>},
     {"tokens", at<&T::tokens>, "of all sequences"},
     {"needed_bytes", at<&T::needed>, "exactly the tokens in use"},
     {"slab_bytes", at<&T::slab>, "max_model_len for every sequence"},
     {"slab_waste_bytes", [](const T& mix) { return mix.slab - mix.needed; }},
     {"block_size", at<&T::block_size>},
     {"engine_pages", at<&T::engine_pages>, "block_size is the engine's"},
     {"page_bytes", at<&T::pages>, "whole pages"},
     {"page_waste_bytes", [](const T& mix) { return mix.pages - mix.needed; }},
     {"page_table_bytes", at<&T::page_table>},
     {"shared_prefix", at<&T::shared_prefix>, "tokens"},
     {"shared_saving_bytes", at<&T::shared_saving>, "of the pages, where the prefix is stored once"}});

template <>
const Table<Roofline> Schema<Roofline>::table(
    "bounds",
    "bounds of speed from the GPU's bandwidth: upper for tokens a second, lower for the first token; null where no "
    "bandwidth is known",
    {{"bandwidth_gb_s", at<&T::bandwidth_gb_s>, "10^9 bytes a second of one GPU", limit(R"("exclusiveMinimum": 0)")},
     {"num_seqs", at<&T::num_seqs>},
     {"weights_read_bytes", at<&T::weights_read>, "of one rank, all stages, in a step of one sequence"},
     {"weights_read_batch_bytes", at<&T::weights_read_batch>, "in a step of the whole batch: more experts"},
     {"cache_read_bytes", at<&T::cache_read>, "of one sequence at full length, or of the stated mean length"},
     {"tokens_per_s_empty", at<&T::tokens_per_s_empty>, "one sequence, nothing cached", limit(kFromZero)},
     {"tokens_per_s", at<&T::tokens_per_s>, "one sequence of that length", column().limit(kFromZero)},
     {"tokens_per_s_batch", at<&T::tokens_per_s_batch>, "all sequences together, each of that length",
      column().limit(kFromZero)},
     {"cache_outweighs_at", at<&T::cache_outweighs_at>, "sequences from which a step reads more cache than weights"},
     {"prefill_flops", at<&T::prefill_flops>, "of one prompt of that length", limit(kFromZero)},
     {"tflops", at<&T::tflops>, "10^12 a second of one GPU, dense"},
     {"first_token_s", at<&T::first_token_s>, limit(kFromZero)},
     {"host_read_bytes", at<&T::host_read>, "read from host memory in a step of one sequence of that length"},
     {"host_bandwidth_gb_s", or_null<&T::host_gb_s>, "bandwidth of that read; null if nothing is there"}});

template <>
const Table<Remedy> Schema<Remedy>::table({{"changes", at<&T::changes>, "option and value"},
                                           {"total_bytes", at<&T::total>, "of the fullest GPU, with the change"},
                                           {"headroom_bytes", at<&T::headroom>},
                                           {"frees_bytes", at<&T::frees>, "growth of the headroom"},
                                           {"cost", or_null<&T::cost>, "what the change costs; null if it is obvious"},
                                           {"engine_command", or_null<&T::command>,
                                            "the launch command with the changes, if a command was given"}});

template <>
const Table<VerdictReport> Schema<VerdictReport>::table(
    "verdict", "",
    {{"status", at<&T::status>, column("verdict")},
     {"close", at<&T::close>, "the limit lies inside the range", column()},
     {"reason", [](const T& v) { return reason_of(v); }},
     {"headroom_bytes", at<&T::headroom>, "negative if memory is missing", column()},
     {"starts", at<&T::starts>, "the engine starts, whether or not all sequences run at once; null if not known"},
     {"refusal", [](const T& v) { return v.refusal ? std::optional(in_words(v.refusal->words)) : std::nullopt; },
      "why it does not start, if not for memory"},
     {"refusal_code", [](const T& v) { return v.refusal ? std::optional(std::string(v.refusal->id)) : std::nullopt; },
      "the same as a stable name"},
     {"runs_at_once", at<&T::runs_at_once>,
      "sequences like the request's that the engine's scheduler runs together; null if not known"},
     {"largest_max_num_seqs", at<&T::largest_seqs_cap>,
      "the largest --max-num-seqs that the engine starts with, if its cache limits it"},
     {"budget_bytes", or_null<&T::budget>, "what the verdict compares with"},
     {"reserve_bytes", at<&T::reserve>, "part of budget_bytes that --reserve keeps free"},
     {"suggestions", at<&T::suggestions>, "what makes it fit: one change each, smallest change first"},
     {"either_way_bytes", [](const T& of) { return of.close ? std::optional(of.either_way) : std::nullopt; },
      "if it is close: half the width of the range of what a GPU needs"},
     {"advice", or_null<&T::advice>,
      "if it is close: what to lower first; if the verdict is not for the given mix of lengths: whether that fits"}});

template <>
const Table<Note> Schema<Note>::table("note", "",
                                      {{"level", at<&T::level>},
                                       {"code", at<&T::code>, "stable, for programs"},
                                       {"message", at<&T::message>}});

template <>
const Table<Plan> Schema<Plan>::table(
    "plan", "kvplan MODEL --format json",
    {{"model", [](const T& plan) { return ModelOf{&plan}; }},
     {"request", [](const T& plan) { return RequestOf{&plan}; }},
     {"kv_cache", at<&T::kv_cache>},
     {"engine_settings", at<&T::settings>},
     {"memory", at<&T::memory>, "a row for each GPU", limit(R"("minItems": 1)")},
     {"gpus", [](const T& plan) { return plan.memory.size(); }, csv_only()},
     {"fullest", at<&T::fullest>, csv_only()},
     {"total_low_bytes", [](const T& plan) { return range_of(plan.fullest().lines).low; }, csv_only()},
     {"total_high_bytes", [](const T& plan) { return range_of(plan.fullest().lines).high; }, csv_only()},
     {"host_bytes", at<&T::host_total>, csv_only()},
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
      "estimates replaced by measured figures"},
     {"measurement", at<&T::measurement>, "--measure: the plan's cache, allocated on a device"},
     {"notes", at<&T::notes>},
     {"command", [](const T& plan) { return replay_text(plan.command); }, kReplayed, column()}},
    TableKind::kReport);

}  // namespace kvplan
