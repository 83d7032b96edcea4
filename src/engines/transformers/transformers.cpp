// Hugging Face transformers: generate() with a DynamicCache, or the cache that cache_implementation names.
//
// Source: transformers 5.16 to 5.23, src/transformers/cache_utils.py and the models' own modules, whose classes were
// run on the meta device (testdata/conformance); 4.57 (read) for the older form of MLA.
// - DynamicLayer has exactly the tokens in use; every step concatenates, so for a moment the old and the new
//   copy of one layer's K or V live side by side.
// - DynamicSlidingWindowLayer (chunked layers too) has the window in steady state; right after a prefill the view
//   pins the whole prompt until the first decoded token.
// - LinearAttentionLayer keeps all k columns of a convolution (RecurrentGemma and Zaya keep k - 1), and the recurrent
//   state as the kernel returns it: float32, but the model's type for lightning attention and xLSTM.
// - MLA: the latent, or K and V expanded, by the release; index keys in the model's type.
// - QuantizedCache (int4, int8 by --kv-cache-dtype): groups of 64 with a scale and a shift in the model's type; up to
//   128 tokens stay in the model's type. fp8 since 5.21: a scale for each tensor. No windows, states or indexers.
// - StaticCache (static): max_cache_len tokens of every layer from the first step, the window at most for sliding and
//   chunked layers; nothing is concatenated, but a full window is rolled into a copy of its K and V.
// - offloaded (and offloaded_static): layers of full attention lie in host memory; the one in use and the next are on
//   the GPU. Sliding layers and states stay there.
#include <algorithm>
#include <array>

#include "engines/drafts.h"
#include "engines/estimates.h"
#include "engines/layer_buffers.h"
#include "engines/transformers/rules.h"
#include "engines/transformers/stored.h"
#include "kvplan/error.h"
#include "kvplan/strings.h"

