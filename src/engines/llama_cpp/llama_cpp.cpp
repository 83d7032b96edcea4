// llama.cpp: one buffer of cells for each kind of cache, which llama.cpp sizes when it creates the context.
//
// Without --kv-unified each of the n_parallel sequences has its own stream; with it they share one:
//
//   n_ctx_seq = pad256(n_ctx / sequences), streams = sequences      each on its own
//   n_ctx_seq = pad256(n_ctx),             streams = 1              --kv-unified (llama-server without -np)
//   bytes     = sum over layers of cells * streams * (row(type_k, K elements) + row(type_v, V elements))
//   n_ubatch  = min(n_ubatch, n_batch, n_ctx)                       before any padding
//
// The cells of a layer are n_ctx_seq; for layers with a window w, in the architectures that have a second cache (iSWA),
// they are pad256(min(n_ctx_seq, w * (unified ? sequences : 1) + n_ubatch)), since a micro-batch is written before the
// window moves. --swa-full gives them n_ctx_seq. Architectures that run as "llama", "qwen2", "qwen3", "phi3" and the
// like keep every token, whatever window their config names. Other rules:
//
//   - a row of a quantized type is ggml's: blocks of 32 over all heads of the layer. Keys and values can have different
//     types, except with MLA and DeepSeek-V4. A quantized V needs flash attention.
//   - MLA keeps the latent with its rope part as K, and no V. Index keys (DSA) are a cache of K rows of one head, of
//     the K type and not in FP8.
//   - without flash attention V is transposed, and each layer's V is as wide as the widest layer's.
//   - recurrent state (R: conv columns k - 1, S) is float32, one row for each sequence, whatever the context; a draft
//     that can be rejected (MTP) needs as many rows more as it has tokens, where the architecture can roll back.
//   - DeepSeek-V4 has windows, entries for 4 and for 128 tokens, index keys, and float32 compressor states. Each
//     sequence has its own, even with --kv-unified.
//   - encoder-decoder models: the cross attention's keys and values are computed again for each batch.
//   - a layer's cache is on the same device as the layer. The last -ngl of (layers + 1 for the output) are on the
//     GPUs in order, split evenly or by --tensor-split. Other caches, or all with --no-kv-offload, are in host memory.
//   - a draft model has its own context and compute buffer, with the model's tokens and sequences. Its K and V are
//     float16 unless --cache-type-k-draft says otherwise. Drafts that must be rolled back (MTP, EAGLE-3) need more
//     rows of recurrent states; other drafts restore a checkpoint in host memory.
//   - CUDA pads the last row of a quantized tensor whose rows are not a multiple of 512 elements.
//
// Source: llama.cpp v0.5.0 (September 2026): src/llama-context.cpp, llama-kv-cache.cpp, -iswa, -dsa, -dsv4,
//   llama-memory-recurrent.cpp, llama-hparams.cpp, llama-model.cpp (create_memory, load_tensors), common/arg.cpp.
// Checked against: bench/llama-live (KV and RS lines of that build for synthetic models), over 1,000 contexts of 34
//   architectures, logs of issues from 2024 to 2026. Builds before b6980 (November 2025) pad by 32 without flash
//   attention.
#include <functional>

#include "engines/class_rows.h"
#include "engines/drafts.h"
#include "engines/launch_input.h"
#include "engines/llama_cpp/cache.h"
#include "engines/llama_cpp/classes.h"
#include "engines/llama_cpp/compute.h"
#include "engines/llama_cpp/rules.h"
#include "engines/log_request.h"
#include "kvplan/error.h"
#include "kvplan/gpus.h"

