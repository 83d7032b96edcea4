// The JSON of the contract, schema_version 1. Bytes are integers; a part that is not known is null.
#include "kvplan/version.h"
#include "report/json_text.h"
#include "report/measurement.h"
#include "report/report.h"

namespace kvplan {

namespace {

using Json = JsonText;

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}
Json or_null(const std::optional<Bytes>& value) {
  return value ? Json(value->count()) : Json(nullptr);
}
Json text_or_null(std::string_view text) {
  return text.empty() ? Json(nullptr) : Json(std::string(text));
}

std::string_view role_name(Role role) {
  switch (role) {
    case Role::kKey: return "key";
    case Role::kValue: return "value";
    case Role::kState: return "state";
    case Role::kIndex: return "index";
  }
  return "";
}

std::string_view growth_name(Growth growth) {
  switch (growth) {
    case Growth::kToken: return "token";
    case Growth::kSourceToken: return "source_token";
    case Growth::kSequence: return "sequence";
  }
  return "";
}

std::string_view verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFits: return "fits";
    case Verdict::kDoesNotFit: return "does_not_fit";
    case Verdict::kUnknown: return "unknown";
  }
  return "";
}

Json attention_name(AttentionKernel attention) {
  switch (attention) {
    case AttentionKernel::kEngine: return nullptr;
    case AttentionKernel::kNaive: return "naive";
    case AttentionKernel::kFlash: return "flash";
  }
  return nullptr;
}

Json layer_row(const LayerFacts& layer) {
  Json terms = Json::array();
  for (const TermFacts& term : layer.terms)
    terms.push_back({{"name", term.name},
                     {"role", role_name(term.role)},
                     {"elements", term.elements},
                     {"per", growth_name(term.growth)},
                     {"dtype", term.dtype},
                     {"bytes", term.entry.count()},
                     {"stride", term.stride},
                     {"token_limit", or_null(term.token_limit)}});
  return {{"kind", layer.kind.name},
          {"variant", text_or_null(layer.variant)},
          {"count", layer.count},
          {"indices", layer.indices},
          {"bytes_per_token", layer.bytes_per_token},
          {"bytes_per_sequence", layer.bytes_per_sequence},
          {"token_limit", or_null(layer.token_limit)},
          {"terms", std::move(terms)}};
}

Json parameters_json(const Parameters& parameters) {
  if (!parameters.is_known) return nullptr;
  return {{"total", parameters.total},
          {"active", parameters.active},
          {"mtp", parameters.mtp > 0 ? Json(parameters.mtp) : Json(nullptr)}};
}

Json model_json(const Plan& plan) {
  const ModelFacts& model = *plan.model;
  Json config = Json::array();
  for (const ConfigFact& fact : model.config)
    config.push_back({{"key", fact.key}, {"value", Json::parsed(fact.value)}, {"origin", name(fact.origin)}});
  Json layers = Json::array();
  for (const LayerFacts& layer : plan.layers) layers.push_back(layer_row(layer));
  Json sides = Json::array();
  for (const SideFacts& side : model.sides)
    sides.push_back({{"what", side.what},
                     {"model_type", text_or_null(side.model_type)},
                     {"num_layers", side.num_layers > 0 ? Json(side.num_layers) : Json(nullptr)}});
  return {{"source", model.source},
          {"model_type", text_or_null(model.model_type)},
          {"architecture", text_or_null(model.architecture)},
          {"name", model.name},
          {"checked", text_or_null(model.checked)},
          {"attention", plan.attention},
          {"dtype", name(model.dtype)},
          {"num_layers", model.num_layers},
          {"max_model_len", model.max_model_len > Tokens(0) ? Json(model.max_model_len.count()) : Json(nullptr)},
          {"parameters", parameters_json(model.parameters)},
          {"config", std::move(config)},
          {"layers", std::move(layers)},
          {"sides", std::move(sides)}};
}

Json adapters_json(const std::vector<AdapterFile>& adapters) {
  Json out = Json::array();
  for (const AdapterFile& adapter : adapters)
    out.push_back({{"source", adapter.source},
                   {"rank", adapter.rank > 0 ? Json(adapter.rank) : Json(nullptr)},
                   {"targets", adapter.targets},
                   {"elements", adapter.elements.count()},
                   {"stored_bytes", adapter.bytes.count()}});
  return out;
}