namespace kvplan {

constexpr EngineVersion kVersions[] = {
    {"4.57", "MLA expanded to K and V; the rest as 5.16. Read, and twelve configs executed (4.57.6)"},
    {"5.16", "DynamicCache and StaticCache of every class executed (5.16.1); offloading and QuantizedCache read"},
    {"5.17", "source (read): as 5.16"},
    {"5.18", "source (read): the cache of sparse MLA is the latent and the index keys"},
    {"5.19", "source (read): as 5.18; windows of each layer's own config"},
    {"5.20", "source (read): as 5.19; MiMo-V2 reads sliding_window_size and adds one"},
    {"5.21", "source (read): as 5.20; QuantizedCache has the backend fp8"},
    {"5.22", "source (read): as 5.21"},
    {"5.23",
     "DynamicCache and StaticCache of every class executed (5.23.0); offloading and QuantizedCache read; compiled "
     "graphs "
     "not checked"},
    {"5.24", "DynamicCache and StaticCache of every class executed (5.24.0); the rest as 5.23"},
};

constexpr std::uint64_t kQuantGroup = 64;
constexpr std::uint64_t kResidual = 128;  // a QuantizedCache keeps this many of the newest tokens unquantized

constexpr std::array<std::string_view, 5> kImplementations{"dynamic", "static", "quantized", "offloaded",
                                                           "offloaded_static"};

static bool is_static(const Request& request) {
  return request.transformers.cache_implementation && request.transformers.cache_implementation->ends_with("static");
}

static bool is_offloaded(const Request& request) {
  return request.transformers.cache_implementation &&
         request.transformers.cache_implementation->starts_with("offloaded");
}

static void check_implementation(const Request& request, CacheTypes& types) {
  if (!request.transformers.cache_implementation) return;
  const std::string& asked = *request.transformers.cache_implementation;
  if (std::find(kImplementations.begin(), kImplementations.end(), asked) == kImplementations.end())
    refuse("--cache-implementation: transformers has no cache \"" + one_line(asked, 40) + "\"",
           nearest_remedy(asked, kImplementations));
  if (asked == "quantized") {
    if (!request.cache_type_k) types.key = Dtype::kInt4;
    if (!request.cache_type_v) types.value = Dtype::kInt4;
    if (!quantized(types.key) || !quantized(types.value))
      refuse("--cache-implementation quantized is int4, int8 or fp8, not " + std::string(name(types.key)),
             "use --kv-cache-dtype int4, int8 or fp8");
  } else if (quantized(types.key) || quantized(types.value)) {
    refuse("--cache-implementation " + asked + " does not quantize", "use --cache-implementation quantized");
  }
}

static CacheTypes resolve(const ModelShape& model, const Request& request) {
  CacheTypes types = resolve_default_types(model, request);
  if (model.is_gguf && !request.dtype && !request.weights) types.model = Dtype::kFloat32;
  // A cache type that the checkpoint declares is for other engines. transformers ignores it.
  if (!request.cache_type_k) types.key = types.model;
  if (!request.cache_type_v) types.value = types.model;
  check_implementation(request, types);
  const TransformersClass its = transformers_class(model);
  const bool typed = its.states_of_its_type || (its.is_mamba && transformers_rules(request).typed_mamba_states);
  if (!request.state_dtype) types.state = typed ? types.model : Dtype::kFloat32;
  if (types.key == Dtype::kFp8E4m3 && !transformers_rules(request).has_fp8_cache)
    refuse("--kv-cache-dtype: transformers has the fp8 backend since 5.21", "use int4 or int8");
  if (quantized(types.key) != quantized(types.value) || (types.key != types.value && !grouped(types.key)))
    if (quantized(types.key) || quantized(types.value))
      refuse("transformers quantizes keys and values alike", "name one type for both with --kv-cache-dtype");
  refuse_types(types, "transformers",
               {Dtype::kBfloat16, Dtype::kFloat16, Dtype::kFloat32, Dtype::kInt8, Dtype::kInt4, Dtype::kFp8E4m3});
  return types;
}

// Bytes of a vector in groups of 64 with a scale and a shift.
static Bytes grouped_bytes(const Term& term, std::uint64_t units, std::uint64_t bits) {
  const std::uint64_t elements =
      checked_mul(checked_mul(units, term.shape.vectors, "a cache"), term.shape.width, "a cache");
  return Bytes(ceil_div(checked_mul(elements, bits, "a cache"), 8)) + Bytes(ceil_div(elements, kQuantGroup)) * 4;
}

// Whether the layer has full attention, the only kind that offloading moves.
static bool grows_forever(const CacheTerms& terms) {
  return any_term(terms, [](const Term& term) {
    return term.growth == Growth::kToken && term.limit.kind == LimitKind::kNone && term.role != Role::kState;
  });
}

// Offloaded layers that are on the GPU at the same time: the current one and the next one.
static std::vector<std::uint64_t> resident_layers(const EngineInput& input) {
  std::vector<std::uint64_t> out;
  for (const LayerCache& cache : input.caches)
    if (grows_forever(cache.compact) && out.size() < 2) out.push_back(cache.layer);
  return out;
}

// The input with what transformers stores as the expanded form of every cache, including a draft's.
static EngineInput stored_form(const EngineInput& input) {
  EngineInput out = input;
  out.caches = stored_caches(input, input.caches);
  if (input.draft) {
    const auto draft = std::make_shared<EngineInput>(*input.draft);
    draft->caches = stored_caches(*input.draft, input.draft->caches);
    out.draft = draft;
  }
  return out;
}

// The config's value under the first of these names that it has; 0 if it has none.
static std::uint64_t fact_of(const EngineInput& input, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names)
    for (const ConfigFact& fact : input.model.facts)
      if (fact.key.substr(fact.key.rfind('.') + 1) == name) return whole_number(fact.value).value_or(0);
  return 0;
}

// The width of Mamba's states; 0 for other models.
static std::uint64_t mamba_width(const EngineInput& input) {
  return has_states(input) ? fact_of(input, {"mamba_d_state", "ssm_state_size", "state_size"}) : 0;
}

