// MLX (mlx-lm): each layer has a cache that grows with the sequence.
//
// Source: mlx-lm 0.32.2, mlx_lm/models/cache.py and make_cache of each module; executed.
// - KVCache and QuantizedKVCache grow in steps of 256 tokens.
// - RotatingKVCache has the whole prompt, and then 256 tokens more at a time, up to the window. A prefill chunk of S
// tokens is stored in addition to the window for a moment: window + S - 1. Filled token by token (--prefill-step-size
//   1) it grows by 256 from its start.
// - With --max-kv-size N every cache of a module without make_cache is a RotatingKVCache of N tokens, the
//   first 4 of them kept for good.
// - ChunkedKVCache is cut to a chunk before a step, and grows by 256 in it.
// - Caches in a list (CacheList) are never quantized.
// - Quantized (int8, int4 by --kv-cache-dtype): groups of 64 with a scale and a bias in the model's type. Rotating
//   caches refuse; chunks stay as they are.
// - ArraysCache has convolution states in the model's type, and recurrent ones in float32, except for Mamba 1.
// - Sparse MLA has a second cache for index keys in every layer.
#include <algorithm>

#include "engines/estimates.h"
#include "engines/launch_input.h"
#include "engines/layer_buffers.h"
#include "engines/mlx/modules.h"
#include "engines/term_kinds.h"
#include "kvplan/error.h"
#include "kvplan/gpus.h"