Json request_json(const Plan& plan) {
  const Request& request = plan.request;
  return {{"engine", request.engine},
          {"engine_version", plan.engine_version},
          {"max_model_len", plan.load.max_model_len.count()},
          {"num_seqs", request.num_seqs},
          {"max_num_seqs", or_null(request.max_num_seqs)},
          {"max_num_batched_tokens",
           request.max_num_batched_tokens ? Json(request.max_num_batched_tokens->count()) : Json(nullptr)},
          {"encoder_len", plan.load.source_tokens > Tokens(0) ? Json(plan.load.source_tokens.count()) : Json(nullptr)},
          {"kv_cache_dtype", cache_types_name(plan.types)},
          {"state_dtype", name(plan.types.state)},
          {"weights_dtype", plan.weights_dtype.empty() ? Json(name(plan.model->dtype)) : Json(plan.weights_dtype)},
          {"tensor_parallel_size", request.tensor_parallel},
          {"pipeline_parallel_size", request.pipeline_parallel},
          {"data_parallel_size", request.data_parallel},
          {"decode_context_parallel_size", request.decode_context_parallel},
          {"enable_expert_parallel", request.expert_parallel},
          {"enforce_eager", request.enforce_eager},
          {"attention", attention_name(request.attention)},
          {"margin", or_null(request.margin)},
          {"num_beams", request.extras.num_beams},
          {"num_samples", request.extras.num_samples},
          {"speculative_method", plan.draft_method ? Json(name(*plan.draft_method)) : Json(nullptr)},
          {"num_speculative_tokens",
           request.num_speculative_tokens > 0 ? Json(request.num_speculative_tokens) : Json(nullptr)},
          {"draft", request.extras.draft != nullptr ? Json(request.extras.draft->source) : Json(nullptr)},
          {"max_loras", or_null(request.extras.max_loras)},
          {"max_lora_rank", or_null(request.extras.max_lora_rank)},
          {"loras", adapters_json(request.extras.adapters)},
          {"mmproj", request.extras.projector ? Json(request.extras.projector->source) : Json(nullptr)},
          {"gpu", request.gpu ? Json(*request.gpu) : Json(nullptr)},
          {"gpu_memory_bytes", or_null(request.gpu_memory)},
          {"gpu_memory_utilization", or_null(plan.usable_share)},
          {"kv_cache_memory_bytes", or_null(request.kv_cache_memory_bytes)}};
}

Json cache_json(const KvCachePlan& kv) {
  Json gap = Json::array();
  for (const GapLine& line : kv.gap) gap.push_back({{"reason", line.reason}, {"bytes", line.bytes}});
  Json groups = Json::array();
  for (const CacheGroup& group : kv.groups)
    groups.push_back({{"kind", group.kind},
                      {"layers", group.layers},
                      {"block_size", or_null(group.block_size)},
                      {"page_bytes", group.page_bytes > Bytes(0) ? Json(group.page_bytes.count()) : Json(nullptr)}});
  return {{"bytes_per_token", kv.bytes_per_token.count()},
          {"bytes_per_token_in_window", kv.bytes_per_token_in_window.count()},
          {"bytes_per_sequence", kv.bytes_per_sequence.count()},
          {"logical_bytes", kv.logical.count()},
          {"logical_bytes_per_gpu", kv.logical_per_gpu.count()},
          {"reserved_bytes", kv.reserved.count()},
          {"reserved_total_bytes", kv.reserved_total.count()},
          {"gap", std::move(gap)},
          {"block_size", or_null(kv.block_size)},
          {"groups", std::move(groups)}};
}

Json lines_json(const std::vector<LedgerLine>& lines) {
  Json out = Json::array();
  for (const LedgerLine& line : lines)
    out.push_back({{"basis", name(line.basis)},
                   {"part", name(line.part)},
                   {"what", line.what},
                   {"bytes", line.bytes.count()},
                   {"low_bytes", line.low.count()},
                   {"high_bytes", line.high.count()},
                   {"formula", line.formula},
                   {"source", line.source}});
  return out;
}

// Not among the GPUs' totals; null where the engine keeps nothing there.
Json host_json(const std::vector<LedgerLine>& lines) {
  if (lines.empty()) return nullptr;
  Bytes total;
  for (const LedgerLine& line : lines) total += line.bytes;
  return {{"total_bytes", total.count()}, {"lines", lines_json(lines)}};
}

Json memory_json(const std::vector<GpuMemory>& memory) {
  Json out = Json::array();
  for (const GpuMemory& gpu : memory) {
    out.push_back({{"gpu", gpu.gpu},
                   {"weights_bytes", or_null(gpu.weights)},
                   {"kv_cache_bytes", or_null(gpu.kv_cache)},
                   {"activation_bytes", or_null(gpu.activation)},
                   {"runtime_bytes", or_null(gpu.runtime)},
                   {"total_bytes", gpu.total.count()},
                   {"lines", lines_json(gpu.lines)}});
  }
  return out;
}

