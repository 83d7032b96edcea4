// Ollama: llama.cpp underneath, with its own defaults.
//
// Source: Ollama's documentation of context length, OLLAMA_KV_CACHE_TYPE and OLLAMA_NUM_PARALLEL, and its log lines
// "kv cache" and "compute graph" (log_reader.cpp reads them). The cache itself follows llama_cpp.cpp.
// - until 0.29 it ran some families in its own engine (fs/ggml/ggml.go, OllamaEngineRequired); since 0.30 it starts
//   llama-server for every GGUF (llm/llama_server.go).
// - num_ctx is the context of one sequence (llama.cpp's n_ctx is num_ctx * parallel), and never more than the model's
//   own. Its default is a rule; 4096 without a GPU.
// - one sequence at a time (OLLAMA_NUM_PARALLEL 1; some families never take more), KV float16, q8_0 or q4_0 for both.
// - flash attention, unless OLLAMA_FLASH_ATTENTION decides: by family until 0.13.4, then llama.cpp's "auto". Until 0.29
// a
//   quantized cache without it became float16 (llm/server.go); llama-server refuses it.
// - ollama uses the MTP layers of a GGUF without an option, with draft_num_predict draft tokens (since 0.30).
// - num_batch is 512. Since 0.30 it depends on the context of all sequences (server/sched.go,
//   automaticGenerationBatch), and llama-server's micro-batch is as large. If the model leaves little GPU memory,
//   ollama takes a smaller batch, which kvplan does not plan.

#include "engines/class_rows.h"
#include "engines/engine.h"
#include "engines/estimates.h"
#include "engines/launch_input.h"
#include "engines/llama_cpp/cache.h"
#include "engines/llama_cpp/compute.h"
#include "engines/log_request.h"
#include "engines/release.h"
#include "kvplan/error.h"