namespace kvplan {

constexpr EngineVersion kVersions[] = {
    {"0.32",
     "mlx-lm 0.32.2 on mlx 0.32.4: its modules built at full size, their caches filled by a prompt and token by "
     "token (executed on a CPU)"},
};
constexpr std::uint64_t kStep = 256;
constexpr std::uint64_t kGroup = 64;
constexpr Tokens kSink(4);  // make_prompt_cache's keep
constexpr std::uint64_t kPrefillStep = 2048;

static MlxModule module_of(const ModelShape& model) {
  return mlx_module(model.root_type, model.model_type);
}

static CacheTypes resolve(const ModelShape& model, const Request& request) {
  CacheTypes types = resolve_default_types(model, request);
  if (!request.cache_type_k) types.key = types.model;
  if (!request.cache_type_v) types.value = types.model;
  const MlxModule module = module_of(model);
  if (!request.state_dtype && !module.name.empty())
    types.state = module.is(kPlainStates) ? types.model : Dtype::kFloat32;
  refuse_types(types, "mlx", {Dtype::kBfloat16, Dtype::kFloat16, Dtype::kFloat32, Dtype::kInt8, Dtype::kInt4});
  return types;
}

static bool has_window(const LayerCache& cache) {
  return std::any_of(cache.compact.begin(), cache.compact.end(), [](const Term& term) {
    return term.limit.kind == LimitKind::kWindow || term.limit.kind == LimitKind::kSink;
  });
}

// --max-kv-size, if the module uses it.
static std::optional<Tokens> kept_tokens(const EngineInput& input) {
  return module_of(input.model).is(kOwnCaches) ? std::nullopt : input.request.mlx.max_kv_size;
}

static bool rotates(const EngineInput& input) {
  if (kept_tokens(input)) return true;
  const MlxModule module = module_of(input.model);
  if (std::none_of(input.caches.begin(), input.caches.end(), has_window)) return false;
  // A window for all layers comes from sliding_window, not from layer_types.
  return module.is(kRotates) ||
         (module.is(kRotatesByTypes) && !std::all_of(input.caches.begin(), input.caches.end(), has_window));
}

// The caches as the module creates them.
static std::vector<LayerCache> caches_of(const EngineInput& input) {
  std::vector<LayerCache> out = input.caches;
  if (const auto kept = kept_tokens(input))
    for (LayerCache& cache : out)
      for (Term& term : cache.compact.own())
        if (term.growth == Growth::kToken && term.role != Role::kState)
          term.limit = {LimitKind::kSink, *kept - std::min(*kept, kSink), std::min(*kept, kSink)};
  const MlxModule module = module_of(input.model);
  if (module.is(kExpandsLatents))
    for (LayerCache& cache : out) cache.compact = cache.expanded;
  if (module.is(kCachesShared))
    for (std::size_t i = 1; i < out.size(); ++i)
      if (out[i].compact.empty()) out[i].compact = out[i - 1].compact;
  return module.is(kIndexInEveryLayer) ? with_indexes(std::move(out)) : out;
}

// Packed checkpoints that mlx-lm's loader refuses (utils.py, load_model): it reads their dialect, but not their type.
static std::optional<Refusal> refused_checkpoint(const EngineInput& input) {
  const QuantDeclaration& declared = input.model.quantization;
  const std::string_view type = declared.scheme ? std::string_view(declared.scheme->type) : "mixed";
  constexpr const char* cure = "use the 16-bit checkpoint, or --weights mlx-4bit";
  if (declared.dialect == "modelopt" && type != "nvfp4")
    return Refusal{"quantization", "Unsupported modelopt quant_algo: mlx-lm loads NVFP4 only", cure};
  if (declared.dialect == "compressed-tensors" && type.starts_with("fp8"))
    return Refusal{"quantization", "unsupported compressed-tensors format: mlx-lm loads no FP8 of that dialect", cure};
  return std::nullopt;
}

// Caches that mlx-lm cannot quantize: it loads the model, and fails when a prompt reaches --quantized-kv-start.
static std::optional<Refusal> refusal(const EngineInput& input, const Load&) {
  if (input.model.is_gguf)
    return Refusal{"gguf", "No safetensors found: mlx-lm reads no GGUF",
                   "use the model's own checkpoint with --weights mlx-4bit, or --engine llama.cpp"};
  if (const std::string_view type = input.model.root_type;
      !type.empty() && !input.model.is_gguf && module_of(input.model).name.empty())
    return Refusal{
        "architecture", {"Model type {model_type} not supported.", {{"model_type", type}}}, "choose another engine"};
  if (module_of(input.model).is(kNoEngrams) &&
      std::any_of(input.model.facts.begin(), input.model.facts.end(), [](const ConfigFact& fact) {
        return fact.key.ends_with("engram_layer_ids") && fact.value != "[]" && fact.value != "null";
      }))
    return Refusal{"architecture", "use engram memory, which this implementation does not have",
                   "choose another engine"};
  if (!input.request.weights)
    if (auto refused = refused_checkpoint(input)) return refused;
  if (mlx_bits(input.types.key) == 0 && mlx_bits(input.types.value) == 0) return std::nullopt;
  if (module_of(input.model).is(kListedCaches)) return std::nullopt;
  constexpr const char* cure = "leave the KV type at auto";
  if (rotates(input))
    return Refusal{"rotating_cache",
                   kept_tokens(input) ? "RotatingKVCache Quantization NYI: --max-kv-size makes such caches"
                                      : "RotatingKVCache Quantization NYI: this model has sliding layers",
                   cure};
  if (module_of(input.model).is(kPlainScores))
    return Refusal{"plain_scores", "mlx-lm's module computes its scores from a cache that is not quantized", cure};
  const std::vector<LayerCache> caches = caches_of(input);
  for (const LayerCache& cache : caches) {
    // With an indexer the latent's cache is in a list, and caches in lists stay in 16 bit.
    const bool is_indexed = std::any_of(cache.compact.begin(), cache.compact.end(),
                                        [](const Term& term) { return term.role == Role::kIndex; });
    for (const Term& term : cache.compact) {
      if (term.storage != Storage::kKv || term.role == Role::kState) continue;
      if (term.part == Part::kLatent && !is_indexed)
        return Refusal{"quantized_latent", "mlx-lm's latent attention computes with a cache that is not quantized",
                       cure};
      if (term.shape.width % kGroup != 0)
        return Refusal{"quantized_group",
                       {"MLX quantizes groups of 64, and \"{term}\" is {width} wide",
                        {{"term", term.name}, {"width", term.shape.width}}},
                       cure};
    }
  }
  return std::nullopt;
}

static std::unique_ptr<CacheLayout> layout(const EngineInput& input, std::vector<Note>& notes) {
  const CacheTypes types = input.types;
  CacheTypes plain = types;
  plain.key = plain.value = types.model;
  const MlxModule module = module_of(input.model);
  const bool has_rotating = rotates(input);
  const bool has_lists = module.is(kListedCaches);
  const bool has_chunks = module.is(kChunks);
  const bool has_index_values = module.is(kIndexInEveryLayer);
  const std::uint64_t head_dim = mlx_head_dim(module, input.model.facts);
  const bool has_one_head = module.is(kOneKvHead);
  const bool token_by_token = input.request.max_num_batched_tokens == Tokens(1);
  LayerBufferRules rules;
  rules.source = "mlx-lm models/cache.py";
  rules.form = [](const LayerCache& cache) -> const CacheTerms& { return cache.compact; };
  rules.hold = [=](const LayerCache&, const Term& original, std::uint64_t units) {
    Term term = original;
    if (term.storage == Storage::kFp8Scaled) term.storage = Storage::kKv;
    if (term.role == Role::kIndex && has_index_values) units *= 2;
    if (term.storage == Storage::kKv && has_one_head) units = 1;
    if (term.storage == Storage::kKv && head_dim > 0) term.shape.width = head_dim;
    const bool rotating =
        has_rotating && (term.limit.kind == LimitKind::kWindow || term.limit.kind == LimitKind::kSink);
    const bool chunked = has_chunks && term.limit.kind == LimitKind::kChunk;
    if (!rotating && !chunked) term.limit = {};
    const std::uint64_t columns = term.shape.columns > 0 ? term.shape.columns - 1 : 0;
    // mlx-lm cannot quantize a ChunkedKVCache.
    const bool quantizes = term.storage == Storage::kKv && !chunked && !has_lists;
    const std::uint64_t bits = quantizes ? mlx_bits(term_dtype(term, types)) : 0;
    LayerBuffer out = plain_buffer(term, entry_bytes(term, plain, units, columns));
    if (bits > 0) {
      const std::uint64_t vector = ceil_div(term.shape.width * bits, 8) + ceil_div(term.shape.width, kGroup) * 4;
      out.entry = Bytes(checked_mul(checked_mul(units, term.shape.vectors, "a cache"), vector, "a cache"));
    }
    if (term.growth != Growth::kToken || term.role == Role::kState) return out;
    out.limit_after_step = true;
    if (rotating && !token_by_token) {
      out.spare = kStep - 1;
      out.reason = "room for 256 tokens more, up to the window";
      return out;
    }
    if (chunked) out.limit += kStep;
    if (out.stride == 1) out.step = kStep;
    out.reason = bits > 0 ? "steps of 256 tokens, groups of 64 with scale and bias" : "steps of 256 tokens";
    return out;
  };
  if (input.request.card.is_unified())
    notes.push_back({NoteLevel::kInfo, "unified_memory",
                     "CPU and GPU share this memory. The budget is what macOS lets the GPU use (raise it with sysctl "
                     "iogpu.wired_limit_mb). The rest is for the system and other programs"});
  if (!mlx_scores(input, caches_of(input), module, {kPrefillStep, kPrefillStep, 1, false}).empty())
    notes.push_back(
        {NoteLevel::kInfo, "attention_scores",
         "MLX has no fused attention for this model's prompts: a smaller --prefill-step-size needs less memory. oMLX "
         "and exo have their own kernels since 2026; LM Studio, vllm-mlx and ollama use MLX's"});
  if (has_lists && mlx_bits(types.key) + mlx_bits(types.value) > 0)
    notes.push_back({NoteLevel::kWarning, "unquantized_cache",
                     "mlx-lm keeps this model's caches in the model's type: --kv-bits does nothing"});
  if (input.request.mlx.max_kv_size && module.is(kOwnCaches))
    notes.push_back(
        {NoteLevel::kWarning,
         "max_kv_size_unheeded",
         {"mlx-lm's {module}.py makes its own caches: --max-kv-size does nothing", {{"module", module.name}}}});
  if (has_states(input) && module.name.empty())
    notes.push_back(unverified_note("MLX", "recurrent states (their type)"));
  EngineInput own = input;
  own.caches = caches_of(input);
  return layer_buffers_layout(own, rules);
}

static EngineSettings settings(const EngineInput& input, const Load&) {
  EngineSettings out;
  out.max_num_batched_tokens = input.request.max_num_batched_tokens.value_or(Tokens(kPrefillStep)).count();
  return out;
}

static std::vector<LedgerLine> overhead(const OverheadInput& in) {
  constexpr std::uint64_t kPrompts = 8;  // --prompt-concurrency
  const EngineInput& input = *in.engine;
  const std::vector<LayerCache> caches = caches_of(input);
  const MlxModule module = module_of(input.model);
  const std::uint64_t context = in.load.tokens_of_sequence().count();
  const std::uint64_t asked = input.request.max_num_batched_tokens.value_or(Tokens(kPrefillStep)).count();
  const MlxStep step{std::min(context, asked), context, std::min(in.load.num_seqs, kPrompts),
                     rotates(input) || module.is(kChunks)};
  const std::uint64_t tokens = step.tokens * step.prompts;
  std::vector<LedgerLine> out{mlp_activations(input, tokens, "a prefill step")};
  for (LedgerLine& line : mlx_scores(input, caches, module, step)) out.push_back(std::move(line));
  std::uint64_t scanning_heads = 0;  // of Mamba-2
  for (const LayerCache& cache : caches)
    for (const Term& term : cache.compact)
      if (term.part == Part::kScan && term.shape.vectors > 1)
        scanning_heads = std::max(scanning_heads, term.shape.units);
  if (scanning_heads > 0) {
    constexpr std::uint64_t kChunk = 256, kMatrices = 15;
    const std::uint64_t chunk = std::min(step.tokens, kChunk);
    out.push_back(
        estimate_line(Section::kActivation, "scan of a prefill step",
                      Bytes(tokens) * scanning_heads * chunk * kMatrices * 4, {0.2, 1.35},
                      {"{tokens} tokens * {chunk} of a chunk * {num_heads} heads * {matrices} * 4 B",
                       {{"tokens", tokens}, {"chunk", chunk}, {"num_heads", scanning_heads}, {"matrices", kMatrices}}},
                      "mlx-lm models/ssm.py ssm_attn; ml-explore/mlx-lm#525"));
  }
  Bytes in_step;
  for (const LayerCache& cache : caches)
    for (const Term& term : cache.compact)
      if (step.rotates && term.growth == Growth::kToken && term.limit.kind != LimitKind::kNone &&
          term.role != Role::kState)
        in_step += entry_bytes(term, input.types) * tokens;
  if (in_step > Bytes(0))
    out.push_back(estimate_line(Section::kActivation, "prefill step beside the windows", in_step, {0, 1},
                                {"{tokens} tokens of every rotating cache", {{"tokens", tokens}}},
                                "mlx-lm models/cache.py: window + S - 1 during prefill"));
  if (const MlxOptions& given = input.request.mlx; given.prompt_caches || given.prompt_cache_bytes) {
    constexpr std::uint64_t kPromptCaches = 10;
    const std::uint64_t count = given.prompt_caches.value_or(kPromptCaches);
    Load one = in.load;
    one.num_seqs = 1;
    std::vector<Note> scratch;
    const Bytes all = layout(input, scratch)->reserved(one) * count;
    const Bytes most = std::min(all, given.prompt_cache_bytes.value_or(all));
    out.push_back(
        estimate_line(Section::kRuntime, "caches of earlier prompts", most, {0, 1},
                      {"of at most {count} prompts of {context} tokens", {{"count", count}, {"context", context}}},
                      "mlx_lm/models/cache.py LRUPromptCache"));
  }
  out.push_back(logits_line(input, in.load.num_seqs, {0.5, 2}));
  const Bytes most(2500000000);
  // ml-explore/mlx-lm#478: 0.15 GB after 128 tokens.
  const std::uint64_t run = std::min(in.load.num_seqs * context, kPrefillStep);
  if (has_states(input))
    out.push_back({Section::kRuntime,
                   "Metal runtime and buffer cache",
                   Bytes(run * 1500000000 / kPrefillStep),
                   Bytes(run * 500000000 / kPrefillStep),
                   most,
                   {"allowance of 1.5 GB * {tokens} of 2,048 tokens", {{"tokens", run}}},
                   "estimate: peaks that users of Qwen3.5 and 3.6 measured"});
  else
    out.push_back({Section::kRuntime, "Metal runtime and buffer cache", Bytes(650000000), Bytes(300000000), most,
                   "allowance of 0.65 GB", "estimate: peaks in mlx_lm/BENCHMARKS.md and in ml-explore/mlx-lm#1569"});
  if (has_states(input) && module.name.empty()) out.push_back(unverified_line(in));
  return out;
}

// The fraction of memory that MLX uses. For a GPU in the catalogue the memory is its working set, and mlx-lm uses all
// of it (it sets the limit of wired memory to max_recommended_working_set_size). If a size is given, the memory is the
// whole machine's, and macOS lets a GPU wire a fraction of it by default.
static double utilization(const EngineInput& input) {
  constexpr double kWired = 0.75;
  const CardRequest& card = input.request.card;
  if (!card.gpu || !card.memory) return kWired;
  const Gpu& gpu = *card.gpu;
  return gpu.usable_mib > 0 && *card.memory == gpu.budget() ? 1 : kWired;
}

Engine mlx_engine() {
  Engine out{"mlx", "mlx-lm", "mlx-lm on Apple silicon", kVersions, 0.75, resolve, layout, overhead};
  out.kv_choices = "bfloat16 int8 int4";
  out.weight_choices = "bfloat16 mlx-8bit mlx-6bit mlx-4bit";
  out.options = "--max-kv-size --prompt-cache-size --prompt-cache-bytes";
  out.makers = "Apple";
  out.settings = settings;
  out.rules = mlx_rule_rows;
  out.has_scores = true;
  out.chunk_option = "--prefill-step-size";
  out.extras.draft_methods = "draft_model";  // generate.py speculative_generate_step, its only method
  out.extras.lora = LoraStorage::kFiles;
  out.launch = mlx_launch;
  out.command = mlx_command();
  out.refusal = refusal;
  out.utilization_of = utilization;
  out.loading.make_tensors = mlx_tensors;
  out.loading.keeps_types = true;
  out.loading.counts_made = true;
  out.log.lines = mlx_log_lines;
  return out;
}

}  // namespace kvplan