// Not every prompt has an image, so its cross attention is planned only with --encoder-len.
static bool is_optional(const EngineInput& input, const Term& term) {
  return term.growth == Growth::kSourceToken && transformers_class(input.model).caches_images &&
         !input.request.encoder_len;
}

static std::unique_ptr<CacheLayout> layout(const EngineInput& original, std::vector<Note>& notes) {
  const auto input = std::make_shared<const EngineInput>(stored_form(original));
  const CacheTypes types = input->types;
  CacheTypes plain = types;
  plain.key = plain.value = types.model;

  LayerBufferRules rules;
  rules.source = "transformers cache_utils.py";
  rules.form = [](const LayerCache& cache) -> const CacheTerms& { return cache.expanded; };
  const bool past_columns = transformers_class(original.model).past_columns;
  rules.hold = [=](const LayerCache& cache, const Term& term, std::uint64_t units) {
    const bool whole = term.limit.kind == LimitKind::kNone && term.growth == Growth::kToken;
    const Dtype type = term_dtype(term, types);
    if (term.storage == Storage::kKv && quantized(type) && whole) {
      if (!grouped(type)) return plain_buffer(term, entry_bytes(term, types, units, 0));
      LayerBuffer out = plain_buffer(term, grouped_bytes(term, units, type == Dtype::kInt4 ? 4 : 8));
      out.reason = "groups of 64 with a scale and a shift";
      return out;
    }
    const bool drops_column = term.shape.columns > 0 && past_columns;
    LayerBuffer out = plain_buffer(term, entry_bytes(term, plain, units, term.shape.columns - (drops_column ? 1 : 0)));
    out.wraps = term.name == kRest;
    out.reason = stored_reason(*input, cache, term);
    if (is_optional(*input, term)) {
      out.entry = Bytes(0);
      out.reason = "no image: name its tokens with --encoder-len";
    }
    return out;
  };
  if (is_offloaded(input->request)) {
    const auto whole = rules.hold;
    const std::vector<std::uint64_t> resident = resident_layers(*input);
    const auto moves = [=](const LayerCache& cache) {
      return grows_forever(cache.compact) && std::find(resident.begin(), resident.end(), cache.layer) == resident.end();
    };
    rules.host = [=](const LayerCache& cache, const Term& term, std::uint64_t units) {
      LayerBuffer out = whole(cache, term, units);
      if (!grows_forever(cache.compact)) out.entry = Bytes(0);
      return out;
    };
    rules.hold = [=](const LayerCache& cache, const Term& term, std::uint64_t units) {
      LayerBuffer out = whole(cache, term, units);
      if (moves(cache)) out.entry = Bytes(0);
      if (grows_forever(cache.compact)) out.reason = "offloaded: the layer in use and the next are on the GPU";
      return out;
    };
  }
  const bool latent = std::any_of(original.caches.begin(), original.caches.end(),
                                  [](const LayerCache& cache) { return cache.expanded != cache.compact; });
  if (latent && expands_latents(original))
    notes.push_back({NoteLevel::kInfo, "mla_expanded",
                     transformers_rules(original.request).expands_latents
                         ? "transformers before 5.0 caches K and V of MLA expanded, not the latent"
                         : "transformers before 5.18 caches K and V of sparse MLA expanded, not the latent"});
  if (original.model.is_gguf && !original.request.weights)
    notes.push_back({NoteLevel::kWarning, "unpacked_weights",
                     transformers_rules(original.request).packs_gguf
                         ? "transformers unpacks a GGUF, to float32 without dtype, unless the package kernels has a "
                           "kernel for this GPU. With it, plan --weights and the file's own type"
                         : "transformers unpacks a GGUF, to float32 without dtype: --dtype bfloat16 plans half of it"});
  if (original.request.parallel.pipeline > 1)
    notes.push_back({NoteLevel::kInfo, "device_map",
                     "device_map=\"auto\" splits the layers over the GPUs, and they work one after another. -tp is "
                     "tp_plan=\"auto\" under torchrun"});
  if (mamba_width(original) > 0)
    notes.push_back(
        {NoteLevel::kWarning, "needs_mamba_ssm",
         "without the packages mamba-ssm and causal-conv1d PyTorch computes the states of Mamba: slowly, and "
         "in far more memory, up to the end of the range"});
  if (original.draft_method && original.request.sequences() > 1)
    notes.push_back({NoteLevel::kWarning, "one_sequence",
                     "transformers drafts tokens for one sequence at a time: assisted generation refuses a batch"});
  return layer_buffers_layout(*input, rules);
}

