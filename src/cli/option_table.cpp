// The table of options, used by the help, completions, the man page and the parser.
#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>

#include "cli/arguments.h"
#include "cli/extras_options.h"
#include "engines/engine.h"
#include "formats/own_files.h"
#include "kvplan/error.h"
#include "kvplan/strings.h"
#include "report/report.h"
#include "weights/weigh.h"

namespace kvplan {

using std::string_view;

// How a row sets its part of the call.
using R = Request;
using C = CardRequest;
using E = ExtrasRequest;
using L = LlamaCppOptions;
using M = MeasuringOptions;
using P = Parallel;
using W = Workload;

template <class Owner, class Member>
Owner owner_of(Member Owner::*);

// The member, in the part of the call that it belongs to.
template <auto member>
static auto& member_of(Invocation& call) {
  Request& request = call.request;
  const auto parts = std::tie(call, call.measuring, call.workload, call.source.read, call.source.hub, request,
                              request.card, request.limits, request.parallel, request.extras, request.llama_cpp,
                              request.vllm, request.transformers, request.mlx, request.sglang);
  return std::get<decltype(owner_of(member))&>(parts).*member;
}

// What most options do: set<parse_count, &R::num_seqs> parses the text and sets a member to the result.
template <auto read, auto member>
static void set(Invocation& call, string_view value, string_view name) {
  member_of<member>(call) = read(value, name);
}
// The same for each part of a list.
template <auto read, auto member>
static void set_list(Invocation& call, string_view list, string_view name) {
  auto& out = member_of<member>(call);
  out.clear();
  for (const string_view part : parts_of(list, ',')) out.push_back(read(part, name));
}
template <auto member>
static void flag(Invocation& call, string_view, string_view) {
  member_of<member>(call) = true;
}
// One of the words that the option's row lists, and the member's value for each of them.
template <auto member, auto... values>
static void choose(Invocation& call, string_view value, string_view name) {
  member_of<member>(call) = std::array{values...}[chosen(value, name, find_option(name)->value)];
}
static std::string one_of(string_view value, string_view name) {
  chosen(value, name, find_option(name)->value);
  return std::string(value);
}
// Backends whose buffers are modelled, or that need no additional buffers.
static std::string parse_all2all(string_view text, string_view option) {
  chosen(text, option, "deepep_low_latency|deepep_high_throughput|allgather_reducescatter");
  return std::string(text);
}
template <std::uint64_t Parallel::*ranks>
static void set_layout(Invocation& call, string_view value, string_view name) {
  call.request.parallel.*ranks = parse_count(value, name);
  call.request.parallel.given = true;
}

static std::string as_typed(string_view value, string_view) {
  return std::string(value);
}
static std::string not_empty(string_view value, string_view name, string_view remedy, string_view what = "name") {
  if (value.empty()) fail(std::string(name) + ": an empty " + std::string(what), remedy);
  return std::string(value);
}
static std::uint64_t parse_copies(string_view value, string_view name) {
  constexpr std::uint64_t kMost = 1024;
  const std::uint64_t count = parse_count(value, name);
  if (count > kMost)
    fail(std::string(name) + ": " + std::to_string(count) + " is more than kvplan plans", "use at most 1024");
  return count;
}
static double parse_percent_as_share(string_view value, string_view name) {
  return parse_percent(value, name) / 100;
}
static std::uint64_t parse_count_or_none(string_view value, string_view name) {
  return value == "0" ? 0 : parse_count(value, name);
}

static Bytes parse_mib(string_view value, string_view name) {
  return Bytes(checked_mul(parse_count_or_none(value, name), kMiB, name));
}
static bool is_auto(string_view value) {
  return value == "auto";
}

// "exps=CPU": a pattern, with or without dots and anchors. Patterns for single layers are not supported.
static void override_tensors(Invocation& call, string_view value, string_view name) {
  const auto equals = value.rfind('=');
  const string_view pattern = value.substr(0, equals);
  const bool to_host = equals != string_view::npos && value.substr(equals + 1) == "CPU";
  const bool has_digit = pattern.find_first_of("0123456789") != string_view::npos;
  const bool all_parts = pattern.find("ffn_up") == string_view::npos && pattern.find("ffn_down") == string_view::npos &&
                         pattern.find("ffn_gate") == string_view::npos;
  if (!to_host || has_digit || !all_parts || pattern.find("exps") == string_view::npos)
    fail(std::string(name) + ": \"" + one_line(value, 60) + "\" is not a pattern of all experts",
         "use exps=CPU, or --n-cpu-moe N for the first N layers");
  call.request.llama_cpp.cpu_moe_layers = kEveryLayer;
}

// "3,1", also with "/" between the numbers.
static void split_tensors(Invocation& call, string_view value, string_view name) {
  std::string list(value);
  std::replace(list.begin(), list.end(), '/', ',');
  std::vector<double>& shares = call.request.llama_cpp.tensor_split;
  shares.clear();
  for (const string_view word : parts_of(list, ',')) {
    double share = -1;
    const auto [rest, error] = parse_real(word, share);
    if (error != std::errc() || rest != word.data() + word.size() || !(share >= 0 && share <= 1e9))
      fail(std::string(name) + ": \"" + one_line(value, 40) + "\" is not a list of proportions",
           "write for example 3,1");
    shares.push_back(share);
  }
  if (std::accumulate(shares.begin(), shares.end(), 0.0) <= 0)
    fail(std::string(name) + ": all proportions are 0", "write for example 3,1");
}

// Also decides llama.cpp's --flash-attn.
static void set_attention(Invocation& call, string_view value, string_view name) {
  const bool naive = chosen(value, name, "naive|flash") == 0;
  call.request.attention = naive ? AttentionKernel::kNaive : AttentionKernel::kFlash;
  call.request.llama_cpp.flash_attention = naive ? FlashAttention::kOff : FlashAttention::kOn;
}

constexpr string_view kLoad = "Request";
constexpr string_view kWorkload = "Workload";
constexpr string_view kTypes = "Types";
constexpr string_view kLayout = "Parallelism";
constexpr string_view kCard = "GPU and limits";
constexpr string_view kMeasuring = "Measuring";
constexpr string_view kVllm = "vLLM";
constexpr string_view kLlama = "llama.cpp";
constexpr string_view kExtras = "Extras";
constexpr string_view kSglang = "SGLang";
constexpr string_view kMlx = "MLX";
constexpr string_view kOutput = "Output";
constexpr string_view kHub = "Hub";

constexpr Option kOptions[]{
    {"--engine", "E[,E...]", kLoad,
     "vllm, sglang ... (kvplan engines), or a release: vllm@0.20; default: logical, without an engine", set_engines},
    {"--max-model-len --context --context-length", "N", kLoad,
     "tokens per sequence (32k, 1M); auto: the longest that fits",
     [](Invocation& c, string_view v, string_view n) {
       c.longest_context = is_auto(v);
       if (!c.longest_context) c.request.max_model_len = Tokens(parse_count(v, n));
     }},
    {"--ctx-size -c", "N", kLoad, "the same; llama.cpp: the total of all slots", set<parse_tokens, &L::ctx_size>},
    // Must come before --num-seqs, which then means the number per copy.
    {"--users", "N", kLoad, "concurrent users; kvplan fit finds the GPUs they need",
     [](Invocation& c, string_view v, string_view n) {
       c.request.num_seqs = parse_count(v, n);
       c.request.users = true;
     }},
    {"--num-seqs --parallel -np", "N", kLoad, "sequences at once, full length (default 1)",
     set<parse_count, &R::num_seqs>},
    {"--max-num-seqs", "N", kLoad,
     "the scheduler's limit; affects CUDA graphs and logits, not the KV cache (--num-seqs)",
     set<parse_count, &R::max_num_seqs>},
    // Must come before llama.cpp's own option --flash-attn, which then takes precedence.
    {"--attention", "naive|flash", kLoad, "attention kernel, to estimate activations", set_attention},
    {"--max-num-batched-tokens --chunked-prefill-size", "N", kLoad, "tokens per prefill chunk",
     set<parse_tokens, &R::max_num_batched_tokens>},
    {"--encoder-len", "N", kLoad, "source tokens for cross attention", set<parse_tokens, &R::encoder_len>},
    {"--seq-lens", "N,N,...", kLoad, "sequence lengths to plan for, instead of all at full length",
     set_list<parse_tokens, &R::seq_lens>},
    {"--avg-len", "N", kLoad, "average tokens per sequence, instead of all at full length",
     set<parse_tokens, &R::avg_len>},
    {"--shared-prefix", "N", kLoad, "tokens of a prefix that all sequences share, stored once",
     set<parse_tokens, &R::shared_prefix>},

    {"--prompt-len", "N", kWorkload, "tokens per prompt, in each turn", set<parse_count, &W::prompt>},
    {"--output-len", "N", kWorkload, "tokens per answer", set<parse_count, &W::output>},
    {"--turns", "N", kWorkload, "turns per conversation; each turn makes it longer (default 1)",
     set<parse_copies, &W::turns>},
    {"--think-time", "S", kWorkload, "seconds between an answer and the next turn", set<parse_rate, &W::think_time>},
    {"--prefix-hit-rate", "P%", kWorkload, "waiting users whose history stays in the KV cache",
     set<parse_percent_as_share, &W::hit_rate>},
    {"--qps", "N", kWorkload, "turns per second; needs --tokens-per-second for a verdict", set<parse_rate, &W::qps>},
    {"--tokens-per-second", "N", kWorkload, "speed of one sequence under load, as you measured it",
     set<parse_rate, &W::tokens_per_s>},
    {"--price", "P", kWorkload, "fit: price per GPU hour, in any currency", set<parse_rate, &W::price>},

    {"--weights --quantization -q", "W[,W...]", kTypes, "weight type (default: the checkpoint's)", set_weights},
    {"--dtype", "T", kTypes, "compute type", set<type_or_auto, &R::dtype>},
    {"--kv-cache-dtype --kv", "T[,T...]", kTypes, "KV type (default auto); see kvplan dtypes", set_kv_types},
    {"--cache-type-k -ctk", "T", kTypes, "the type of K", set<type_or_auto, &R::cache_type_k>},
    {"--cache-type-v -ctv", "T", kTypes, "the type of V", set<type_or_auto, &R::cache_type_v>},
    {"--cache-implementation", "dynamic|static|quantized|offloaded|offloaded_static", kTypes, "transformers' cache",
     set<as_typed, &TransformersOptions::cache_implementation>},
    {"--device-map", "auto", kTypes, "transformers: layers that do not fit on the GPUs stay in main memory",
     [](Invocation& c, string_view value, string_view option) {
       if (value != "auto") refuse(std::string(option) + ": kvplan plans auto only", "leave it out, or name auto");
       c.request.transformers.device_map = true;
     }},
    {"--mamba-ssm-cache-dtype", "T", kTypes, "the type of recurrent states", set<type_or_auto, &R::state_dtype>},

    {"--tensor-parallel-size --tp -tp", "N", kLayout, "tensor parallel ranks", set_layout<&P::tensor>},
    {"--pipeline-parallel-size --pp -pp", "N", kLayout, "pipeline stages", set_layout<&P::pipeline>},
    {"--data-parallel-size --dp -dp", "N", kLayout, "data parallel copies", set<parse_count, &P::data>},
    {"--decode-context-parallel-size --dcp -dcp", "N", kLayout, "ranks that split the tokens of a sequence",
     set<parse_count, &P::decode_context>},
    {"--enable-expert-parallel", "", kLayout, "distribute whole experts over the ranks", flag<&P::expert>},
    {"--enable-dp-attention", "", kLayout, "SGLang: data parallel attention within the tensor parallel ranks",
     flag<&P::dp_attention>},

    // Must come before --gpu, which looks up GPUs, because options apply in the order of this table.
    {"--gpu-file", "FILE", kCard, "your own GPUs, in the form that kvplan gpus --json prints",
     [](Invocation& c, string_view v, string_view) {
       c.request.card.catalogue = std::make_shared<GpuCatalogue>(read_gpu_file(std::string(v)));
     }},
    {"--gpu", "NAME[,...]", kCard, "rtx-4090, h100-80gb (kvplan gpus), auto or none", set_gpus},
    {"--gpu-memory", "SIZE", kCard, "memory of a GPU that kvplan does not know: 24GiB", set<parse_size, &C::memory>},
    {"--gpu-count", "N", kCard, "number of GPUs, in the layout that fits best",
     [](Invocation& c, string_view v, string_view n) {
       c.request.card.count = parse_count(v, n);
       c.request.card.count_given = true;
     }},
    {"--gpu-memory-utilization --mem-fraction-static", "F", kCard, "fraction of GPU memory that the engine may use",
     set<parse_share, &R::memory_utilization>},
    {"--reserve", "SIZE|P%", kCard, "memory to leave free on each GPU (suggestions leave 1GiB or 1%)",
     [](Invocation& c, string_view v, string_view n) {
       c.request.limits.reserve =
           v.ends_with('%') ? Reserve{Bytes(0), parse_percent(v, n) / 100} : Reserve{parse_size_or_none(v, n), 0};
     }},
    {"--kv-cache-memory-bytes", "SIZE", kCard, "KV cache budget per GPU, instead of a fraction",
     set<parse_size, &R::kv_cache_memory_bytes>},
    {"--margin", "P%", kCard, "use +-P% for every estimate",
     [](Invocation& c, string_view v, string_view n) {
       const double percent = parse_percent(v, n);
       if (percent > 100) fail(std::string(n) + ": more than 100%", "give 0% to 100%");
       c.request.margin = percent / 100;
     }},
    {"--gpu-bandwidth", "GB/s", kCard, "memory bandwidth, overrides the catalogue", set<parse_rate, &C::bandwidth>},
    {"--gpu-tflops", "N", kCard, "dense 16-bit TFLOPS, for the time to the first token", set<parse_rate, &C::tflops>},
    {"--host-memory", "SIZE", kCard, "main memory (RAM), to check what the engine keeps there",
     set<parse_size, &C::host_memory>},
    {"--host-bandwidth", "GB/s", kCard, "bandwidth of main memory (default 100)", set<parse_rate, &C::host_bandwidth>},
    {"--no-offload", "", kCard, "limit: exit 1 unless everything is on the GPUs", flag<&Limits::no_offload>},
    {"--max-vram", "SIZE", kCard, "limit: exit 1 if a GPU needs more", set<parse_size, &Limits::max_vram>},
    {"--min-context", "N", kCard, "limit: exit 1 if fewer tokens fit", set<parse_tokens, &Limits::min_context>},
    {"--min-seqs", "N", kCard, "limit: exit 1 if fewer sequences fit", set<parse_count, &Limits::min_seqs>},
    {"--fail-over", "SIZE|P%", kCard, "diff: exit 1 if the total grew by more",
     [](Invocation& c, string_view v, string_view n) {
       if (v.ends_with('%'))
         c.fail_over.percent = parse_percent(v, n);
       else
         c.fail_over.bytes = parse_size_or_none(v, n);
     }},

    {"--measure", "", kMeasuring, "allocate the planned cache on a device, and compare", flag<&M::wanted>},
    {"--device", "cuda:0|hip:0|host", kMeasuring, "device to measure on (default: the first GPU); host: main memory",
     [](Invocation& c, string_view v, string_view n) {
       c.measuring.device = not_empty(v, n, "use cuda:0, hip:0 or host");
     }},
    {"--measure-max", "", kMeasuring, "like --measure, and find the largest context that can be allocated",
     [](Invocation& c, string_view, string_view) { c.measuring.wanted = c.measuring.find_maximum = true; }},
    {"--watch", "", kMeasuring, "measure: start the engine command after -- and watch it", flag<&M::watch>},
    {"--pid", "N", kMeasuring, "measure: watch a running engine", set<parse_count, &M::pid>},
    {"--keep", "", kMeasuring, "measure: leave the engine running afterwards", flag<&M::keep>},
    {"--share", "", kMeasuring, "measure: use the GPU even if other programs use it", flag<&M::share>},
    {"--tolerance", "P%", kMeasuring, "exit 1 if an unexplained difference is larger (default 1 %)",
     set<parse_percent_as_share, &M::tolerance>},
    {"--save-calibration", "FILE", kMeasuring, "save what was measured, or read from a log, for later plans",
     [](Invocation& c, string_view v, string_view n) {
       c.measuring.save = not_empty(v, n, "name a file, or default");
     }},
    {"--said", "FIGURES", kMeasuring, "verify: the engine's figures, for --save-calibration", set<as_typed, &M::said>},
    {"--calibration", "FILE", kMeasuring, "use saved measurements (none: ignore)",
     [](Invocation& c, string_view v, string_view n) {
       c.measuring.calibration = not_empty(v, n, "name a file, or none");
     }},

    {"--enable-eplb", "", kVllm, "vLLM: balance the experts' load; keeps one layer's experts twice",
     flag<&P::balances_experts>},
    {"--num-redundant-experts", "N", kVllm, "vLLM, SGLang: extra copies of experts per layer",
     set<parse_redundant_experts, &P::redundant_experts>},
    {"--all2all-backend", "NAME", kVllm, "vLLM: how ranks exchange the tokens of experts",
     set<parse_all2all, &VllmOptions::all2all_backend>},
    {"--engram-on-gpu", "", kVllm, "vLLM: n-gram tables on the GPUs, not in host memory",
     flag<&VllmOptions::engram_on_gpu>},
    {"--block-size", "N", kVllm, "tokens per block of the KV cache", set<parse_count, &R::block_size>},
    {"--enable-prefix-caching --no-enable-prefix-caching", "", kVllm,
     "prefix caching, which can keep more states per sequence",
     [](Invocation& c, string_view, string_view n) { c.request.prefix_caching = !n.starts_with("--no-"); }},
    {"--pp-layer-partition", "A,B,...", kVllm, "layers of each pipeline stage (VLLM_PP_LAYER_PARTITION; SGLang too)",
     set_list<parse_count, &P::layers>},
    {"--mamba-block-size", "N", kVllm, "fewest tokens between two states that --mamba-cache-mode all keeps",
     set<parse_count, &VllmOptions::mamba_block_size>},
    {"--enable-sleep-mode", "", kVllm, "A + B: one engine is awake at a time, the others sleep",
     flag<&VllmOptions::sleeps>},
    {"--mamba-cache-mode", "none|align|all", kVllm, "which recurrent states prefix caching keeps",
     set<as_typed, &VllmOptions::mamba_cache_mode>},
    {"--cudagraph-mode", "piecewise|full|full_decode_only", kVllm, "which CUDA graphs are captured (default: both)",
     set<one_of, &VllmOptions::graph_mode>},
    {"--cudagraph-capture-sizes", "N,N,...", kVllm, "batch sizes that CUDA graphs are captured for",
     set_list<parse_count, &E::graph_sizes>},
    {"--mm-encoder-tp-mode", "weights|data", kVllm, "data: every rank has the whole vision encoder",
     choose<&E::whole_towers, false, true>},
    {"--language-model-only", "", kVllm, "text only: vision and audio encoders are not loaded",
     flag<&E::language_model_only>},
    {"--disable-hybrid-kv-cache-manager", "", kVllm, "sliding windows cache the full length",
     [](Invocation& c, string_view, string_view) { c.request.vllm.hybrid_manager = false; }},
    {"--cpu-offload-gb", "N", kVllm, "GiB of weights per GPU in host memory (also SGLang)",
     set<parse_gib, &R::cpu_offload>},
    {"--kv-offloading-size", "N", kVllm, "GiB of host memory for the KV cache, for all ranks",
     set<parse_gib, &VllmOptions::host_kv_cache>},
    {"--swap-space", "N", kVllm, "V0: GiB of host memory per GPU for the KV cache (default 4)",
     set<parse_gib, &VllmOptions::swap_space>},
    {"--enforce-eager", "", kVllm, "no CUDA graphs", flag<&R::enforce_eager>},
    {"--fully-sharded-loras", "", kVllm, "split both LoRA matrices over the ranks", flag<&E::fully_sharded_loras>},
    {"--limit-mm-per-prompt", "image=N,...", kVllm, "images and videos per prompt; 0: none", apply_mm_limits},

    {"--batch --batch-size -b", "N", kLlama, "n_batch", set<parse_count, &L::n_batch>},
    {"--ubatch-size -ub", "N", kLlama, "n_ubatch", set<parse_count, &L::n_ubatch>},
    {"--kv-unified -kvu", "", kLlama, "the slots share one pool", flag<&L::kv_unified>},
    {"--swa-full", "", kLlama, "sliding windows cache every token", flag<&L::swa_full>},
    {"--flash-attn -fa", "on|off|auto", kLlama, "flash attention",
     choose<&L::flash_attention, FlashAttention::kOn, FlashAttention::kOff, FlashAttention::kAuto>},
    {"--backend", "cuda|rocm|vulkan|sycl|metal", kLlama, "backend of the build (default: the usual one for the GPU)",
     choose<&L::backend, LlamaBackend::kCuda, LlamaBackend::kRocm, LlamaBackend::kVulkan, LlamaBackend::kSycl,
            LlamaBackend::kMetal>},
    {"--n-gpu-layers -ngl", "N", kLlama, "layers on the GPU, all, or auto: llama.cpp chooses",
     [](Invocation& c, string_view v, string_view n) {
       c.request.llama_cpp.placement = is_auto(v) ? Placement::kFit : Placement::kUsual;
       c.request.llama_cpp.gpu_layers.reset();
       if (!is_auto(v) && v != "-1")
         c.request.llama_cpp.gpu_layers = v == "all" ? kEveryLayer : parse_count_or_none(v, n);
     }},
    {"--n-cpu-moe -ncmoe", "N", kLlama, "the experts of the first N layers stay in host memory",
     set<parse_count_or_none, &L::cpu_moe_layers>},
    {"--cpu-moe -cmoe", "", kLlama, "all experts stay in host memory",
     [](Invocation& c, string_view, string_view) { c.request.llama_cpp.cpu_moe_layers = kEveryLayer; }},
    {"--override-tensor -ot", "P=CPU", kLlama, "exps=CPU: as --cpu-moe; for some layers use -ncmoe", override_tensors},
    {"--no-kv-offload -nkvo", "", kLlama, "the KV cache stays in host memory", flag<&L::no_kv_offload>},
    {"--cache-ram -cram", "MIB", kLlama, "host memory for the cache of earlier prompts (default 8192; 0: none)",
     [](Invocation& c, string_view v, string_view n) {
       constexpr std::uint64_t kMostMib = 1 << 20;  // -1: no limit
       const std::uint64_t mib = v == "-1" ? kMostMib : std::min(kMostMib, parse_count_or_none(v, n));
       c.request.llama_cpp.cache_ram = Bytes(mib * kMiB);
     }},
    {"--ctx-checkpoints -ctxcp --swa-checkpoints", "N", kLlama,
     "copies of a slot's states and windows in host memory (default 32)", set<parse_count_or_none, &L::checkpoints>},
    {"--fit-target -fitt", "MIB", kLlama,
     "GPU memory that automatic placement leaves free, for all GPUs or A,B per GPU (default 1024)",
     set_list<parse_mib, &L::fit_target>},
    {"--fit-ctx -fitc", "N", kLlama, "the shortest context that automatic placement chooses (default 4096)",
     set<parse_tokens, &L::fit_ctx>},
    {"--tensor-split -ts", "A,B", kLlama, "how -pp splits the model over the GPUs, as 3,1", split_tensors},
    {"--split-mode -sm", "none|layer|row|tensor", kLlama,
     "how several GPUs divide the model; none: one of them, which --main-gpu names",
     [](Invocation& c, string_view v, string_view n) {
       choose<&L::split, LlamaSplit::kLayer, LlamaSplit::kLayer, LlamaSplit::kRow, LlamaSplit::kTensor>(c, v, n);
       c.request.llama_cpp.only_gpu = v == "none" ? std::optional<std::uint64_t>(0) : std::nullopt;
     }},
    {"--main-gpu -mg", "N", kLlama, "the GPU of --split-mode none, counted from 0",
     [](Invocation& c, string_view v, string_view n) {
       if (auto& gpu = c.request.llama_cpp.only_gpu) gpu = parse_count_or_none(v, n);
     }},
    {"--tool", "server|cli", kLlama, "llama-server (logits of the last token per slot) or llama-cli (of all tokens)",
     choose<&L::all_logits, false, true>},
    {"--ctx-size-draft -cd", "N", kLlama, "context length of the draft model", set<parse_tokens, &E::draft_ctx>},
    {"--cache-type-k-draft -ctkd", "T", kLlama, "the type of the draft's K", set<type_or_auto, &E::draft_cache_type_k>},
    {"--cache-type-v-draft -ctvd", "T", kLlama, "the type of the draft's V", set<type_or_auto, &E::draft_cache_type_v>},

    {"--max-kv-size", "N", kMlx, "at most N tokens per layer: the first 4 and the latest",
     set<parse_tokens, &MlxOptions::max_kv_size>},
    {"--prompt-cache-size", "N", kMlx, "caches of earlier prompts that mlx_lm.server keeps",
     set<parse_count_or_none, &MlxOptions::prompt_caches>},
    {"--prompt-cache-bytes", "SIZE", kMlx, "the most memory of these caches",
     set<parse_size, &MlxOptions::prompt_cache_bytes>},

    {"--enable-hierarchical-cache", "", kSglang, "HiCache: a second cache in host memory",
     flag<&SglangOptions::host_cache>},
    {"--hicache-ratio", "R", kSglang, "HiCache's tokens per token in the GPU's cache (default 2)",
     set<parse_rate, &SglangOptions::host_cache_ratio>},
    {"--hicache-size", "GB", kSglang, "HiCache's size per rank in 10^9 bytes, instead of the ratio",
     [](Invocation& c, string_view v, string_view n) {
       c.request.sglang.host_cache_size = Bytes(static_cast<std::uint64_t>(parse_rate(v, n) * 1e9));
     }},
    {"--speculative-num-draft-tokens", "N", kSglang, "tokens verified at once", set<parse_count, &E::verify_tokens>},
    {"--mamba-scheduler-strategy", "no_buffer|extra_buffer|extra_buffer_lazy", kSglang,
     "states that a request keeps for its prefix cache", set<as_typed, &E::mamba_strategy>},
    {"--moe-a2a-backend", "none|deepep", kSglang, "deepep: each rank has whole experts and buffers to exchange tokens",
     [](Invocation& c, string_view v, string_view n) {
       choose<&SglangOptions::deepep, false, true>(c, v, n);
       c.request.parallel.expert = c.request.parallel.expert || c.request.sglang.deepep;  // ep_size = tp_size
     }},
    {"--disable-radix-cache", "", kSglang, "no prefix cache; one recurrent state per request",
     flag<&E::disable_radix_cache>},
    {"--swa-full-tokens-ratio", "R", kSglang, "sliding-window tokens per full-attention token",
     set<parse_share, &E::swa_ratio>},
    {"--max-mamba-cache-size", "N", kSglang, "slots for recurrent states", set<parse_count, &E::state_slots>},
    {"--max-total-tokens", "N", kSglang, "most tokens in the KV pool", set<parse_count, &E::max_total_tokens>},
    {"--disable-hybrid-swa-memory", "", kSglang, "sliding windows cache every token, in the common pool",
     flag<&E::one_pool>},
    {"--cuda-graph-max-bs --cuda-graph-max-bs-decode --max-cudagraph-capture-size", "N", kSglang,
     "largest batch with a CUDA graph (also vLLM)", set<parse_count, &E::graph_batch>},
    {"--attention-backend", "NAME", kSglang, "attention kernels; the GPU and the model must support them (also vLLM)",
     set<as_typed, &E::attention_backend>},
    {"--moe-runner-backend", "NAME", kSglang, "kernels of experts", set<as_typed, &E::moe_runner>},

    {"--draft --draft-model --model-draft --speculative-draft-model-path -md", "MODEL", kExtras,
     "a draft model, EAGLE, DFlash, DSpark or Medusa heads",
     [](Invocation& c, string_view v, string_view n) {
       c.draft = not_empty(v, n, "name a config.json, a *.gguf or a Hub id");
     }},
    {"--speculative-method --speculative-algorithm --spec-type",
     "draft_model|eagle|eagle3|dflash|dspark|mtp|medusa|ngram", kExtras,
     "the drafting method (default: follows from --draft)", apply_speculative_method},
    {"--speculative-config", "JSON", kExtras, "the same, as vLLM's JSON", apply_speculative_config},
    {"--num-speculative-tokens --speculative-num-steps --draft-max", "N", kExtras, "draft tokens per step",
     set<parse_count, &R::num_speculative_tokens>},
    {"--mtp", "", kExtras, "plan the model's own MTP layers too", flag<&R::mtp>},
    {"--draft-weights", "W", kExtras, "weight type of the draft (default: its checkpoint's)",
     [](Invocation& c, string_view v, string_view n) {
       check_weight_type(v, n);
       c.request.extras.draft_weights = std::string(v);
     }},
    {"--lora --lora-paths --adapter-path", "FILE", kExtras,
     "a LoRA adapter: file, directory or Hub id; may be given several times",
     [](Invocation& c, string_view v, string_view n) {
       c.loras.push_back(not_empty(v, n, "name an adapter's file, directory or Hub id"));
     }},
    {"--enable-lora", "", kExtras, "slots for LoRA adapters: the engine's default number and rank",
     flag<&E::enable_lora>},
    {"--max-loras --max-loras-per-batch", "N", kExtras, "adapters per batch", set<parse_count, &E::max_loras>},
    {"--max-lora-rank", "R", kExtras, "largest adapter rank", set<parse_count, &E::max_lora_rank>},
    {"--max-cpu-loras --max-loaded-loras", "N", kExtras, "adapters kept in host memory",
     set<parse_count, &E::max_cpu_loras>},
    {"--lora-targets --lora-target-modules", "M,M,...", kExtras, "modules with slots (default: the engine's)",
     apply_lora_targets},
    {"--no-mmproj-offload", "", kExtras, "llama.cpp: the image projector stays in host memory",
     flag<&E::projector_on_host>},
    {"--mmproj", "FILE", kExtras, "llama.cpp: the GGUF of an image projector, or its Hub id",
     [](Invocation& c, string_view v, string_view n) { c.mmproj = not_empty(v, n, "name the model's mmproj-*.gguf"); }},
    {"--num-beams --beam-width", "N", kExtras, "beams per request", set<parse_copies, &E::num_beams>},
    {"--num-samples --num-return-sequences", "N", kExtras, "parallel samples per request",
     set<parse_copies, &E::num_samples>},
    {"--mamba-full-memory-ratio", "R", kExtras, "SGLang: state memory relative to KV memory",
     set<parse_rate, &E::state_ratio>},

    {"--format", "FORM", kOutput, "output format",
     [](Invocation& c, string_view v, string_view) { c.format = std::string(find_format(v).name); }},
    {"--json", "", kOutput, "the same as --format json",
     [](Invocation& c, string_view, string_view) { c.format = "json"; }},
    {"--output -o", "FILE", kOutput, "write to FILE instead of standard output",
     [](Invocation& c, string_view v, string_view n) { c.output = not_empty(v, n, "name a file"); }},
    {"--color", "auto|always|never", kOutput, "colour (auto: only on a terminal, never with NO_COLOR)",
     choose<&Invocation::color, Color::kAuto, Color::kAlways, Color::kNever>},
    {"--command", "FILE", kLoad,
     "file with an engine's launch command, in place of MODEL: shell text, or a container as JSON",
     set<as_typed, &Invocation::command_file>},
    {"--model-source", "MODEL", kLoad, "MODEL to plan instead of the one in the command",
     set<as_typed, &Invocation::model_source>},
    {"--hf-overrides --json-model-override-args", "JSON", kExtras, "keys that replace those of config.json",
     apply_overrides},
    {"--task", "chat|code|vision|embedding|reranking|speech", kLoad, "pick: what the model is for (default: chat)",
     set<one_of, &Invocation::task>},
    {"--all", "", kOutput, "pick: also list older generations", flag<&Invocation::all>},
    {"--rules", "", kOutput, "engines: what changes from release to release", flag<&Invocation::rules>},
    {"--assume", "", kOutput, "plan an unknown architecture from its common fields, with a warning",
     flag<&ReadOptions::assume>},

    {"--offline", "", kHub, "use only local caches, no network (HF_HUB_OFFLINE)", flag<&HubOptions::offline>},
    {"--revision", "R", kHub, "a branch, tag or commit, for ids without @R",
     [](Invocation& c, string_view v, string_view n) {
       c.source.hub.revision = not_empty(v, n, "name a branch, a tag or a commit");
     }},
    {"--token", "TOKEN", kHub, "for private and gated models; HF_TOKEN is safer",
     [](Invocation& c, string_view v, string_view n) {
       c.source.hub.token = not_empty(v, n, "give a token of the Hub, or leave it out", "token");
     }},
};

std::span<const Option> options() {
  return kOptions;
}

}  // namespace kvplan