namespace kvplan {

namespace {

constexpr EngineVersion kVersions[] = {
    {"0.12",
     "llama.cpp's rules with Ollama's documented defaults; source (read) and logs for gpt-oss in its own engine. Not "
     "checked: its estimate of what fits, partial offload"},
    {"0.17",
     "as 0.12; source (read) and a log for states in its own engine, as of 0.17.1; Gemma 4's windows since 0.20"},
    {"0.30",
     "source (read) and a log: it starts llama-server, with batches by the context. Not checked: partial offload, "
     "smaller batches on a GPU that is nearly full"},
};
constexpr std::uint64_t kBatch = 512;

// What Ollama's own engine stores in addition to llama.cpp's cache, and whether a family still runs in that engine.
struct OllamaRules {
  bool starts_llama_server = false;
  bool sizes_context = false;
  std::uint64_t gpt_oss_window = 0,
                gemma4_window = 0;  // least number of tokens in a window; 0 if llama.cpp runs the family
  std::uint64_t checkpoints = 0;    // copies of a sequence's states
  bool gpt_oss_flash = false, family_flash = false, auto_flash = false, gemma4_flash = false;
};
constexpr Release kServer{0, 30, 0};
constexpr Rule<OllamaRules> kRules[] = {
    {&OllamaRules::gpt_oss_window,
     4096,
     {0, 11},
     kServer,
     "gpt-oss keeps windows of at least this many tokens.",
     "model/models/gptoss/model.go, NewSWAMemCache; a log"},
    {&OllamaRules::gemma4_window,
     4096,
     {0, 20},
     kServer,
     "Gemma 4 keeps windows of at least this many tokens.",
     "model/models/gemma4/model.go, NewSWAMemCache"},
    {&OllamaRules::checkpoints,
     24,
     {0, 17},
     kServer,
     "Recurrent states have this many checkpoints.",
     "kvcache/recurrent.go, DefaultCheckpointCount; a log"},
    {&OllamaRules::sizes_context,
     1,
     {0, 15, 5},
     kNoEnd,
     "The default context depends on the memory of all GPUs: 4,096 tokens, 32,768 from 23 GiB, 262,144 from 47 GiB.",
     "server/routes.go"},
    {&OllamaRules::starts_llama_server, 1, kServer, kNoEnd,
     "llama-server runs every GGUF, and batches grow with the context.", "llm/llama_server.go; server/sched.go; a log"},
    {&OllamaRules::gpt_oss_flash,
     1,
     {0, 11, 8},
     kNoEnd,
     "By default, gpt-oss has flash attention.",
     "ollama/ollama#11996"},
    {&OllamaRules::family_flash,
     1,
     {0, 12, 6},
     kNoEnd,
     "By default, Gemma 3 and Qwen 3 have flash attention.",
     "fs/ggml/ggml.go, FlashAttention"},
    {&OllamaRules::auto_flash,
     1,
     {0, 13, 4},
     kNoEnd,
     "Flash attention is auto for the models that llama.cpp's engine runs.",
     "ollama/ollama#13052"},
    {&OllamaRules::gemma4_flash,
     1,
     {0, 20, 4},
     kNoEnd,
     "By default, Gemma 4 has flash attention.",
     "fs/ggml/ggml.go, FlashAttention; a log of 0.20"},
};
OllamaRules rules_of(const Request& request) {
  return resolve_rules(kRules, release_of(request), request.turned_rule);
}
std::vector<RuleRow> rules() {
  return rule_rows(kRules);
}

struct OllamaClass {
  bool gpt_oss_flash = false, family_flash = false, gemma4_flash = false;  // flash attention is the default
  bool one_at_a_time = false;                                              // server/sched.go, load
};
OllamaClass ollama_class(const ModelShape& model) {
  using C = OllamaClass;
  using enum Arch;
  static constexpr ClassRow<C> kRows[] = {
      {&C::gpt_oss_flash, {kGptOss}},
      {&C::family_flash, {kGemma3}, "qwen3 qwen3moe Qwen3ForCausalLM Qwen3MoeForCausalLM"},
      {&C::gemma4_flash, {kGemma4}},
      {&C::one_at_a_time,
       {kMllama, kQwen3p5, kQwen3Next, kLfm2, kNemotronH},
       "qwen3vl qwen3vlmoe Qwen3VLForConditionalGeneration Qwen3VLMoeForConditionalGeneration"},
  };
  return resolve_class(std::span<const ClassRow<C>>(kRows), model.arch, model.architecture);
}

// The value of OLLAMA_FLASH_ATTENTION, or the release's default for this model.
FlashAttention flash_attention(const ModelShape& model, const Request& request) {
  using enum FlashAttention;
  const FlashAttention asked = request.llama_cpp.flash_attention;
  const OllamaRules rules = rules_of(request);
  if (asked != kAuto || rules.starts_llama_server) return asked;
  const OllamaClass is = ollama_class(model);
  const bool listed = (is.gpt_oss_flash && rules.gpt_oss_flash) || (is.family_flash && rules.family_flash);
  if (is.gemma4_flash) return rules.gemma4_flash ? kOn : kOff;
  return listed ? kOn : rules.auto_flash ? kAuto : kOff;
}

// Whether the cache stays in float16 although OLLAMA_KV_CACHE_TYPE names another type.
bool drops_cache_type(const ModelShape& model, const Request& request) {
  const bool asks = is_quantized(request.cache_type_k.value_or(Dtype::kFloat16));
  return asks && !rules_of(request).starts_llama_server && flash_attention(model, request) != FlashAttention::kOn;
}

// Families that ran in Ollama's own engine.
struct OwnEngine {
  Arch arch;
  std::uint64_t OllamaRules::*window;
  std::uint64_t OllamaRules::*checkpoints;
};
constexpr OwnEngine kOwnEngine[] = {
    {Arch::kGptOss, &OllamaRules::gpt_oss_window, nullptr}, {Arch::kGemma4, &OllamaRules::gemma4_window, nullptr},
    {Arch::kQwen3Next, nullptr, &OllamaRules::checkpoints}, {Arch::kQwen3p5, nullptr, &OllamaRules::checkpoints},
    {Arch::kNemotronH, nullptr, &OllamaRules::checkpoints}, {Arch::kLfm2, nullptr, &OllamaRules::checkpoints},
};

std::optional<LlamaKeeps> own_engine(const EngineInput& input) {
  const OllamaRules rules = rules_of(input.request);
  for (const OwnEngine& row : kOwnEngine) {
    if (row.arch != input.model.arch) continue;
    LlamaKeeps out;
    if (row.window != nullptr) out.window = rules.*row.window;
    if (row.checkpoints != nullptr) out.checkpoints = rules.*row.checkpoints;
    if (out.window + out.checkpoints > 0) return out;
  }
  return std::nullopt;
}

// server/sched.go, generationBatchForContext.
std::uint64_t batch_for(std::uint64_t tokens) {
  return tokens > 32768 ? 2048 : tokens > 4096 ? 1024 : kBatch;
}

// Whether the batch, and with it the micro-batch, depends on the context.
bool has_batch_rule(const Request& request) {
  const LlamaCppOptions& asked = request.llama_cpp;
  // If the model is larger than four fifths of the GPU, the batch stays at kBatch (generationBatchFits).
  const bool is_large = asked.gpu_layers.value_or(kEveryLayer) != kEveryLayer || asked.cpu_moe_layers;
  return !asked.n_batch && !asked.n_ubatch && !is_large && rules_of(request).starts_llama_server;
}

// Since 0.30 llama-server places layers with its own --fit. Earlier, Ollama placed whole layers by its own estimate and
// left MinimumMemory (ml/device.go) free.
std::optional<AutoPlacement> places(const Request& request) {
  const bool starts_server = rules_of(request).starts_llama_server;
  const Bytes margin = starts_server ? Bytes(kGiB) : Bytes(457 * kMiB);
  // server/sched.go, bestSingleGPUFit; earlier, a GPU that fits all of it
  const double one_gpu = starts_server ? 0.8 : 1;
  return AutoPlacement{std::vector<Bytes>(request.parallel.pipeline, margin), Tokens(0), starts_server, true, one_gpu};
}

// The request as llama.cpp receives it, with the batch for `load` if a load is given.
Request below(const ModelShape& model, const Request& request, const Load* load = nullptr) {
  constexpr std::uint64_t kDraftTokens = 4;  // draft_num_predict
  Request out = request;
  out.llama_cpp.flash_attention = flash_attention(model, request);
  if (request.mtp && request.num_speculative_tokens == 0) out.num_speculative_tokens = kDraftTokens;
  if (load != nullptr && has_batch_rule(request))
    out.llama_cpp.n_batch = out.llama_cpp.n_ubatch =
        batch_for(checked_mul(load->max_model_len.count(), load->num_seqs, "the context of all sequences"));
  if (!out.llama_cpp.n_batch) out.llama_cpp.n_batch = kBatch;
  if (!rules_of(request).starts_llama_server) out.llama_cpp.cache_ram = Bytes(0);
  out.engine = engine_named("llama.cpp");
  out.engine_version.clear();
  return out;
}

CacheTypes resolve(const ModelShape& model, const Request& request) {
  CacheTypes types = llama_cpp_engine().resolve_types(model, below(model, request));
  if (request.weights && request.weights->starts_with("mlx-"))
    refuse(
        "--weights " + one_line(*request.weights, 40) + ": ollama runs MLX's files in its MLX runner, not in llama.cpp",
        "use --engine mlx");
  refuse_types(types, "ollama", {Dtype::kFloat16, Dtype::kQ8_0, Dtype::kQ4_0});
  if (types.key != types.value)
    refuse("--cache-type-k and --cache-type-v differ: Ollama has one type for both (OLLAMA_KV_CACHE_TYPE)",
           "name the same type, or use --engine llama.cpp");
  if (drops_cache_type(model, request)) types.key = types.value = Dtype::kFloat16;
  if (is_quantized(types.key) && request.llama_cpp.flash_attention == FlashAttention::kOff)
    refuse("OLLAMA_KV_CACHE_TYPE=" + std::string(name(types.key)) + " needs flash attention",
           "leave out OLLAMA_FLASH_ATTENTION=0 (-fa off), or use f16");
  return types;
}

std::unique_ptr<CacheLayout> layout(const EngineInput& input, std::vector<Note>& notes) {
  if (drops_cache_type(input.model, input.request))
    notes.push_back({NoteLevel::kWarning, "dropped_cache_type",
                     "this release of ollama ignores OLLAMA_KV_CACHE_TYPE without OLLAMA_FLASH_ATTENTION=1: the KV "
                     "cache is float16"});
  if (input.request.sequences() > 1 && ollama_class(input.model).one_at_a_time)
    notes.push_back({NoteLevel::kWarning, "one_sequence",
                     "ollama serves one request of this model at a time, whatever OLLAMA_NUM_PARALLEL says"});
  const Gpu* card = input.request.card.gpu;
  const std::string_view type = input.request.weights ? std::string_view(*input.request.weights) : "";
  if (card != nullptr && card->vendor == "Apple" && (type == "nvfp4" || type == "mxfp8"))
    notes.push_back({NoteLevel::kWarning, "mlx_runner",
                     "on a Mac ollama runs models named -nvfp4, -mxfp8 or -mlx in its MLX runner: plan them with "
                     "--engine mlx. It takes the model's whole context whatever num_ctx says, and keeps up to 8 GiB of "
                     "earlier prompts"});
  if (input.request.mtp && !rules_of(input.request).starts_llama_server)
    refuse("--mtp: ollama has no speculative decoding before 0.30", "leave it out, or name --engine ollama@0.30");
  if (input.model.num_nextn_layers > 0 && !input.request.mtp && rules_of(input.request).starts_llama_server)
    notes.push_back(
        {NoteLevel::kInfo, "mtp_by_itself", "ollama runs the MTP layers of a GGUF that has them: --mtp plans them"});
  EngineInput inner = input;
  inner.request = below(input.model, input.request);
  return llama_cpp_layout(inner, notes, own_engine(input), has_batch_rule(input.request) ? batch_for : nullptr);
}

std::vector<LedgerLine> overhead(const OverheadInput& in) {
  EngineInput inner = *in.engine;
  inner.request = below(in.engine->model, in.engine->request, &in.load);
  inner.request.engine_version = "b9360";  // logits still have a row for each token (ollama/ollama#16416: 796 MiB)
  OverheadInput out = in;
  out.engine = &inner;
  std::vector<LedgerLine> lines = llama_cpp_engine().overhead(out);
  in.engine->memo = inner.memo;  // the next step of a search reuses it
  return lines;
}

EngineSettings settings(const EngineInput& input, const Load& load) {
  EngineInput inner = input;
  inner.request = below(input.model, input.request, &load);
  return llama_cpp_settings(inner, load);
}

// server/routes.go: the default depends on the memory of all GPUs. The code's limits are one GiB below the documented
// ones.
Tokens default_context(const Request& request, std::optional<Bytes> card) {
  Bytes all = card.value_or(Bytes(0)) * request.card.count;
  if (!request.card.mixed.empty()) {
    all = Bytes(0);
    for (const Gpu* each : request.card.mixed) all += each->budget();
  }
  if (!rules_of(request).sizes_context || all < Bytes(23 * kGiB)) return Tokens(4096);
  return all < Bytes(47 * kGiB) ? Tokens(32768) : Tokens(262144);
}

}  // namespace

Engine ollama_engine() {
  Engine out{"ollama", "", "llama.cpp with Ollama's defaults", kVersions, 1.0, resolve, layout, overhead};
  out.rules = rules;
  out.kv_choices = "float16 q8_0 q4_0";
  out.weight_choices = llama_cpp_engine().weight_choices;
  out.small_weight_choices = llama_cpp_engine().small_weight_choices;
  out.wraps_engine = true;
  out.model_prefix = "ollama:";
  out.names_latents = llama_cpp_engine().names_latents;
  out.extras.draft_methods = "mtp";
  out.caps_context = true;
  out.loading.embedding_on_host = true;
  out.loading.padding = llama_cpp_engine().loading.padding;
  out.has_scores = true;
  out.spelling =
      "--max-model-len=num_ctx --ctx-size=num_ctx -ngl=num_gpu --num-seqs=OLLAMA_NUM_PARALLEL "
      "--kv-cache-dtype=OLLAMA_KV_CACHE_TYPE -tp= -pp=--gpu-count";
  out.parallel.stages = llama_cpp_engine().parallel.stages;
  out.places = places;
  out.on_cpu = llama_cpp_engine().on_cpu;
  out.parallel.places_nextn_layers = true;
  out.default_context = default_context;
  out.settings = settings;
  out.start = Start::kEverything;
  out.options =
      "--batch --ubatch-size --kv-unified --swa-full --flash-attn --n-gpu-layers --no-kv-offload "
      "--tensor-split --split-mode --main-gpu --tool --n-cpu-moe --cpu-moe --override-tensor --cache-type-k "
      "--cache-type-v";
  out.supports = llama_cpp_engine().supports;
  out.extras.lora = LoraStorage::kFiles;
  out.micro_batch = llama_cpp_engine().micro_batch;
  out.extras.image_buffer = llama_image_encoder;
  out.extras.brings_projector = true;
  out.most_sequences = llama_cpp_engine().most_sequences;
  out.log.lines = ollama_log_lines;
  out.log.read_request = llama_cpp_read_request;
  out.launch = ollama_launch;
  out.command = ollama_command();
  return out;
}

}  // namespace kvplan