static bool has_window(const Term& term) {
  return term.growth == Growth::kToken && term.limit.kind != LimitKind::kNone && term.role != Role::kState;
}

// Bytes of one entry on a rank.
static Bytes entry_of(const EngineInput& input, const Term& term) {
  return rank_entry(term, input.types, input.request.parallel.tensor);
}

// The largest single tensor that a step concatenates: K or V of one layer.
static Bytes largest_tensor(EngineInput input, const Load& load) {
  Bytes out;
  input.types.key = input.types.value = input.types.model;
  for (const LayerCache& cache : input.caches)
    for (const Term& term : cache.expanded)
      if (term.growth == Growth::kToken && term.role != Role::kState)
        out = std::max(out, entry_of(input, term) * term.entries(load.max_model_len, load.source_tokens));
  return out * load.num_seqs;
}

// K and V of the layer with the largest window: a StaticSlidingWindowLayer shifts them into a copy.
static Bytes rolled_window(const EngineInput& input, const Load& load) {
  Bytes out;
  for (const LayerCache& cache : input.caches) {
    Bytes layer;
    for (const Term& term : cache.expanded)
      if (has_window(term)) layer += entry_of(input, term) * term.entries(load.max_model_len, load.source_tokens);
    out = std::max(out, layer);
  }
  return out * load.num_seqs;
}

// The part of a full prompt that window layers keep in memory beyond their window.
static Bytes pinned_by_views(const EngineInput& input, const Load& load) {
  Bytes out;
  for (const LayerCache& cache : input.caches)
    for (const Term& term : cache.expanded) {
      if (!has_window(term)) continue;
      const std::uint64_t all = load.max_model_len.count() / term.stride;
      out += entry_of(input, term) * (all - term.entries(load.max_model_len, load.source_tokens));
    }
  return out * load.num_seqs;
}

// The bytes of cross attention to the largest image. They are not planned without --encoder-len.
static Bytes image_cache(const EngineInput& input, const Load& load) {
  Bytes out;
  for (const LayerCache& cache : input.caches)
    for (const Term& term : cache.compact)
      if (is_optional(input, term)) out += entry_of(input, term) * load.source_tokens.count();
  return out * load.num_seqs;
}

static void add_static_copies(const OverheadInput& in, std::vector<LedgerLine>& out) {
  const Bytes rolled = rolled_window(stored_form(*in.engine), in.load);
  if (rolled > Bytes(0))
    out.push_back(estimate_line(Section::kActivation, "a rolled window of one layer", rolled, {0, 1},
                                "K and V of the largest window, copied to move it by one token",
                                "transformers cache_utils.py: StaticSlidingWindowLayer"));
}

static void add_dynamic_copies(const OverheadInput& in, std::vector<LedgerLine>& out) {
  const EngineInput input = stored_form(*in.engine);
  const Bytes copy = largest_tensor(input, in.load);
  if (copy > Bytes(0))
    out.push_back(estimate_line(Section::kActivation, "concatenation: the old copy of one layer", copy, {0, 1},
                                "the largest K or V of one layer, old and new together",
                                "transformers cache_utils.py: torch.cat each step"));
  const Bytes pinned = pinned_by_views(input, in.load);
  if (pinned > Bytes(0)) {
    // This memory is only used between the prefill and the first token, so it is in the range but not in the estimate.
    out.push_back({Section::kActivation, "prompt pinned by windows after a prefill", Bytes(0), Bytes(0), pinned,
                   "tokens beyond the windows, until the first decoded token",
                   "transformers cache_utils.py: a view keeps the whole tensor"});
  }
}