// Any number has no figure.
Json count_or_null(std::uint64_t n) {
  return n >= kAnyCount ? Json(nullptr) : Json(n);
}

Json capacity_json(const std::optional<Capacity>& capacity) {
  if (!capacity) return nullptr;
  return {{"kv_cache_memory_bytes", capacity->kv_cache_memory.count()},
          {"num_blocks", or_null(capacity->num_blocks)},
          {"tokens", or_null(capacity->tokens)},
          {"max_concurrency", capacity->max_concurrency},
          {"max_model_len", count_or_null(capacity->max_model_len)},
          {"max_num_seqs", count_or_null(capacity->max_num_seqs)}};
}

Json mix_json(const std::optional<MixReport>& mix) {
  if (!mix) return nullptr;
  return {{"sequences", mix->sequences},
          {"tokens", mix->tokens.count()},
          {"needed_bytes", mix->needed.count()},
          {"slab_bytes", mix->slab.count()},
          {"slab_waste_bytes", (mix->slab - mix->needed).count()},
          {"block_size", mix->block_size},
          {"engine_pages", mix->engine_pages},
          {"page_bytes", mix->pages.count()},
          {"page_waste_bytes", (mix->pages - mix->needed).count()},
          {"page_table_bytes", mix->page_table.count()},
          {"shared_prefix", mix->shared_prefix.count()},
          {"shared_saving_bytes", mix->shared_saving.count()}};
}

Json suggestions_json(const std::vector<Remedy>& remedies) {
  Json out = Json::array();
  for (const Remedy& remedy : remedies) {
    Json changes = Json::object();
    for (const auto& [option, value] : remedy.changes) changes.add(option, value);
    out.push_back({{"changes", std::move(changes)},
                   {"total_bytes", remedy.total.count()},
                   {"headroom_bytes", or_null(remedy.headroom)}});
  }
  return out;
}

Json verdict_json(const VerdictReport& verdict) {
  return {{"status", verdict_name(verdict.status)},
          {"close", verdict.close},
          {"reason", verdict.reason},
          {"headroom_bytes", or_null(verdict.headroom)},
          {"starts", or_null(verdict.starts)},
          {"refusal", nullptr},
          {"runs_at_once", or_null(verdict.runs_at_once)},
          {"budget_bytes", verdict.budget > Bytes(0) ? Json(verdict.budget.count()) : Json(nullptr)},
          {"suggestions", suggestions_json(verdict.suggestions)},
          {"either_way_bytes", verdict.close ? Json(verdict.either_way.count()) : Json(nullptr)},
          {"advice", text_or_null(verdict.advice)}};
}

Json roofline_json(const std::optional<Roofline>& bounds) {
  if (!bounds) return nullptr;
  return {{"bandwidth_gb_s", bounds->bandwidth_gb_s},
          {"num_seqs", bounds->num_seqs},
          {"weights_read_bytes", bounds->weights_read.count()},
          {"weights_read_batch_bytes", bounds->weights_read_batch.count()},
          {"cache_read_bytes", bounds->cache_read.count()},
          {"tokens_per_s_empty", bounds->tokens_per_s_empty},
          {"tokens_per_s", bounds->tokens_per_s},
          {"tokens_per_s_batch", bounds->tokens_per_s_batch},
          {"cache_outweighs_at", or_null(bounds->cache_outweighs_at)},
          {"prefill_flops", bounds->prefill_flops},
          {"tflops", or_null(bounds->tflops)},
          {"first_token_s", or_null(bounds->first_token_s)}};
}

Json total_json(const TotalReport& total) {
  return {{"bytes", total.bytes.count()}, {"low_bytes", total.low.count()}, {"high_bytes", total.high.count()}};
}

Json notes_json(const std::vector<Note>& notes) {
  Json out = Json::array();
  for (const Note& note : notes)
    out.push_back({{"level", note.level == NoteLevel::kWarning ? "warning" : "info"},
                   {"code", note.code},
                   {"message", note.message}});
  return out;
}

Json plan_object(const Plan& plan) {
  return {{"schema_version", 1},
          {"kvplan_version", kVersion},
          {"model", model_json(plan)},
          {"request", request_json(plan)},
          {"kv_cache", cache_json(plan.kv_cache)},
          {"memory", memory_json(plan.memory)},
          {"host_memory", host_json(plan.host)},
          {"total", total_json(plan.total)},
          {"capacity", capacity_json(plan.capacity)},
          {"mix", mix_json(plan.mix)},
          {"bounds", roofline_json(plan.roofline)},
          {"verdict", verdict_json(plan.verdict)},
          {"calibration", calibration_object(plan)},
          {"measurement", measurement_object(plan)},
          {"notes", notes_json(plan.notes)}};
}

