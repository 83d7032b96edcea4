// MLX (mlx-lm): a cache for each layer that grows as the sequence does.
//
// Source: mlx-lm of 2026, mlx_lm/models/cache.py (read). No run stands behind these rules.
// - KVCache and QuantizedKVCache grow in steps of 256 tokens; RotatingKVCache too, up to the window. A prefill chunk of
//   S tokens lies beside the window for a moment: window + S - 1.
// - Quantized (int8, int4 by --kv-cache-dtype): groups of 64 with a scale and a bias in the model's type; rotating
//   caches cannot be quantized.
// - ArraysCache holds convolution and recurrent states as the model's own code makes them.
// - Sparse MLA has a second cache for index keys, in the model's type.
#include <algorithm>

#include "engines/estimates.h"
#include "engines/holdings.h"
#include "engines/mlx/launcher.h"
#include "kvplan/error.h"

namespace kvplan {

namespace {

constexpr EngineVersion kVersions[] = {
    {"0.28",
     "source of KVCache, RotatingKVCache, ChunkedKVCache, QuantizedKVCache and ArraysCache (read); never run. Which "
     "models rotate was not checked model by model, nor the type of their states"},
};
constexpr std::uint64_t kStep = 256;
constexpr std::uint64_t kGroup = 64;
constexpr std::uint64_t kPrefillStep = 2048;

std::uint64_t bits_of(Dtype type) {
  return type == Dtype::kInt8 ? 8 : type == Dtype::kInt4 ? 4 : 0;
}

CacheTypes resolve(const ModelShape& model, const Request& request) {
  CacheTypes types = resolve_default_types(model, request);
  if (!request.cache_type_k) types.key = types.model;
  if (!request.cache_type_v) types.value = types.model;
  refuse_types(types, "mlx", {Dtype::kBfloat16, Dtype::kFloat16, Dtype::kFloat32, Dtype::kInt8, Dtype::kInt4});
  return types;
}

// Caches that mlx-lm cannot quantize: it loads the model, and stops when a prompt reaches --quantized-kv-start.
std::optional<Refusal> refusal(const EngineInput& input, const Load&) {
  if (bits_of(input.types.key) == 0 && bits_of(input.types.value) == 0) return std::nullopt;
  const std::string cure = "leave the KV type at auto";
  const bool rotates = std::any_of(input.caches.begin(), input.caches.end(), [](const LayerCache& cache) {
    return std::any_of(cache.compact.begin(), cache.compact.end(), [](const Term& term) {
      return term.limit.kind == LimitKind::kWindow || term.limit.kind == LimitKind::kSink;
    });
  });
  if (rotates)
    return Refusal{"rotating_cache", "RotatingKVCache Quantization NYI: this model has sliding layers", cure};
  for (const LayerCache& cache : input.caches) {
    // Beside an indexer the latent's cache is one of a list, and lists are left in 16 bit.
    const bool is_indexed = std::any_of(cache.compact.begin(), cache.compact.end(),
                                        [](const Term& term) { return term.role == Role::kIndex; });
    for (const Term& term : cache.compact) {
      if (term.storage != Storage::kKv || term.role == Role::kState) continue;
      if (term.part == Part::kLatent && !is_indexed)
        return Refusal{"quantized_latent", "mlx-lm's latent attention computes with a cache that is not quantized",
                       cure};
      if (term.shape.width % kGroup != 0)
        return Refusal{"quantized_group",
                       "MLX quantizes groups of 64, and \"" + std::string(term.name) + "\" is " +
                           std::to_string(term.shape.width) + " wide",
                       cure};
    }
  }
  return std::nullopt;
}

std::unique_ptr<CacheLayout> layout(const EngineInput& input, std::vector<Note>& notes) {
  const CacheTypes types = input.types;
  CacheTypes plain = types;
  plain.key = plain.value = types.model;
  HoldingRules rules;
  rules.source = "mlx-lm models/cache.py";
  rules.form = [](const LayerCache& cache) -> const CacheTerms& { return cache.compact; };
  rules.hold = [=](const LayerCache&, const Term& original, std::uint64_t units) {
    Term term = original;
    if (term.storage == Storage::kFp8Scaled) term.storage = Storage::kModel;
    const std::uint64_t columns = term.shape.columns > 0 ? term.shape.columns - 1 : 0;
    // Chunks stay as they are: ChunkedKVCache has no quantized form.
    const bool quantizes = term.storage == Storage::kKv && term.limit.kind != LimitKind::kChunk;
    const std::uint64_t bits = quantizes ? bits_of(term_dtype(term, types)) : 0;
    Holding out = plain_holding(term, entry_bytes(term, plain, units, columns));
    if (bits > 0) {
      const std::uint64_t vector = ceil_div(term.shape.width * bits, 8) + ceil_div(term.shape.width, kGroup) * 4;
      out.entry = Bytes(checked_mul(checked_mul(units, term.shape.vectors, "a cache"), vector, "a cache"));
    }
    if (term.growth != Growth::kToken || term.role == Role::kState) return out;
    if (out.stride == 1) out.step = kStep;
    out.limit_after_step = true;
    out.reason = bits > 0 ? "steps of 256 tokens, groups of 64 with scale and bias" : "steps of 256 tokens";
    return out;
  };
  if (has_states(input)) notes.push_back(unverified_note("MLX", "recurrent states (their type)"));
  return holdings_layout(input, rules);
}

EngineSettings settings(const EngineInput& input, const Load&) {
  EngineSettings out;
  out.max_num_batched_tokens = input.request.max_num_batched_tokens.value_or(Tokens(kPrefillStep)).count();
  return out;
}

std::vector<LedgerLine> overhead(const OverheadInput& in) {
  const EngineInput& input = *in.engine;
  const std::uint64_t tokens = checked_mul(in.load.max_model_len.count(), in.load.num_seqs, "the tokens of the load");
  const std::uint64_t chunk =
      std::min(tokens, input.request.max_num_batched_tokens.value_or(Tokens(kPrefillStep)).count());
  std::vector<LedgerLine> out{mlp_activations(input, chunk, "a prefill step")};
  Bytes beside;
  for (const LayerCache& cache : input.caches)
    for (const Term& term : cache.compact)
      if (term.growth == Growth::kToken && term.limit.kind != LimitKind::kNone && term.role != Role::kState)
        beside += entry_bytes(term, input.types) * chunk;
  if (beside > Bytes(0))
    out.push_back(estimate_line(Section::kActivation, "prefill step beside the windows", beside, {0, 1},
                                std::to_string(chunk) + " tokens of every rotating cache",
                                "mlx-lm models/cache.py: window + S - 1 during prefill"));
  out.push_back(
      of_kind(LineId::kSampled, estimate_line(Section::kActivation, "logits", logits_bytes(input, in.load.num_seqs),
                                              {0.5, 2}, std::to_string(in.load.num_seqs) + " rows * vocab_size * 4 B",
                                              "estimate: the last token of each sequence")));
  out.push_back({Section::kRuntime, "Metal runtime and buffer cache", Bytes(2000000000), Bytes(500000000),
                 Bytes(4000000000), "allowance of 2 GB",
                 "estimate: a figure that MLX users report; not measured here"});
  if (has_states(input)) out.push_back(unverified_line(in));
  return out;
}

}  // namespace

Engine mlx_engine() {
  // 0.75: the share of unified memory that macOS lets a GPU keep wired by default.
  Engine out{"mlx", "mlx-lm", "mlx-lm on Apple silicon", kVersions, 0.75, resolve, layout, overhead};
  out.kv_choices = "bfloat16 int8 int4";
  out.makers = "Apple";
  out.settings = settings;
  out.draft_methods = "draft_model";  // generate.py speculative_generate_step, the only way
  out.lora = LoraHolding::kFiles;
  out.launch = mlx_launch;
  out.refusal = refusal;
  return out;
}

}  // namespace kvplan