static bool is_eager(const EngineInput& input) {
  const TransformersClass the_class = transformers_class(input.model);
  const bool by_default =
      the_class.lacks_sdpa || (the_class.caps_scores && transformers_rules(input.request).caps_eagerly);
  return input.request.attention == AttentionKernel::kNaive ||
         (by_default && input.request.attention == AttentionKernel::kEngine);
}

constexpr const char* kPass = "activations of a pass";

// Elements that one layer's MLP needs per token. Since 5.0 all experts of a layer run at once over (token, expert)
// pairs (integrations/moe.py: grouped_mm). Within the experts a pair has its input, and gate and up twice. At the end
// it has its input, its output, and the weighted output twice in float32.
static std::uint64_t mlp_row(const EngineInput& input) {
  const std::uint64_t hidden = input.model.hidden_size, ranks = input.request.parallel.tensor;
  const ExpertShape& experts = input.model.experts;
  const std::uint64_t dense = checked_mul(3, ceil_div(std::max(input.model.intermediate_size, hidden), ranks), kPass);
  if (experts.used == 0 || experts.width == 0 || !transformers_rules(input.request).fuses_experts) return dense;
  const bool all = transformers_class(input.model).runs_all_experts;
  const std::uint64_t inner = checked_add(hidden, checked_mul(4, ceil_div(experts.width, ranks), kPass), kPass);
  const std::uint64_t pair = all ? inner : std::max(inner, checked_mul(6, hidden, kPass));
  return std::max(dense, checked_mul(all ? experts.count : experts.used, pair, kPass));
}

// DeepSeek's sparse attention scores every token with every head of its indexer, in float32, before and after scaling.
static std::optional<LedgerLine> index_scores(const OverheadInput& in, std::uint64_t prompt) {
  const std::uint64_t heads = fact_of(*in.engine, {"index_n_heads"});
  const std::uint64_t context = in.load.tokens_of_sequence().count();
  if (heads == 0 || !any_term(*in.engine, [](const Term& term) { return term.role == Role::kIndex; })) return {};
  const Bytes bytes = Bytes(8) * checked_mul(checked_mul(prompt, context, kPass), heads, kPass);
  return estimate_line(Section::kActivation, "scores of the indexer", bytes, {0.5, 1.5},
                       {"{tokens} tokens of a pass * {context} of context * {heads} heads * 8 B",
                        {{"tokens", prompt}, {"context", context}, {"heads", heads}}},
                       "estimate: modeling_deepseek_v32.py, scores in float32; measured on an H200");
}

// Without the package mamba-ssm PyTorch computes the states in float32. Mamba 2 computes them from the products of B
// and C for every two tokens of a chunk, and its allocator keeps one such tensor while it requests another. Mamba 1
// uses three tensors of a state for every token. kvplan does not know whether the package is installed, so this is only
// in the range.
static std::optional<LedgerLine> computed_states(const EngineInput& input, std::uint64_t prompt) {
  constexpr std::uint64_t kChunk = 256;
  const std::uint64_t width = mamba_width(input);
  if (width == 0) return {};
  std::uint64_t row = 0;
  if (const std::uint64_t heads = fact_of(input, {"mamba_n_heads", "mamba_num_heads", "num_heads"}); heads > 0) {
    const std::uint64_t chunk = fact_of(input, {"mamba_chunk_size", "chunk_size"});
    row = checked_mul(checked_mul(chunk > 0 ? chunk : kChunk, checked_mul(2, heads, kPass), kPass), width, kPass);
  } else {
    for (const LayerCache& cache : input.caches)
      for (const Term& term : cache.compact)
        if (term.role == Role::kState) row = std::max(row, checked_mul(3, term.elements().count(), kPass));
  }
  return LedgerLine{Section::kActivation,
                    "states computed without the package mamba-ssm",
                    Bytes(0),
                    Bytes(0),
                    Bytes(4) * checked_mul(prompt, row, kPass),
                    {"none with the package, else {tokens} tokens * {row} * 4 B", {{"tokens", prompt}, {"row", row}}},
                    "modeling_falcon_h1.py, modeling_mamba.py: what runs without the package; measured on an H200"};
}

