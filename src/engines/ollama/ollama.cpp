// Ollama: llama.cpp underneath, with its own defaults.
//
// Source: Ollama's documentation of context length, OLLAMA_KV_CACHE_TYPE and OLLAMA_NUM_PARALLEL, and its log lines
// "kv cache" and "compute graph" (log_reader.cpp reads them). The cache itself follows llama_cpp.cpp.
// - until 0.29 it ran some families in its own engine (fs/ggml/ggml.go, OllamaEngineRequired); since 0.30 it starts
//   llama-server for every GGUF (llm/llama_server.go).
// - num_ctx is the context of one sequence (llama.cpp's n_ctx is num_ctx * parallel). Where nobody names it: 4096 below
//   24 GiB of GPU memory, 32768 below 48 GiB, 262144 above, never more than the model's own; 4096 without a card.
// - one sequence at a time (OLLAMA_NUM_PARALLEL 1), KV float16, q8_0 or q4_0 for both.
// - num_batch 512; since 0.30 by the context of all sequences (server/sched.go, automaticGenerationBatch), and
//   llama-server's micro-batch is as large. Where the card has little room beside the model it takes a smaller one,
//   which is not planned.
#include <algorithm>

#include "engines/engine.h"
#include "engines/estimates.h"
#include "engines/launch_input.h"
#include "engines/llama_cpp/cache.h"
#include "kvplan/error.h"
#include "kvplan/strings.h"

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
     "smaller batches of a card that is nearly full"},
};
constexpr std::uint64_t kBatch = 512;

// Families whose own engine keeps more than llama.cpp would. Windows: model/models/*/model.go, NewSWAMemCache. States:
// kvcache/recurrent.go, DefaultCheckpointCount.
struct OwnEngine {
  std::initializer_list<Arch> of;
  std::uint64_t since;
  LlamaKeeps keeps;
};
const OwnEngine kOwnEngine[] = {
    {{Arch::kGptOss}, 11, {.window = 4096}},
    {{Arch::kGemma4}, 20, {.window = 4096}},
    {{Arch::kQwen3Next, Arch::kQwen3p5, Arch::kNemotronH, Arch::kLfm2}, 17, {.checkpoints = 24}},
};
constexpr std::uint64_t kLlamaServerSince = 30;

std::optional<LlamaKeeps> own_engine(const EngineInput& input) {
  const std::uint64_t version = engine_version(engine_of(input.request), input.request);
  if (version >= kLlamaServerSince) return std::nullopt;
  for (const OwnEngine& row : kOwnEngine)
    if (version >= row.since && is_one_of(input.model.arch, row.of)) return row.keeps;
  return std::nullopt;
}

// server/sched.go, generationBatchForContext.
std::uint64_t batch_for(std::uint64_t tokens) {
  return tokens > 32768 ? 2048 : tokens > 4096 ? 1024 : kBatch;
}

// Whether the batch, and with it the micro-batch, depends on the context.
bool has_batch_rule(const Request& request) {
  return !request.llama_cpp.n_batch && !request.llama_cpp.n_ubatch &&
         engine_version(engine_of(request), request) >= kLlamaServerSince;
}

// The request as the llama.cpp underneath sees it; with the batch for `load` where one is given.
Request below(const Request& request, const Load* load = nullptr) {
  Request out = request;
  if (load != nullptr && has_batch_rule(request))
    out.llama_cpp.n_batch = out.llama_cpp.n_ubatch =
        batch_for(checked_mul(load->max_model_len.count(), load->num_seqs, "the context of all sequences"));
  if (!out.llama_cpp.n_batch) out.llama_cpp.n_batch = kBatch;
  out.engine = engine_named("llama.cpp");
  out.engine_version.clear();
  return out;
}

CacheTypes resolve(const ModelShape& model, const Request& request) {
  const CacheTypes types = llama_cpp_engine().resolve_types(model, below(request));
  refuse_types(types, "ollama", {Dtype::kFloat16, Dtype::kQ8_0, Dtype::kQ4_0});
  if (types.key != types.value)
    refuse("--cache-type-k and --cache-type-v differ: Ollama has one type for both (OLLAMA_KV_CACHE_TYPE)",
           "name the same type, or use --engine llama.cpp");
  return types;
}

std::unique_ptr<CacheLayout> layout(const EngineInput& input, std::vector<Note>& notes) {
  EngineInput inner = input;
  inner.request = below(input.request);
  return llama_cpp_layout(inner, notes, own_engine(input), has_batch_rule(input.request) ? batch_for : nullptr);
}

std::vector<LedgerLine> overhead(const OverheadInput& in) {
  EngineInput inner = *in.engine;
  inner.request = below(in.engine->request, &in.load);
  inner.request.engine_version = "b7830";  // logits still have a row for each token (ollama/ollama#16416: 796 MiB)
  OverheadInput out = in;
  out.engine = &inner;
  std::vector<LedgerLine> lines = llama_cpp_engine().overhead(out);
  in.engine->memo = inner.memo;  // reused by the next question of a search
  return lines;
}

EngineSettings settings(const EngineInput& input, const Load& load) {
  EngineInput inner = input;
  inner.request = below(input.request, &load);
  return llama_cpp_settings(inner, load);
}

Tokens default_context(std::optional<Bytes> card) {
  if (!card || *card < Bytes(24 * kGiB)) return Tokens(4096);
  return *card < Bytes(48 * kGiB) ? Tokens(32768) : Tokens(262144);
}

}  // namespace

Engine ollama_engine() {
  Engine out{"ollama", "", "llama.cpp with Ollama's defaults", kVersions, 1.0, resolve, layout, overhead};
  out.kv_choices = "float16 q8_0 q4_0";
  out.weight_choices = llama_cpp_engine().weight_choices;
  out.wraps_engine = true;
  out.model_prefix = "ollama:";
  out.names_latents = llama_cpp_engine().names_latents;
  out.loading.embedding_on_host = true;
  out.loading.padding = llama_cpp_engine().loading.padding;
  out.has_scores = true;
  out.parallel.stages = llama_cpp_engine().parallel.stages;
  out.parallel.places_nextn_layers = true;
  out.default_context = default_context;
  out.settings = settings;
  out.start = Start::kEverything;
  out.options =
      "--batch --ubatch-size --kv-unified --swa-full --flash-attn --n-gpu-layers --no-kv-offload "
      "--tensor-split --tool --n-cpu-moe --cpu-moe --override-tensor --cache-type-k --cache-type-v";
  out.supports = llama_cpp_engine().supports;
  out.extras.lora = LoraStorage::kFiles;
  out.micro_batch = llama_cpp_engine().micro_batch;
  out.extras.has_projector_files = true;
  out.most_sequences = llama_cpp_engine().most_sequences;
  out.log = ollama_log();
  out.launch = ollama_launch;
  return out;
}

}  // namespace kvplan
