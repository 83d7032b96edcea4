// What the user requests: the options of the command line as plain data. If one is absent, the engine chooses.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kvplan/extras.h"
#include "kvplan/gpus.h"
#include "kvplan/quantity.h"
#include "kvplan/storage.h"

namespace kvplan {

struct Calibration;
struct Engine;

enum class FlashAttention { kAuto, kOn, kOff };
// Whether a prefill stores a matrix of scores (chunk x context x heads). kEngine: whatever the engine does.
enum class AttentionKernel { kEngine, kNaive, kFlash };

// How a model is distributed over GPUs.
struct Parallel {
  std::uint64_t tensor = 1;
  std::uint64_t pipeline = 1;
  std::uint64_t data = 1;
  std::uint64_t decode_context = 1;
  bool expert = false;
  bool balances_experts = false;        // EPLB: experts move between ranks
  std::uint64_t redundant_experts = 0;  // copies that it adds to the routed experts of each layer
  std::vector<std::uint64_t> layers;    // layers of each pipeline stage; empty: the engine decides
  bool dp_attention = false;            // SGLang: the data parallel ranks are among the tensor parallel ones
  bool given = false;                   // -tp or -pp was given: --gpu-count then starts no search for a layout
  bool operator==(const Parallel&) const = default;

  // The number of GPUs in the layout. SGLang's data parallel attention needs no additional ones.
  std::uint64_t gpus() const {
    constexpr const char* kWhat = "the number of GPUs";
    const std::uint64_t copy = checked_mul(tensor, pipeline, kWhat);
    return dp_attention ? copy : checked_mul(copy, data, kWhat);
  }
};

// The GPUs that a plan is for.
struct CardRequest {
  const Gpu* gpu = nullptr;             // of the catalogue
  std::optional<Bytes> memory;          // of one GPU
  std::vector<const Gpu*> mixed;        // different GPUs, in order; `gpu` is the smallest
  std::string note;                     // --gpu auto: the GPUs that were found, for the report
  std::uint64_t count = 1;              // GPUs available
  bool count_given = false;             // --gpu-count was given: a suggestion with another number must say so
  std::optional<std::string> measured;  // --measure: the device's name, if no GPU is named
  std::optional<double> bandwidth;      // 10^9 bytes per second; absent: the GPU's
  std::optional<double> tflops;         // dense, of the compute type; absent: the GPU's
  std::optional<Bytes> host_memory;  // of the machine around them, for what the engine keeps there; absent: not judged
  std::optional<double> host_bandwidth;           // of that memory, 10^9 bytes per second
  std::shared_ptr<const GpuCatalogue> catalogue;  // null: the built-in GPUs
  bool operator==(const CardRequest&) const = default;

  const GpuCatalogue& known() const { return catalogue ? *catalogue : built_in_catalogue(); }
  std::string name_or(std::string_view other) const { return std::string(gpu != nullptr ? gpu->name : other); }
  std::vector<std::string> mixed_names() const {
    std::vector<std::string> out;
    for (const Gpu* each : mixed) out.emplace_back(each->name);
    return out;
  }
  bool is_unified() const { return gpu != nullptr && gpu->unified; }
  bool is_amd() const { return gpu != nullptr && gpu->vendor == "AMD"; }
  // The compute capability of an NVIDIA GPU, as in Gpu::capability; 0 for others.
  std::uint32_t capability() const { return gpu != nullptr && gpu->vendor == "NVIDIA" ? gpu->capability : 0; }
};

// Memory of a GPU to keep free: the larger of a size and a fraction of the GPU.
struct Reserve {
  Bytes bytes;
  double share = 0;
  bool operator==(const Reserve&) const = default;

