#include "engines/estimates.h"

#include <algorithm>

#include "engines/engine.h"
#include "engines/term_sum.h"
#include "kvplan/error.h"
#include "kvplan/ranges.h"
#include "kvplan/strings.h"

namespace kvplan {

constexpr std::string_view kWhat = "the activations";

static Bytes scaled(Bytes bytes, double share) {
  return Bytes(checked_scale(bytes.count(), share, kWhat));
}

LedgerLine estimate_line(Section part, Template what, Bytes bytes, Spread spread, Template formula,
                         std::string source) {
  return {part,
          std::move(what),
          bytes,
          std::min(bytes, scaled(bytes, spread.low)),
          std::max(bytes, scaled(bytes, spread.high)),
          std::move(formula),
          std::move(source),
          LineId::kUsual,
          Basis::kEstimate};
}

LedgerLine ranged_line(std::string_view term, Section part, Template what, Bytes bytes, Template formula,
                       std::string source) {
  const Range range = range_around(term, bytes);
  return {part,           std::move(what), bytes, range.low, range.high, std::move(formula), std::move(source),
          LineId::kUsual, Basis::kEstimate};
}

std::optional<LedgerLine> loaded_weights(std::string_view term, Bytes weights) {
  if (weights == Bytes(0)) return std::nullopt;
  LedgerLine line = ranged_line(term, Section::kWeights, "what the loader keeps beyond the tensors", weights,
                                "repacked types, rounded allocations", "estimate: loaded weights in start-up logs");
  line.high = line.high - line.bytes;
  line.bytes = line.low = Bytes(0);
  return line;
}

LedgerLine mlp_activations(const EngineInput& input, std::uint64_t tokens, std::string_view which) {
  const std::uint64_t hidden = input.model.hidden_size;
  const std::uint64_t ranks = input.request.parallel.tensor;
  const std::uint64_t intermediate = ceil_div(std::max(input.model.intermediate_size, hidden), ranks);
  const std::uint64_t row = checked_add(checked_mul(hidden, 2, kWhat), checked_mul(intermediate, 3, kWhat), kWhat);
  const Bytes bytes = Bytes(tokens) * row * 2;
  return estimate_line(Section::kActivation, {"activations of {which}", {{"which", which}}}, bytes, {0.5, 2},
                       {"{tokens} tokens * (2 * {hidden_size} + 3 * {intermediate_size}) * 2 B",
                        {{"tokens", tokens}, {"hidden_size", hidden}, {"intermediate_size", intermediate}}},
                       "estimate: the residual and one layer's MLP");
}

LedgerLine deepep_buffers(const EngineInput& input, std::uint64_t tokens, std::string source) {
  constexpr std::uint64_t kBuffer = kGiB, kWorkspace = 32 * kMiB, kGpusOfNode = 8;
  constexpr const char* kName = "buffers to exchange tokens";
  if (tokens == 0) {
    const std::uint64_t count = input.request.parallel.gpus() > kGpusOfNode ? 2 : 1;
    return {Section::kRuntime,
            kName,
            Bytes(count * kBuffer + kWorkspace),
            Bytes(kBuffer),
            Bytes(2 * kBuffer + 2 * kWorkspace),
            {"{count} x 1 GiB of DeepEP's and its workspace", {{"count", count}}},
            std::move(source)};
  }
  const std::uint64_t experts = checked_add(input.model.experts.count, input.request.parallel.redundant_experts, kName);
  const std::uint64_t message = checked_mul(input.model.hidden_size / 128, 4 + 128 * 2, kName);
  const Bytes messages = Bytes(checked_mul(checked_mul(experts, tokens, kName), message, kName)) * 4;
  return {Section::kRuntime,
          kName,
          messages + Bytes(kBuffer + kWorkspace),
          messages,
          messages + Bytes(kBuffer + 4 * kWorkspace),
          {"4 * {tokens} tokens * {experts} experts * {message} B, and 1 GiB with a workspace",
           {{"tokens", tokens}, {"experts", experts}, {"message", message}}},
          std::move(source)};
}

std::uint64_t prefill_chunk(const Request& request, const Load& load) {
  constexpr std::uint64_t kChunk = 8192;
  const std::uint64_t tokens = load.pooled
                                   ? load.max_model_len.count()
                                   : checked_mul(load.max_model_len.count(), load.num_seqs, "the tokens of the load");
  return std::min(tokens, request.max_num_batched_tokens.value_or(Tokens(kChunk)).count());
}

std::optional<LedgerLine> score_matrix(const OverheadInput& in, std::uint64_t chunk, std::uint64_t bytes_each,
                                       std::string source) {
  const EngineInput& input = *in.engine;
  const bool attends =
      any_term(input, [](const Term& term) { return term.role == Role::kKey && term.growth == Growth::kToken; });
  if (!attends || input.model.num_heads == 0) return std::nullopt;
  const std::uint64_t heads = ceil_div(input.model.num_heads, input.request.parallel.tensor);
  const std::uint64_t context = in.load.tokens_of_sequence().count();
  const std::uint64_t scores = checked_mul(checked_mul(chunk, context, kWhat), heads, kWhat);
  return of_kind(LineId::kScores,
                 estimate_line(Section::kActivation, "attention scores (naive)", Bytes(scores) * bytes_each, {0.5, 1.5},
                               {"{tokens} tokens of a pass * {context} of context * {num_heads} heads * {bytes} B",
                                {{"tokens", chunk}, {"context", context}, {"num_heads", heads}, {"bytes", bytes_each}}},
                               std::move(source)));
}

std::optional<LedgerLine> general_score_matrix(const OverheadInput& in) {
  return score_matrix(in, prefill_chunk(in.engine->request, in.load), 4,
                      "estimate: scores in float32, one layer at a time");
}

Bytes logits_bytes(const EngineInput& input, std::uint64_t rows) {
  return Bytes(rows) * input.model.vocab_size * 4;
}

LedgerLine logits_line(const EngineInput& input, std::uint64_t rows, Spread spread, std::string source) {
  return of_kind(LineId::kSampled,
                 estimate_line(Section::kActivation, "logits", logits_bytes(input, rows), spread,
                               {"{rows} rows * vocab_size * 4 B", {{"rows", rows}}}, std::move(source)));
}

bool is_encoder(const EngineInput& input) {
  return std::all_of(input.caches.begin(), input.caches.end(),
                     [](const LayerCache& cache) { return cache.compact.empty(); });
}

bool has_states(const EngineInput& input) {
  return any_term(input, [](const Term& term) { return term.role == Role::kState; });
}

bool has_windows(const EngineInput& input) {
  return any_term(input,
                  [](const Term& term) { return term.limit.kind != LimitKind::kNone && term.role != Role::kState; });
}

Note unverified_note(std::string_view engine, std::string_view what) {
  return {NoteLevel::kWarning,
          "unverified_cache",
          {"kvplan does not know how {engine} stores {what}: planned as the architecture needs, with a wider range",
           {{"engine", engine}, {"what", what}}}};
}

LedgerLine unverified_line(const OverheadInput& in) {
  const TermSum sum(in.engine->caches, in.engine->types, in.engine->request.parallel.tensor);
  const Bytes tenth(sum.bytes(in.load).count() / 10);
  return {Section::kRuntime,
          "cache rules not verified for this model",
          Bytes(0),
          Bytes(0),
          tenth,
          "up to a tenth of the cache",
          "this part is not based on any log or source"};
}

void refuse_types(const CacheTypes& types, std::string_view engine, std::initializer_list<Dtype> known) {
  for (const Dtype type : {types.key, types.value}) {
    if (std::find(known.begin(), known.end(), type) != known.end()) continue;
    refuse("--kv-cache-dtype: " + std::string(engine) + " has no KV type " + std::string(name(type)),
           "use one of " + join(known, ", ", [](Dtype have) { return name(have); }));
  }
}

// The types behind `auto`, as most engines resolve them.
CacheTypes resolve_default_types(const ModelShape& model, const Request& request) {
  CacheTypes types;
  types.model = request.dtype.value_or(model.dtype);
  if (plain_bytes(types.model) == 0)
    refuse("--dtype: a model does not compute in " + std::string(name(types.model)),
           "use bfloat16, float16 or float32");
  types.state = request.state_dtype.value_or(model.declared_state_dtype.value_or(types.model));
  // A float32 checkpoint is served in 16 bit.
  const Dtype served = types.model == Dtype::kFloat32 ? Dtype::kBfloat16 : types.model;
  const Dtype chosen = model.declared_kv_dtype.value_or(served);
  types.key = request.cache_type_k.value_or(chosen);
  types.value = request.cache_type_v.value_or(chosen);
  return types;
}

}  // namespace kvplan