// Four rows of the residual, and the larger of one layer's MLP and its scores. testdata/measured/passes has runs on an
// H200: dense models and experts are close to this. States that PyTorch computes without their packages, and models
// with several residual streams, take far more.
static void add_pass(const OverheadInput& in, std::uint64_t prompt, std::vector<LedgerLine>& out) {
  const EngineInput& input = *in.engine;
  const std::uint64_t size = input.types.model == Dtype::kFloat32 ? 4 : 2;
  const bool has_streams = transformers_class(input.model).has_streams, is_open = has_states(input) || has_streams;
  const Spread spread{is_open || input.model.experts.used > 0 ? 0.5 : 0.7, has_streams ? 12 : is_open ? 3 : 1.3};
  auto scores =
      is_eager(input)
          // eager_attention_forward: the masked scores, their softmax in float32, and its copy in the model's type.
          ? score_matrix(in, prompt, 8, "estimate: attn_implementation=\"eager\", scores in 16, 32 and 16 bit")
          : index_scores(in, prompt);
  std::uint64_t mlp = mlp_row(input);
  if (scores && scores->bytes > Bytes(prompt) * checked_mul(mlp, size, kPass))
    mlp = 0;
  else
    scores.reset();
  const std::uint64_t row = checked_add(checked_mul(4, input.model.hidden_size, kPass), mlp, kPass);
  out.push_back(estimate_line(
      Section::kActivation, "activations of a prompt in one pass", Bytes(prompt) * checked_mul(row, size, kPass),
      spread, {"{tokens} tokens * {row} * {bytes} B", {{"tokens", prompt}, {"row", row}, {"bytes", size}}},
      "estimate: the residual and one layer's MLP or experts; measured on an H200"));
  if (scores) out.push_back(std::move(*scores));
  if (auto states = computed_states(input, prompt)) out.push_back(std::move(*states));
}

// While loading, from_pretrained joins gate and up of all experts of a layer beside their parts (core_model_loading.py:
// MergeModulelist, Concatenate), before there is a cache or an activation, which take `later`. Classes whose files have
// such tensors already join nothing, so this is only in the range.
static std::optional<LedgerLine> joined_experts(const EngineInput& input, Bytes later) {
  const ExpertShape& experts = input.model.experts;
  if (experts.count == 0 || experts.width == 0 || !transformers_rules(input.request).fuses_experts ||
      transformers_class(input.model).fused_experts)
    return {};
  const std::uint64_t width = ceil_div(experts.width, input.request.parallel.tensor);
  const Bytes joined = Bytes(4) * checked_mul(checked_mul(experts.count, width, kPass), input.model.hidden_size, kPass);
  if (joined <= later) return {};
  return LedgerLine{Section::kActivation,
                    "joined experts while loading",
                    Bytes(0),
                    Bytes(0),
                    joined - later,
                    {"{bytes} of gate and up in 16 bit, without what takes their place later", {{"bytes", joined}}},
                    "core_model_loading.py: MergeModulelist, Concatenate"};
}