  Bytes of(Bytes card) const {
    return std::max(bytes, Bytes(static_cast<std::uint64_t>(static_cast<double>(card.count()) * share)));
  }
};

// Limits for CI, and memory to keep free.
struct Limits {
  std::optional<Bytes> max_vram;
  std::optional<Tokens> min_context;
  std::optional<std::uint64_t> min_seqs;
  bool no_offload = false;         // nothing that fits a GPU may be in main memory
  std::optional<Reserve> reserve;  // absent: the verdict keeps none free, suggestions keep the engine's usual one
  bool operator==(const Limits&) const = default;
};

enum class LlamaBackend : std::uint8_t { kByCard, kCuda, kRocm, kVulkan, kSycl, kMetal };

// --split-mode: whole layers on each GPU, each layer's matrices by rows, or all tensors and the cache by heads.
enum class LlamaSplit : std::uint8_t { kLayer, kRow, kTensor };

inline constexpr std::uint64_t kEveryLayer = 999999;  // -ngl all, --cpu-moe

// Who places layers for which no option says so: the engine as its release does it, llama.cpp's fit in any release, or
// nobody (everything is on the GPUs).
enum class Placement : std::uint8_t { kUsual, kFit, kNone };

// Options that only llama.cpp (and ollama, which runs it) has.
struct LlamaCppOptions {
  std::optional<Tokens> ctx_size;                  // n_ctx: the total over all slots
  std::optional<std::uint64_t> n_batch, n_ubatch;  // tokens of a batch, and of those that pass the layers at once
  bool kv_unified = false;
  bool swa_full = false;
  FlashAttention flash_attention = FlashAttention::kAuto;
  LlamaBackend backend = LlamaBackend::kByCard;
  std::optional<std::uint64_t> gpu_layers;  // -ngl
  Placement placement = Placement::kUsual;  // kFit: -ngl auto; kNone: --no-offload, --fit off
  // --n-cpu-moe: the first layers, this many, keep their experts on the host.
  std::optional<std::uint64_t> cpu_moe_layers;
  bool no_kv_offload = false;
  std::optional<Bytes> cache_ram;            // --cache-ram: the most host memory for states of earlier prompts
  std::optional<std::uint64_t> checkpoints;  // --ctx-checkpoints: the most copies of a slot's states in host memory
  std::vector<Bytes> fit_target;             // --fit-target: what --fit leaves free, of each GPU or of all
  std::optional<Tokens> fit_ctx;             // --fit-ctx: the shortest context that --fit chooses
  std::vector<double> tensor_split;          // -ts: parts of the GPUs; empty: as even as the layers allow
  LlamaSplit split = LlamaSplit::kLayer;
  std::optional<std::uint64_t> only_gpu;  // --split-mode none: the one GPU of the machine that it uses
  bool all_logits = false;  // --tool cli: logits of every token of a batch, not only of the slots' last ones
  bool operator==(const LlamaCppOptions&) const = default;
};

// Options that only vLLM has.
struct VllmOptions {
  std::optional<std::string> mamba_cache_mode;  // none, align, all
  bool hybrid_manager = true;
  std::optional<Bytes> host_kv_cache;  // a second cache in host memory, for all ranks together
  std::optional<Bytes> swap_space;     // V0's, per GPU
  std::optional<std::string> all2all_backend;
  bool engram_on_gpu = false;                     // n-gram tables, which are in host memory by default
  std::optional<std::uint64_t> mamba_block_size;  // tokens between two saved states
  std::string graph_mode;                         // cudagraph_mode; "": the release's
  bool sleeps = false;                            // --enable-sleep-mode: it can leave the GPU to another engine
  bool operator==(const VllmOptions&) const = default;
};

// SGLang's HiCache, a second cache in host memory.
struct SglangOptions {
  bool host_cache = false;
  std::optional<Bytes> host_cache_size;    // of each rank
  std::optional<double> host_cache_ratio;  // its tokens for each token on the GPU
  bool deepep = false;                     // --moe-a2a-backend deepep: ranks send tokens to the experts of others
  bool operator==(const SglangOptions&) const = default;
};

struct TransformersOptions {
  std::optional<std::string> cache_implementation;  // which of transformers' caches; absent: dynamic
  bool device_map = false;                          // device_map="auto": what does not fit stays in main memory
  bool operator==(const TransformersOptions&) const = default;
};

struct MlxOptions {
  std::optional<Tokens> max_kv_size;           // every layer keeps the first and the last tokens, this many in all
  std::optional<std::uint64_t> prompt_caches;  // --prompt-cache-size: caches of earlier prompts that the server keeps
  std::optional<Bytes> prompt_cache_bytes;     // --prompt-cache-bytes: and their most memory
  bool operator==(const MlxOptions&) const = default;
};

// What an engine's own command says besides a plan's options (src/launch).
struct CommandRequest {
  std::vector<std::string> unmodelled;  // options that can raise the GPU memory, so there is no verdict
  std::string refusal, cure;            // why the engine refuses it: "unrecognized arguments: --x"
  bool is_rocm = false;                 // its container is for AMD's GPUs
  bool wants_v0 = false;                // vLLM: VLLM_USE_V1=0, which 0.11 dropped
  std::optional<bool> allows_longer;    // contexts beyond the model's maximum; absent: no command
  bool names_nvfp4 = false;             // SGLang: --quantization modelopt_fp4
  bool operator==(const CommandRequest&) const = default;
};

struct Request {
  const Engine* engine = nullptr;  // from the table of engines; null: no engine, only what the architecture needs
  std::string engine_version;      // "" for the newest known
  std::string turned_rule;         // a rule of the engine that is planned as on the other side of its change