Json answers_object(const Answers& answers) {
  Json list = Json::array();
  for (const Answer& answer : answers.answers) {
    Json changes = Json::object();
    for (const auto& [option, value] : answer.changes) changes.add(option, value);
    list.push_back({{"name", answer.name},
                    {"changes", std::move(changes)},
                    {"weights_dtype", text_or_null(answer.plan.weights_dtype)},
                    {"kv_cache_dtype", cache_types_name(answer.plan.types)},
                    {"kv_cache", cache_json(answer.plan.kv_cache)},
                    {"memory", memory_json(answer.plan.memory)},
                    {"total", total_json(answer.plan.total)},
                    {"capacity", capacity_json(answer.plan.capacity)},
                    {"verdict", verdict_json(answer.plan.verdict)}});
  }
  std::vector<Note> notes = answers.asked.notes;
  for (const std::string& sentence : answers.sentences) notes.push_back({NoteLevel::kInfo, "answer", sentence});
  return {{"schema_version", 1},
          {"kvplan_version", kVersion},
          {"model", model_json(answers.asked)},
          {"request", request_json(answers.asked)},
          {"answers", std::move(list)},
          {"notes", notes_json(notes)}};
}

}  // namespace

std::string plan_json(const Plan& plan, const ReportOptions&) {
  return plan_object(plan).laid_out();
}

std::string fleet_json(const std::vector<FleetEntry>& entries, const ReportOptions&) {
  Json plans = Json::array();
  for (const FleetEntry& entry : entries) {
    if (entry.plan)
      plans.push_back(plan_object(*entry.plan));
    else
      plans.push_back({{"source", entry.source}, {"error", entry.error}, {"exit", static_cast<int>(entry.exit)}});
  }
  return Json{{"schema_version", 1}, {"kvplan_version", kVersion}, {"plans", std::move(plans)}}.laid_out();
}

std::string grid_json(const Grid& grid, const ReportOptions&) {
  Json cards = Json::array();
  for (const GridCard& card : grid.cards)
    cards.push_back({{"gpu", card.name}, {"gpu_count", grid.gpu_count}, {"gpu_memory_bytes", card.memory.count()}});
  Json rows = Json::array();
  for (const GridRow& row : grid.rows) {
    if (row.cells.empty()) {
      rows.push_back({{"source", row.source}, {"error", row.error}, {"exit", static_cast<int>(row.exit)}});
      continue;
    }
    Json cells = Json::array();
    for (std::size_t c = 0; c < row.cells.size(); ++c) {
      const GridCell& cell = row.cells[c];
      const bool planned = cell.error.empty();
      const auto number = [&](std::uint64_t n) { return planned ? count_or_null(n) : Json(nullptr); };
      cells.push_back({{"gpu", grid.cards[c].name},
                       {"error", text_or_null(cell.error)},
                       {"tensor_parallel_size", number(cell.tensor_parallel)},
                       {"pipeline_parallel_size", number(cell.pipeline_parallel)},
                       {"total_bytes", number(cell.total.count())},
                       {"max_model_len", number(cell.longest)},
                       {"max_num_seqs", number(cell.most_seqs)},
                       {"verdict", planned ? verdict_json(cell.verdict) : Json(nullptr)}});
    }
    rows.push_back({{"source", row.source},
                    {"engine", row.engine},
                    {"engine_version", row.engine_version},
                    {"weights_dtype", text_or_null(row.weights)},
                    {"kv_cache_dtype", cache_types_name(row.types)},
                    {"max_model_len", row.max_model_len},
                    {"num_seqs", grid.num_seqs},
                    {"cells", std::move(cells)}});
  }
  return Json{
      {"schema_version", 1}, {"kvplan_version", kVersion}, {"cards", std::move(cards)}, {"rows", std::move(rows)}}
      .laid_out();
}

std::string answers_json(const Answers& answers, const ReportOptions&) {
  return answers_object(answers).laid_out();
}

std::string fits_json(const std::vector<FitEntry>& entries, const ReportOptions&) {
  Json fits = Json::array();
  for (const FitEntry& entry : entries) {
    if (entry.answers)
      fits.push_back(answers_object(*entry.answers));
    else
      fits.push_back({{"source", entry.source}, {"error", entry.error}, {"exit", static_cast<int>(entry.exit)}});
  }
  return Json{{"schema_version", 1}, {"kvplan_version", kVersion}, {"fits", std::move(fits)}}.laid_out();
}

}  // namespace kvplan