namespace kvplan {

constexpr std::string_view kTypeNames = "float32, float16, bfloat16, q8_0, q5_1, q5_0, q4_1, q4_0 or iq4_nl";
constexpr std::uint64_t kMaxSequences = 256;  // LLAMA_MAX_SEQ in llama-cparams.h; it was 64 before September 2025

static bool stores(Dtype type) {
  switch (type) {
    case Dtype::kFloat32:
    case Dtype::kFloat16:
    case Dtype::kBfloat16:
    case Dtype::kQ8_0:
    case Dtype::kQ5_1:
    case Dtype::kQ5_0:
    case Dtype::kQ4_1:
    case Dtype::kQ4_0:
    case Dtype::kIq4Nl: return true;
    default: return false;
  }
}

// K and V are float16 whatever the checkpoint's type, even if it declares an FP8 cache; states are float32.
static CacheTypes resolve(const ModelShape& model, const Request& request) {
  CacheTypes types = resolve_default_types(model, request);
  types.state = Dtype::kFloat32;
  types.key = request.cache_type_k.value_or(Dtype::kFloat16);
  types.value = request.cache_type_v.value_or(Dtype::kFloat16);
  for (const Dtype type : {types.key, types.value})
    if (!stores(type))
      refuse("llama.cpp has no cache of type " + std::string(name(type)), "use " + std::string(kTypeNames));
  return types;
}

static void check_parallel(const Request& request, const ModelShape& model) {
  const bool by_tensor = request.llama_cpp.split == LlamaSplit::kTensor;
  if (request.parallel.tensor > 1 && !by_tensor)
    refuse("llama.cpp splits a model over GPUs by layers, not by heads", "use -pp or --gpu-count in place of -tp");
  if (request.parallel.decode_context > 1) refuse("llama.cpp has no decode context parallelism", "leave out -dcp");
  if (request.parallel.pipeline > model.num_layers)
    refuse("-pp " + std::to_string(request.parallel.pipeline) + " is more than the " +
               std::to_string(model.num_layers) + " layers",
           "use fewer GPUs");
  const std::uint64_t gpus = by_tensor ? request.parallel.tensor : request.parallel.pipeline;
  if (!request.llama_cpp.tensor_split.empty() && request.llama_cpp.tensor_split.size() != gpus)
    refuse("--tensor-split names " + std::to_string(request.llama_cpp.tensor_split.size()) +
               " GPUs, and the layout has " + std::to_string(gpus),
           "name them with -pp " + std::to_string(request.llama_cpp.tensor_split.size()));
  if (request.sequences() > kMaxSequences)
    refuse("llama.cpp runs at most 256 sequences, not " + std::to_string(request.sequences()),
           "use a smaller --num-seqs");
  if (request.llama_cpp.n_batch == 0 && request.llama_cpp.n_ubatch == 0)
    refuse("--batch and --ubatch-size are both 0", "name one of them");
}

// ggml packs elements in blocks of 32, and flash attention reads whole heads.
static void check_blocks(const EngineInput& input, bool flash_attention) {
  for (const LayerCache& cache : input.caches) {
    std::uint64_t key = 0;
    std::uint64_t value = 0;
    for (const Term& term : cache.compact) {
      if (term.growth != Growth::kToken || term.role == Role::kState || term.stride > 1) continue;
      const std::uint64_t width = flash_attention ? term.shape.width : term.elements().count();
      if (term.role == Role::kKey) key += width;
      if (term.role == Role::kValue) value += width;
    }
    const auto check = [](Dtype type, std::uint64_t width, std::string_view what) {
      if (is_quantized(type) && width % info(type).key.block != 0)
        refuse("a cache of type " + std::string(name(type)) + " needs heads of a multiple of " +
                   std::to_string(info(type).key.block) + " elements, and these " + std::string(what) + " have " +
                   std::to_string(width),
               "use float16");
    };
    check(input.types.key, key, "keys");
    check(input.types.value, value, "values");
  }
}

static void check_types(const EngineInput& input) {
  bool k_only = false;
  bool has_values = false;
  const LlamaClass is = llama_class(input.model);
  for (const LayerCache& cache : input.caches) {
    if (is.expands_latents) continue;
    for (const Term& term : cache.compact) {
      k_only = k_only || term.part == Part::kLatent;
      has_values = has_values || (term.role == Role::kValue && term.growth == Growth::kToken);
    }
  }
  if (k_only && input.types.key != input.types.value && llama_rules(input.request).one_latent_type)
    refuse("llama.cpp keeps the latent of MLA as K and reads V from it: the types " +
               std::string(name(input.types.key)) + " and " + std::string(name(input.types.value)) + " differ",
           "give --cache-type-k and --cache-type-v the same type");
  if (is_quantized(input.types.value) && llama_flash_attention_off(input))
    refuse("llama.cpp needs flash attention for a quantized V cache", "use --flash-attn on, or a V type of 16 bit");
  check_blocks(input, llama_flash_attention(input));
}

// The context of the draft; -cd if given.
static std::function<Load(const Load&)> draft_load(const Request& request) {
  const bool one = !llama_rules(request).whole_draft;
  return [one, own = request.extras.draft_ctx](const Load& load) {
    Load out = load;
    if (one) {
      out.max_model_len = load.tokens_of_sequence();
      out.num_seqs = 1;
      out.pooled = false;
    }
    if (own) out.max_model_len = std::min(out.max_model_len, *own);
    return out;
  };
}

static Template draft_label(const EngineInput& input) {
  return input.draft_method == DraftMethod::kEagle3 ? "EAGLE-3 layers" : "draft model";
}

static std::unique_ptr<CacheLayout> layout(const EngineInput& input, std::vector<Note>& notes) {
  return llama_cpp_layout(input, notes);
}

std::unique_ptr<CacheLayout> llama_cpp_layout(const EngineInput& input, std::vector<Note>& notes,
                                              std::optional<LlamaKeeps> own_engine, BatchRule batch_rule) {
  check_parallel(input.request, input.model);
  check_types(input);
  if (input.request.card.is_unified())
    notes.push_back(
        {NoteLevel::kInfo, "unified_memory",
         "CPU and GPU share this memory with the system and other programs. llama.cpp uses what is free when "
         "it starts. The planned host memory is in the same memory"});
  if (!llama_cpp_runs(input.model)) {
    notes.push_back({NoteLevel::kWarning,
                     "engine_cannot_run",
                     {"llama.cpp v0.5.0 has no converter for {architecture}: planned without an engine's rules",
                      {{"architecture", input.model.architecture}}}});
    return logical_engine().layout(input, notes);
  }
  if (input.draft == nullptr) return std::make_unique<LlamaCppLayout>(input, own_engine, batch_rule);
  return with_draft(std::make_unique<LlamaCppLayout>(input, std::nullopt, batch_rule),
                    std::make_unique<LlamaCppLayout>(*input.draft), draft_load(input.request), draft_label(input));
}

// --ctx-size is n_ctx, the total over all slots. Returns the tokens of one slot, or of the pool if all slots share one.
static Tokens slot_tokens(Tokens ctx_size, const Request& request) {
  if (request.llama_cpp.kv_unified || request.sequences() <= 1) return ctx_size;
  constexpr std::uint64_t kPad = 256;
  const std::uint64_t padded = round_up(ctx_size.count(), kPad, "a number of tokens");
  return Tokens(round_up(std::max<std::uint64_t>(1, padded / request.sequences()), kPad, "a number of tokens"));
}

// Vulkan and SYCL limit the size of one buffer, and a tensor must fit in one buffer. Mesa's limit is 0xFFFFFFFC.
static std::optional<Refusal> too_large_piece(const EngineInput& input, const Load& load) {
  constexpr std::uint64_t kLargest = 4096 * kMiB;
  using enum LlamaBackend;
  const LlamaBackend backend = llama_backend(input.request);
  if (backend != kVulkan && backend != kSycl) return std::nullopt;
  const Bytes piece = llama_largest_piece(input, load);
  if (piece < Bytes(kLargest)) return std::nullopt;
  return Refusal{"buffer_limit",
                 {"Requested buffer size exceeds device memory allocation limit: {backend} allocates less than "
                  "{limit:GiB} in one piece, and the compute buffer needs {piece:GiB}",
                  {{"backend", backend == kVulkan ? "Vulkan" : "SYCL"}, {"limit", Bytes(kLargest)}, {"piece", piece}}},
                 "use -fa on, or a smaller -ub or -c; with another backend name it: --backend rocm"};
}

// Refuses a --split-mode that the build, the backend or the architecture lacks.
std::optional<Refusal> refused_split(const EngineInput& input) {
  using enum LlamaBackend;
  constexpr const char* kCure = "use --split-mode layer";
  const LlamaRules rules = llama_rules(input.request);
  const LlamaBackend backend = llama_backend(input.request);
  switch (input.request.llama_cpp.split) {
    case LlamaSplit::kLayer: return std::nullopt;
    case LlamaSplit::kRow:
      if (rules.splits_rows || backend == kSycl) return std::nullopt;
      return Refusal{"split_mode", "error loading model: device does not support split buffers",
                     "use --split-mode tensor or layer"};
    case LlamaSplit::kTensor: break;
  }
  if (!rules.splits_tensors)
    return Refusal{"split_mode", "--split-mode: invalid value: this build has no tensor mode", kCure};
  if (llama_class(input.model).whole_tensors)
    return Refusal{"split_mode",
                   {"LLAMA_SPLIT_MODE_TENSOR not implemented for architecture {model_type}",
                    {{"model_type", input.model.model_type}}},
                   kCure};
  if (llama_flash_attention_off(input))
    return Refusal{"split_mode", "SPLIT_MODE_TENSOR requires flash_attn to be enabled",
                   "use -fa on, or --split-mode layer"};
  return std::nullopt;
}

std::optional<Refusal> refusal(const EngineInput& input, const Load& load) {
  if (auto lacks = llama_cpp_lacks(input)) return lacks;
  if (auto split = refused_split(input)) return split;
  return too_large_piece(input, load);
}

constexpr EngineVersion kVersions[] = {
    {"b6900", "builds before b6980 (November 2025): cells padded by 32 if --flash-attn is off"},
    {"0.5", "v0.5.0 (September 2026): source, and runs of over 1,000 contexts"},
};

EngineSettings llama_cpp_settings(const EngineInput& input, const Load& load) {
  const LlamaContext context = llama_context(input, load);
  EngineSettings out;
  out.max_num_batched_tokens = context.n_batch;
  out.max_num_seqs = context.num_seqs;
  out.n_ubatch = context.n_ubatch;
  return out;
}

Engine llama_cpp_engine() {
  Engine engine{"llama.cpp",
                "llamacpp llama-cpp llama_cpp",
                "llama.cpp: GGUF on GPUs and CPUs",
                kVersions,
                1.0,
                resolve,
                layout,
                llama_cpp_overhead};
  engine.rules = llama_rule_rows;
  engine.oldest_recent = "b7190";
  engine.model_prefix = "llama.cpp:";
  engine.model_suffix = ".gguf";
  engine.names_latents = llama_cpp_names_latents;
  engine.weight_choices = "f16 q8_0 q6_k q5_k_m q4_k_m iq4_xs";
  engine.small_weight_choices = "q3_k_m iq3_xxs iq2_xs";
  engine.kv_choices = "float16 q8_0 q4_0";
  engine.loading.embedding_on_host = true;
  engine.loading.padding = llama_cpp_padding;
  engine.loading.places_parts = true;
  engine.has_scores = true;
  engine.spelling = "--num-seqs=-np -tp= -pp=--gpu-count";
  engine.parallel.stages = llama_cpp_stages;
  engine.places = llama_cpp_places;
  engine.on_cpu = llama_cpp_on_cpu;
  engine.parallel.places_nextn_layers = true;
  engine.slot_tokens = slot_tokens;
  engine.settings = llama_cpp_settings;
  engine.start = Start::kEverything;
  engine.options =
      "--backend --batch --ubatch-size --kv-unified --swa-full --flash-attn --n-gpu-layers --no-kv-offload "
      "--tensor-split --split-mode --main-gpu --tool --n-cpu-moe --cpu-moe --override-tensor --cache-type-k "
      "--cache-type-v "
      "--cache-ram --ctx-checkpoints --fit-target --fit-ctx --no-mmproj-offload --ctx-size-draft --cache-type-k-draft "
      "--cache-type-v-draft";
  engine.supports = [](const Gpu& card) { return !is_gaudi(card); };  // CUDA, HIP, SYCL, Vulkan and Metal
  engine.extras.draft_methods = "draft_model eagle3 mtp ngram";
  engine.extras.lora = LoraStorage::kFiles;
  engine.micro_batch = kLlamaMicroBatch;
  engine.extras.image_buffer = llama_image_encoder;
  engine.refusal = refusal;
  engine.parallel.deals_draft = true;
  engine.most_sequences = kMaxSequences;
  engine.log.lines = llama_cpp_log_lines;
  engine.log.read_request = llama_cpp_read_request;
  engine.launch = llama_cpp_launch;
  engine.command = llama_cpp_command();
  return engine;
}

}  // namespace kvplan