  // The load.
  std::optional<Tokens> max_model_len;        // of one sequence
  bool longest = false;                       // plan for the longest context that fits instead
  std::uint64_t num_seqs = 1;                 // live sequences, each at full length
  std::optional<std::uint64_t> max_num_seqs;  // the scheduler's cap, which affects logits, graphs and state slots
  bool users = false;                         // num_seqs are concurrent users, spread over as many copies as they need
  std::optional<Tokens> encoder_len;          // source tokens of one sequence
  std::optional<Tokens> max_num_batched_tokens;  // prefill chunk

  // Sequences of different lengths, planned in addition: contiguous, paged, and with a shared prefix.
  std::vector<Tokens> seq_lens;
  std::optional<Tokens> avg_len;        // of each of num_seqs sequences
  std::optional<Tokens> shared_prefix;  // tokens at the beginning of all sequences

  // Types.
  std::optional<std::string> weights;               // weight type; absent: the checkpoint's
  std::optional<Dtype> dtype;                       // compute type
  std::optional<Dtype> cache_type_k, cache_type_v;  // absent: auto
  std::optional<Dtype> state_dtype;                 // --mamba-ssm-cache-dtype

  Parallel parallel;

  // How the engine runs.
  std::optional<std::uint64_t> block_size;
  std::optional<bool> prefix_caching;
  bool enforce_eager = false;
  std::optional<Bytes> cpu_offload;  // of the layers' weights, per GPU (vLLM, SGLang)
  AttentionKernel attention = AttentionKernel::kEngine;
  LlamaCppOptions llama_cpp;
  VllmOptions vllm;
  SglangOptions sglang;
  TransformersOptions transformers;
  MlxOptions mlx;

  // What is loaded in addition to the model.
  std::uint64_t num_speculative_tokens = 0;
  bool mtp = false;
  ExtrasRequest extras;

  // The budget.
  CardRequest card;
  std::optional<double> memory_utilization;    // fraction of the GPU that the engine may use
  std::optional<Bytes> kv_cache_memory_bytes;  // the KV budget itself, per GPU
  std::optional<double> margin;  // half the range of every estimate, as a fraction; absent if each keeps its own range
  std::shared_ptr<const Calibration> calibration;  // figures that replace estimates where GPU and engine match
  Limits limits;

  CommandRequest command;

  bool operator==(const Request&) const = default;

  // Live sequences, including every beam and sample.
  std::uint64_t sequences() const { return checked_mul(num_seqs, extras.copies(), "the sequences"); }
};

}  // namespace kvplan