static std::vector<LedgerLine> overhead(const OverheadInput& in) {
  const EngineInput& input = *in.engine;
  const std::uint64_t tokens = checked_mul(in.load.max_model_len.count(), in.load.num_seqs, "the tokens of the load");
  const std::uint64_t prompt = std::min(tokens, input.request.max_num_batched_tokens.value_or(Tokens(tokens)).count());
  std::vector<LedgerLine> out;
  if (is_static(input.request))
    add_static_copies(in, out);
  else
    add_dynamic_copies(in, out);
  add_pass(in, prompt, out);
  if (const Bytes image = image_cache(input, in.load); image != Bytes(0))
    out.push_back(estimate_line(Section::kActivation, "keys and values of an image", image, {0, 1},
                                "cross attention to the largest image, where a prompt has one",
                                "transformers modeling_mllama.py"));
  if (grouped(input.types.key) || grouped(input.types.value)) {
    CacheTypes plain = input.types;
    plain.key = plain.value = input.types.model;
    const Load tail{std::min(in.load.max_model_len, Tokens(kResidual)), in.load.num_seqs, Tokens(0)};
    const TermSum sum(input.caches, plain, input.request.parallel.tensor);
    out.push_back(estimate_line(Section::kActivation, "tokens that wait to be quantized",
                                sum.per_token() * tail.max_model_len.count() * tail.num_seqs, {0, 1},
                                "up to 128 tokens of a sequence in the model's type",
                                "transformers cache_utils.py: residual_length 128"));
  }
  out.push_back(logits_line(input, in.load.num_seqs, {1, 2}));
  std::vector<Note> scratch;
  Bytes later = Bytes(layout(input, scratch)->reserved(in.load).count() / input.request.parallel.pipeline);
  for (const LedgerLine& line : out) later += line.bytes;
  if (auto joined = joined_experts(input, later)) out.push_back(std::move(*joined));
  out.push_back({Section::kRuntime, "driver context and libraries", Bytes(512 * kMiB), Bytes(300 * kMiB),
                 Bytes(1024 * kMiB), "allowance of 512 MiB per GPU", "estimate: CUDA context and cuBLAS workspaces",
                 LineId::kContext});
  return out;
}

// The part of a GPU that device_map="auto" fills with weights: of a single GPU nine tenths (get_balanced_memory), and
// with these quantizers nine tenths of that (adjust_max_memory).
static double fills_gpu(const Request& request) {
  const std::string_view type = request.weights ? std::string_view(*request.weights) : "";
  const bool is_made = type.starts_with("bnb") || type.starts_with("int") || type.starts_with("quanto");
  return (request.parallel.pipeline == 1 ? 0.9 : 1) * (is_made ? 0.9 : 1);
}

static EngineSettings settings(const EngineInput& input, const Load&) {
  EngineSettings out;
  out.attention_backend = is_eager(input)                                      ? "eager"
                          : input.request.attention == AttentionKernel::kFlash ? "flash_attention_2"
                                                                               : "sdpa";
  return out;
}

Engine transformers_engine() {
  Engine out{"transformers", "hf", "generate() of transformers", kVersions, 1.0, resolve, layout, overhead};
  out.rules = transformers_rule_rows;
  out.oldest_recent = "4.57";
  out.options = "--cache-implementation --device-map";
  out.fills_gpu = fills_gpu;
  out.kv_choices = "bfloat16 int8 int4";
  out.weight_choices = "bfloat16 fp8 int8 int4";
  out.refusal = transformers_refusal;
  out.names_latents = [](const EngineInput&) { return false; };  // each class caches as its own code does
  out.has_scores = true;
  out.parallel.layers_first = true;  // device_map="auto"; -tp is torchrun with tp_plan="auto"
  out.settings = settings;
  out.loading.made_at_load = "fp8 int8 int4 bnb-int8 bnb-nf4 bnb-nf4-double";
  out.loading.makes_single_nf4 = [](const Request&) { return true; };  // bnb_4bit_use_double_quant is False by default
  out.loading.unpacks_gguf = "float32";
  out.loading.keeps_types = true;
  out.loading.make_tensors = transformers_tensors;
  out.loading.makes_by = transformers_makes_by;
  out.extras.draft_methods = "draft_model ngram";
  out.extras.lora = LoraStorage::kFloat32Files;
  out.extras.has_beams = true;
  out.log.lines = transformers_log_lines;
  return out;
}

}  // namespace kvplan
