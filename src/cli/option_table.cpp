// The table of options, which help, completions, the man page and the parser read.
#include <algorithm>
#include <array>
#include <cmath>

#include "cli/extras_options.h"
#include "cli/list_options.h"
#include "cli/measuring.h"
#include "cli/options.h"
#include "cli/sizes.h"
#include "engines/engine.h"
#include "formats/gpu_file.h"
#include "kvplan/error.h"
#include "kvplan/format_bytes.h"
#include "kvplan/gpus.h"
#include "kvplan/numbers.h"
#include "kvplan/strings.h"
#include "measure/detect.h"
#include "report/report.h"
#include "weights/weigh.h"

namespace kvplan {

namespace {

using std::string_view;

constexpr string_view kLoad = "Load";
constexpr string_view kTypes = "Types";
constexpr string_view kLayout = "Parallelism";
constexpr string_view kCard = "Card and limits";
constexpr string_view kMeasuring = "Measuring";
constexpr string_view kVllm = "vLLM";
constexpr string_view kLlama = "llama.cpp";
constexpr string_view kExtras = "Extras";
constexpr string_view kSglang = "SGLang";
constexpr string_view kMlx = "MLX";
constexpr string_view kOutput = "Output";
constexpr string_view kHub = "Hub";

bool is_auto(string_view value) {
  return value == "auto";
}

constexpr std::uint64_t kAllLayers = 999999;

// "exps=CPU": a pattern, with or without dots and anchors. Patterns for single layers are not supported.
void override_tensors(Request& request, string_view value, string_view name) {
  const auto equals = value.rfind('=');
  const string_view pattern = value.substr(0, equals);
  const bool to_host = equals != string_view::npos && value.substr(equals + 1) == "CPU";
  const bool has_digit = pattern.find_first_of("0123456789") != string_view::npos;
  const bool all_parts = pattern.find("ffn_up") == string_view::npos && pattern.find("ffn_down") == string_view::npos &&
                         pattern.find("ffn_gate") == string_view::npos;
  if (!to_host || has_digit || !all_parts || pattern.find("exps") == string_view::npos)
    fail(std::string(name) + ": \"" + one_line(value, 60) + "\" is not a pattern of all experts",
         "use exps=CPU, or --n-cpu-moe N for the first N layers");
  request.llama_cpp.cpu_moe_layers = kAllLayers;
}

// "3,1", also with "/" between the numbers.
void split_tensors(Request& request, string_view value, string_view name) {
  request.llama_cpp.tensor_split.clear();
  double sum = 0;
  for (std::size_t at = 0; at <= value.size();) {
    const std::size_t end = std::min(value.find_first_of(",/", at), value.size());
    const string_view word = value.substr(at, end - at);
    double share = -1;
    const auto [rest, error] = parse_real(word, share);
    if (error != std::errc() || rest != word.data() + word.size() || !(share >= 0 && share <= 1e9))
      fail(std::string(name) + ": \"" + one_line(value, 40) + "\" is no list of shares", "write for example 3,1");
    request.llama_cpp.tensor_split.push_back(share);
    sum += share;
    at = end + 1;
  }
  if (sum <= 0) fail(std::string(name) + ": all shares are 0", "write for example 3,1");
}

// Decides llama.cpp's --flash-attn as well.
void set_attention(Request& request, string_view value, string_view name) {
  if (value != "naive" && value != "flash")
    fail(std::string(name) + ": \"" + one_line(value, 40) + "\" is not naive or flash", "see kvplan --help");
  const bool naive = value == "naive";
  request.attention = naive ? AttentionKernel::kNaive : AttentionKernel::kFlash;
  request.llama_cpp.flash_attention = naive ? FlashAttention::kOff : FlashAttention::kOn;
}

// Removes "2x" from "2x4090" and returns 2; else returns 1.
std::uint64_t take_count(string_view& text) {
  const std::size_t digits = text.find_first_not_of("0123456789");
  if (digits == 0 || digits == string_view::npos || digits > 4) return 0;
  string_view rest = trimmed(text.substr(digits));
  if (rest.empty() || (rest[0] != 'x' && rest[0] != 'X' && rest[0] != '*')) return 0;
  rest = trimmed(rest.substr(1));
  if (rest.empty()) return 0;
  const std::uint64_t count = parse_count(text.substr(0, digits), "--gpu");
  text = rest;
  return count;
}

// "rtx-4090+2x3060": a mix of cards, each with layers in proportion to its memory.
void set_mixed_cards(Request& request, string_view list) {
  constexpr std::size_t kMostCards = 64;
  request.card.mixed.clear();
  std::vector<double> shares;
  for (string_view text : parts_of(list, '+')) {
    const std::uint64_t count =
        request.card.known().find(text) == nullptr ? std::max<std::uint64_t>(1, take_count(text)) : 1;
    const Gpu& card = request.card.known().parse(text);
    if (request.card.mixed.size() + count > kMostCards) fail("--gpu: more than 64 cards", "name fewer");
    for (std::uint64_t i = 0; i < count; ++i) {
      request.card.mixed.push_back(&card);
      shares.push_back(std::round(static_cast<double>(card.budget().count()) / kGiB * 10) / 10);
    }
    if (!request.card.gpu || card.budget() < request.card.gpu->budget()) request.card.gpu = &card;
  }
  if (request.llama_cpp.tensor_split.empty()) request.llama_cpp.tensor_split = shares;
  request.card.count = request.parallel.pipeline = request.card.mixed.size();
  request.card.count_given = request.parallel.given = true;
}

// "rtx-4090", "2x4090", or a size: "24GiB".
void set_gpu(Invocation& call, string_view text) {
  Request& request = call.request;
  const GpuCatalogue& known = request.card.known();
  if (text.find('+') != string_view::npos && known.find(text) == nullptr) return set_mixed_cards(request, text);
  if (known.find(text) == nullptr)
    if (const std::uint64_t count = take_count(text); count > 0) {
      request.card.count = count;
      request.card.count_given = true;
    }
  const bool is_size = known.find(text) == nullptr && !text.empty() && text[0] >= '0' && text[0] <= '9' &&
                       text.find_first_not_of("0123456789.") != string_view::npos &&
                       text.find('-') == string_view::npos;
  if (!is_size) {
    request.card.gpu = &known.parse(text);
    return;
  }
  request.card.memory = parse_size(text, "--gpu");
  if (lower(text).ends_with("gb"))
    call.notes.push_back(
        {NoteLevel::kInfo,
         "decimal_size",
         {"--gpu {asked} is {memory:GiB}; a card that is sold as such has somewhat more: name it (kvplan "
          "gpus)",
          {{"asked", one_line(text, 20)}, {"memory", *request.card.memory}}}});
}

// "rtx-4090", "auto", or several: "rtx-4090,l40s".
void set_gpus(Invocation& call, string_view list) {
  call.gpus.clear();
  call.request.card.gpu = nullptr;
  if (is_auto(list)) return use_cards(detect_cards(), call.request);
  if (list.find(',') == string_view::npos) return set_gpu(call, list);
  for (const string_view name : parts_of(list, ',')) {
    if (is_auto(name)) fail("--gpu: auto stands alone", "name the cards, or leave them out");
    const Gpu* const card = &call.request.card.known().parse(name);
    if (std::find(call.gpus.begin(), call.gpus.end(), card) == call.gpus.end()) call.gpus.push_back(card);
  }
}

constexpr std::array kOptions{
    Option{"--engine", "E[,E...]", kLoad, "logical (default), vllm ...; vllm@0.20 mimics a release",
           [](Invocation& c, string_view v, string_view) { set_engines(c, v); }},
    Option{"--max-model-len --context --context-length", "N", kLoad,
           "tokens per sequence (32k, 1M); auto: the longest that fits",
           [](Invocation& c, string_view v, string_view n) {
             c.longest_context = is_auto(v);
             if (!c.longest_context) c.request.max_model_len = Tokens(parse_count(v, n));
           }},
    Option{
        "--ctx-size -c", "N", kLoad, "the same; llama.cpp: the total over all slots",
        [](Invocation& c, string_view v, string_view n) { c.request.llama_cpp.ctx_size = Tokens(parse_count(v, n)); }},
    // Comes before --num-seqs, which is then per copy.
    Option{"--users", "N", kLoad, "users at once: fit says the GPUs and nodes for them",
           [](Invocation& c, string_view v, string_view n) {
             c.request.num_seqs = parse_count(v, n);
             c.request.users = true;
           }},
    Option{"--num-seqs --parallel -np", "N", kLoad, "live sequences, each at full length (default 1)",
           [](Invocation& c, string_view v, string_view n) { c.request.num_seqs = parse_count(v, n); }},
    Option{"--max-num-seqs", "N", kLoad, "the scheduler's limit; sizes graphs and logits, not KV (--num-seqs)",
           [](Invocation& c, string_view v, string_view n) { c.request.max_num_seqs = parse_count(v, n); }},
    // Comes before --flash-attn, llama.cpp's own option for this, which then wins.
    Option{"--attention", "naive|flash", kLoad, "attention kernel, for activations",
           [](Invocation& c, string_view v, string_view n) { set_attention(c.request, v, n); }},
    Option{"--max-num-batched-tokens --chunked-prefill-size", "N", kLoad, "tokens of a prefill chunk",
           [](Invocation& c, string_view v, string_view n) {
             c.request.max_num_batched_tokens = Tokens(parse_count(v, n));
           }},
    Option{"--encoder-len", "N", kLoad, "source tokens for cross attention",
           [](Invocation& c, string_view v, string_view n) { c.request.encoder_len = Tokens(parse_count(v, n)); }},
    Option{"--seq-lens", "N,N,...", kLoad, "sequence lengths to plan for, instead of all at full length",
           [](Invocation& c, string_view v, string_view n) {
             c.request.seq_lens.clear();
             for (const string_view length : parts_of(v, ',')) c.request.seq_lens.emplace_back(parse_count(length, n));
           }},
    Option{"--avg-len", "N", kLoad, "the same for --num-seqs sequences of N tokens",
           [](Invocation& c, string_view v, string_view n) { c.request.avg_len = Tokens(parse_count(v, n)); }},
    Option{"--shared-prefix", "N", kLoad, "tokens that all of them begin with, stored once",
           [](Invocation& c, string_view v, string_view n) { c.request.shared_prefix = Tokens(parse_count(v, n)); }},

    Option{"--weights --quantization -q", "W[,W...]", kTypes, "weight type (default: as the checkpoint declares)",
           [](Invocation& c, string_view v, string_view n) { set_weights(c, v, n); }},
    Option{"--dtype", "T", kTypes, "compute type",
           [](Invocation& c, string_view v, string_view n) { c.request.dtype = type_or_auto(v, n); }},
    Option{"--kv-cache-dtype --kv", "T[,T...]", kTypes, "KV type (default auto); see kvplan dtypes",
           [](Invocation& c, string_view v, string_view n) { set_kv_types(c, v, n); }},
    Option{"--cache-type-k -ctk", "T", kTypes, "the type of K alone",
           [](Invocation& c, string_view v, string_view n) { c.request.cache_type_k = type_or_auto(v, n); }},
    Option{"--cache-type-v -ctv", "T", kTypes, "the type of V alone",
           [](Invocation& c, string_view v, string_view n) { c.request.cache_type_v = type_or_auto(v, n); }},
    Option{"--cache-implementation", "dynamic|static|quantized|offloaded|offloaded_static", kTypes,
           "transformers' cache",
           [](Invocation& c, string_view v, string_view) {
             c.request.transformers.cache_implementation = std::string(v);
           }},
    Option{"--mamba-ssm-cache-dtype", "T", kTypes, "the type of recurrent states",
           [](Invocation& c, string_view v, string_view n) { c.request.state_dtype = type_or_auto(v, n); }},

    Option{"--tensor-parallel-size --tp -tp", "N", kLayout, "tensor parallel ranks",
           [](Invocation& c, string_view v, string_view n) {
             c.request.parallel.tensor = parse_count(v, n);
             c.request.parallel.given = true;
           }},
    Option{"--pipeline-parallel-size --pp -pp", "N", kLayout, "pipeline stages",
           [](Invocation& c, string_view v, string_view n) {
             c.request.parallel.pipeline = parse_count(v, n);
             c.request.parallel.given = true;
           }},
    Option{"--data-parallel-size --dp -dp", "N", kLayout, "data parallel copies",
           [](Invocation& c, string_view v, string_view n) { c.request.parallel.data = parse_count(v, n); }},
    Option{"--decode-context-parallel-size --dcp -dcp", "N", kLayout, "ranks that share the tokens of a sequence",
           [](Invocation& c, string_view v, string_view n) { c.request.parallel.decode_context = parse_count(v, n); }},
    Option{"--enable-expert-parallel", "", kLayout, "distribute whole experts over the ranks",
           [](Invocation& c, string_view, string_view) { c.request.parallel.expert = true; }},
    Option{"--enable-dp-attention", "", kLayout, "SGLang: data parallel attention within the tensor parallel ranks",
           [](Invocation& c, string_view, string_view) { c.request.parallel.dp_attention = true; }},

    // Comes before --gpu, which looks cards up: options apply in the order of this table.
    Option{"--gpu-file", "FILE", kCard, "cards of your own, as kvplan gpus --json writes them",
           [](Invocation& c, string_view v, string_view) {
             c.request.card.catalogue = std::make_shared<GpuCatalogue>(read_gpu_file(std::string(v)));
           }},
    Option{"--gpu", "NAME[,...]", kCard, "h100-80gb, rtx-4090 ... (kvplan gpus), or auto",
           [](Invocation& c, string_view v, string_view) { set_gpus(c, v); }},
    Option{"--gpu-memory", "SIZE", kCard, "or a card's memory: 24GiB",
           [](Invocation& c, string_view v, string_view n) { c.request.card.memory = parse_size(v, n); }},
    Option{"--gpu-count", "N", kCard, "GPUs; without -tp or -pp in the best layout",
           [](Invocation& c, string_view v, string_view n) {
             c.request.card.count = parse_count(v, n);
             c.request.card.count_given = true;
           }},
    Option{"--gpu-memory-utilization --mem-fraction-static", "F", kCard, "share of the card that the engine may use",
           [](Invocation& c, string_view v, string_view n) { c.request.memory_utilization = parse_share(v, n); }},
    Option{"--reserve", "SIZE|P%", kCard, "memory of a GPU to leave free (suggestions: 1GiB or 1%)",
           [](Invocation& c, string_view v, string_view n) {
             c.request.limits.reserve =
                 v.ends_with('%') ? Reserve{Bytes(0), parse_percent(v, n) / 100} : Reserve{parse_size_or_none(v, n), 0};
           }},
    Option{"--kv-cache-memory-bytes", "SIZE", kCard, "the KV budget itself, per GPU",
           [](Invocation& c, string_view v, string_view n) { c.request.kv_cache_memory_bytes = parse_size(v, n); }},
    Option{"--margin", "P%", kCard, "use +-P% for every estimate",
           [](Invocation& c, string_view v, string_view n) {
             const double percent = parse_percent(v, n);
             if (percent > 100) fail(std::string(n) + ": more than 100% is no margin", "give 0% to 100%");
             c.request.margin = percent / 100;
           }},
    Option{"--gpu-bandwidth", "GB/s", kCard, "memory bandwidth, overrides the catalogue",
           [](Invocation& c, string_view v, string_view n) { c.request.card.bandwidth = parse_rate(v, n); }},
    Option{"--gpu-tflops", "N", kCard, "dense 16 bit TFLOPS, for the bound on the first token",
           [](Invocation& c, string_view v, string_view n) { c.request.card.tflops = parse_rate(v, n); }},
    Option{"--host-memory", "SIZE", kCard, "the machine's own memory, for what the engine keeps there",
           [](Invocation& c, string_view v, string_view n) { c.request.card.host_memory = parse_size(v, n); }},
    Option{"--host-bandwidth", "GB/s", kCard, "its bandwidth (default 100)",
           [](Invocation& c, string_view v, string_view n) { c.request.card.host_bandwidth = parse_rate(v, n); }},
    Option{"--max-vram", "SIZE", kCard, "limit: exit 1 where a GPU needs more",
           [](Invocation& c, string_view v, string_view n) { c.request.limits.max_vram = parse_size(v, n); }},
    Option{
        "--min-context", "N", kCard, "limit: exit 1 where fewer tokens fit",
        [](Invocation& c, string_view v, string_view n) { c.request.limits.min_context = Tokens(parse_count(v, n)); }},
    Option{"--min-seqs", "N", kCard, "limit: exit 1 where fewer sequences fit",
           [](Invocation& c, string_view v, string_view n) { c.request.limits.min_seqs = parse_count(v, n); }},

    Option{"--fail-over", "SIZE|P%", kCard, "diff: exit 1 where the total grew by more",
           [](Invocation& c, string_view v, string_view n) {
             if (v.ends_with('%'))
               c.fail_over.percent = parse_percent(v, n);
             else
               c.fail_over.bytes = parse_size_or_none(v, n);
           }},

    Option{"--measure", "", kMeasuring, "allocate the planned cache on a device, and compare",
           [](Invocation& c, string_view, string_view) { c.measuring.wanted = true; }},
    Option{"--device", "cuda:0|hip:0|host", kMeasuring, "where (default: the first GPU); host: this machine's memory",
           [](Invocation& c, string_view v, string_view n) {
             if (v.empty()) fail(std::string(n) + ": an empty name", "use cuda:0, hip:0 or host");
             c.measuring.device = std::string(v);
           }},
    Option{"--measure-max", "", kMeasuring, "the same, and the largest context that really allocates",
           [](Invocation& c, string_view, string_view) { c.measuring.wanted = c.measuring.find_maximum = true; }},
    Option{"--watch", "", kMeasuring, "measure: start the engine whose command stands behind --, and watch it",
           [](Invocation& c, string_view, string_view) { c.measuring.watch = true; }},
    Option{"--pid", "N", kMeasuring, "measure: watch a running engine",
           [](Invocation& c, string_view v, string_view n) { c.measuring.pid = parse_count(v, n); }},
    Option{"--keep", "", kMeasuring, "measure: the engine that --watch started goes on afterwards",
           [](Invocation& c, string_view, string_view) { c.measuring.keep = true; }},
    Option{"--share", "", kMeasuring, "measure: allocate on a card that others use, too",
           [](Invocation& c, string_view, string_view) { c.measuring.share = true; }},
    Option{"--tolerance", "P%", kMeasuring, "exit 1 where more differs without a reason (default 1 %)",
           [](Invocation& c, string_view v, string_view n) { c.measuring.tolerance = parse_percent(v, n) / 100; }},
    Option{"--save-calibration", "FILE", kMeasuring, "keep what was measured, or read by check-log, for later plans",
           [](Invocation& c, string_view v, string_view n) {
             if (v.empty()) fail(std::string(n) + ": an empty name", "name a file, or default");
             c.measuring.save = std::string(v);
           }},
    Option{"--calibration", "FILE", kMeasuring, "use saved measurements (none: ignore)",
           [](Invocation& c, string_view v, string_view n) {
             if (v.empty()) fail(std::string(n) + ": an empty name", "name a file, or none");
             c.measuring.calibration = std::string(v);
           }},

    Option{"--block-size", "N", kVllm, "tokens of a page",
           [](Invocation& c, string_view v, string_view n) { c.request.block_size = parse_count(v, n); }},
    Option{"--enable-prefix-caching --no-enable-prefix-caching", "", kVllm, "more states of a sequence, or one",
           [](Invocation& c, string_view, string_view n) { c.request.prefix_caching = !n.starts_with("--no-"); }},
    Option{"--mamba-cache-mode", "none|align|all", kVllm, "which states prefix caching keeps",
           [](Invocation& c, string_view v, string_view) { c.request.vllm.mamba_cache_mode = std::string(v); }},
    Option{"--language-model-only", "", kVllm, "text only: vision and audio encoders are not loaded",
           [](Invocation& c, string_view, string_view) { c.request.extras.language_model_only = true; }},
    Option{"--disable-hybrid-kv-cache-manager", "", kVllm, "windows take full-length pages",
           [](Invocation& c, string_view, string_view) { c.request.vllm.hybrid_manager = false; }},
    Option{"--cpu-offload-gb", "N", kVllm, "GiB of each GPU's layers in host memory (SGLang too)",
           [](Invocation& c, string_view v, string_view n) { c.request.cpu_offload = parse_gib(v, n); }},
    Option{"--kv-offloading-size", "N", kVllm, "GiB of host memory for KV, all ranks together",
           [](Invocation& c, string_view v, string_view n) { c.request.vllm.host_kv_cache = parse_gib(v, n); }},
    Option{"--swap-space", "N", kVllm, "V0: GiB of host memory a GPU for KV (default 4)",
           [](Invocation& c, string_view v, string_view n) { c.request.vllm.swap_space = parse_gib(v, n); }},
    Option{"--enforce-eager", "", kVllm, "no CUDA graphs",
           [](Invocation& c, string_view, string_view) { c.request.enforce_eager = true; }},
    Option{"--fully-sharded-loras", "", kVllm, "both matrices are shared out over the ranks",
           [](Invocation& c, string_view, string_view) { c.request.extras.fully_sharded_loras = true; }},
    Option{"--limit-mm-per-prompt", "image=N,...", kVllm, "images and videos of one prompt; 0 for none",
           apply_mm_limits},

    Option{"--batch --batch-size -b", "N", kLlama, "n_batch",
           [](Invocation& c, string_view v, string_view n) { c.request.llama_cpp.n_batch = parse_count(v, n); }},
    Option{"--ubatch-size -ub", "N", kLlama, "n_ubatch",
           [](Invocation& c, string_view v, string_view n) { c.request.llama_cpp.n_ubatch = parse_count(v, n); }},
    Option{"--kv-unified -kvu", "", kLlama, "the slots share one pool",
           [](Invocation& c, string_view, string_view) { c.request.llama_cpp.kv_unified = true; }},
    Option{"--swa-full", "", kLlama, "windows keep every token",
           [](Invocation& c, string_view, string_view) { c.request.llama_cpp.swa_full = true; }},
    Option{"--flash-attn -fa", "on|off|auto", kLlama, "flash attention",
           [](Invocation& c, string_view v, string_view n) {
             if (v == "on")
               c.request.llama_cpp.flash_attention = FlashAttention::kOn;
             else if (v == "off")
               c.request.llama_cpp.flash_attention = FlashAttention::kOff;
             else if (v == "auto")
               c.request.llama_cpp.flash_attention = FlashAttention::kAuto;
             else
               fail(std::string(n) + ": \"" + one_line(v, 40) + "\" is not on, off or auto", "see kvplan --help");
           }},
    Option{"--n-gpu-layers -ngl", "N", kLlama, "layers on the GPU; all; auto: what llama.cpp's own fit chooses",
           [](Invocation& c, string_view v, string_view n) {
             c.request.llama_cpp.fit = is_auto(v);
             c.request.llama_cpp.gpu_layers.reset();
             if (v == "0")
               c.request.llama_cpp.gpu_layers = 0;
             else if (v == "all" || v == "-1")
               c.request.llama_cpp.gpu_layers = kAllLayers;
             else if (!is_auto(v))
               c.request.llama_cpp.gpu_layers = parse_count(v, n);
           }},
    Option{"--n-cpu-moe -ncmoe", "N", kLlama, "the experts of the first N layers stay in host memory",
           [](Invocation& c, string_view v, string_view n) {
             c.request.llama_cpp.cpu_moe_layers = v == "0" ? 0 : parse_count(v, n);
           }},
    Option{"--cpu-moe -cmoe", "", kLlama, "all experts stay in host memory",
           [](Invocation& c, string_view, string_view) { c.request.llama_cpp.cpu_moe_layers = kAllLayers; }},
    Option{"--override-tensor -ot", "P=CPU", kLlama, "exps=CPU, as --cpu-moe; for some layers use -ncmoe",
           [](Invocation& c, string_view v, string_view n) { override_tensors(c.request, v, n); }},
    Option{"--no-kv-offload -nkvo", "", kLlama, "the cache stays in host memory",
           [](Invocation& c, string_view, string_view) { c.request.llama_cpp.no_kv_offload = true; }},
    Option{"--tensor-split -ts", "A,B", kLlama, "shares of the GPUs of -pp, as 3,1",
           [](Invocation& c, string_view v, string_view n) { split_tensors(c.request, v, n); }},
    Option{"--tool", "server|cli", kLlama, "the program: logits of each slot's last token, or of all tokens",
           [](Invocation& c, string_view v, string_view n) {
             if (v != "server" && v != "cli")
               fail(std::string(n) + ": \"" + one_line(v, 40) + "\" is not server or cli", "see kvplan --help");
             c.request.llama_cpp.all_logits = v == "cli";
           }},
    Option{"--ctx-size-draft -cd", "N", kLlama, "tokens of a sequence in the draft's context",
           [](Invocation& c, string_view v, string_view n) { c.request.extras.draft_ctx = Tokens(parse_count(v, n)); }},
    Option{
        "--cache-type-k-draft -ctkd", "T", kLlama, "the type of the draft's K",
        [](Invocation& c, string_view v, string_view n) { c.request.extras.draft_cache_type_k = type_or_auto(v, n); }},
    Option{
        "--cache-type-v-draft -ctvd", "T", kLlama, "the type of the draft's V",
        [](Invocation& c, string_view v, string_view n) { c.request.extras.draft_cache_type_v = type_or_auto(v, n); }},

    Option{"--max-kv-size", "N", kMlx, "every layer keeps the first 4 tokens and the last, N in all",
           [](Invocation& c, string_view v, string_view n) { c.request.mlx.max_kv_size = Tokens(parse_count(v, n)); }},

    Option{"--speculative-num-draft-tokens", "N", kSglang, "tokens verified at once",
           [](Invocation& c, string_view v, string_view n) { c.request.extras.verify_tokens = parse_count(v, n); }},
    Option{"--mamba-scheduler-strategy", "no_buffer|extra_buffer|extra_buffer_lazy", kSglang,
           "states that a request keeps for its prefix cache",
           [](Invocation& c, string_view v, string_view) { c.request.extras.mamba_strategy = std::string(v); }},
    Option{"--disable-radix-cache", "", kSglang, "no prefix cache, one state for each request",
           [](Invocation& c, string_view, string_view) { c.request.extras.disable_radix_cache = true; }},
    Option{"--swa-full-tokens-ratio", "R", kSglang, "sliding-window tokens per full-attention token",
           [](Invocation& c, string_view v, string_view n) { c.request.extras.swa_ratio = parse_share(v, n); }},
    Option{"--max-mamba-cache-size", "N", kSglang, "slots of recurrent states",
           [](Invocation& c, string_view v, string_view n) { c.request.extras.state_slots = parse_count(v, n); }},
    Option{"--max-total-tokens", "N", kSglang, "tokens of the pool at most",
           [](Invocation& c, string_view v, string_view n) { c.request.extras.max_total_tokens = parse_count(v, n); }},
    Option{"--disable-hybrid-swa-memory", "", kSglang,
           "layers with windows keep all tokens, in one pool with the others",
           [](Invocation& c, string_view, string_view) { c.request.extras.one_pool = true; }},
    Option{"--cuda-graph-max-bs --cuda-graph-max-bs-decode", "N", kSglang, "the largest batch that is captured",
           [](Invocation& c, string_view v, string_view n) { c.request.extras.graph_batch = parse_count(v, n); }},
    Option{"--attention-backend", "NAME", kSglang, "kernels of attention, which the card and the model must have",
           [](Invocation& c, string_view v, string_view) { c.request.extras.attention_backend = std::string(v); }},

    Option{"--draft --draft-model --model-draft --speculative-draft-model-path -md", "MODEL", kExtras,
           "a draft model, EAGLE or Medusa heads", apply_draft},
    Option{"--speculative-method --speculative-algorithm --spec-type", "draft_model|eagle|eagle3|mtp|medusa|ngram",
           kExtras, "the drafting method (default: what --draft is)", apply_speculative_method},
    Option{"--speculative-config", "JSON", kExtras, "the same as vLLM has it", apply_speculative_config},
    Option{"--num-speculative-tokens --speculative-num-steps --draft-max", "N", kExtras, "draft tokens per step",
           [](Invocation& c, string_view v, string_view n) { c.request.num_speculative_tokens = parse_count(v, n); }},
    Option{"--mtp", "", kExtras, "plan the model's own MTP layers too",
           [](Invocation& c, string_view, string_view) { c.request.mtp = true; }},
    Option{"--draft-weights", "W", kExtras, "weight type of the draft (default: as its checkpoint declares)",
           [](Invocation& c, string_view v, string_view n) {
             check_weight_type(v, n);
             c.request.extras.draft_weights = std::string(v);
           }},
    Option{"--lora --lora-paths --adapter-path", "FILE", kExtras,
           "a LoRA adapter: file, directory or Hub id; may be given several times", apply_lora},
    Option{"--enable-lora", "", kExtras, "slots for LoRA adapters, as many and as wide as the engine's default",
           [](Invocation& c, string_view, string_view) { c.request.extras.enable_lora = true; }},
    Option{"--max-loras --max-loras-per-batch", "N", kExtras, "adapters of one batch",
           [](Invocation& c, string_view v, string_view n) { c.request.extras.max_loras = parse_count(v, n); }},
    Option{"--max-lora-rank", "R", kExtras, "the widest adapter",
           [](Invocation& c, string_view v, string_view n) { c.request.extras.max_lora_rank = parse_count(v, n); }},
    Option{"--max-cpu-loras --max-loaded-loras", "N", kExtras, "adapters that wait in host memory",
           [](Invocation& c, string_view v, string_view n) { c.request.extras.max_cpu_loras = parse_count(v, n); }},
    Option{"--lora-targets --lora-target-modules", "M,M,...", kExtras, "modules with slots (default: as the engine)",
           apply_lora_targets},
    Option{"--mmproj", "FILE", kExtras, "llama.cpp: the GGUF of an image projector, or its Hub id", apply_mmproj},
    Option{"--num-beams --beam-width", "N", kExtras, "beams of a request", apply_beams},
    Option{"--num-samples --num-return-sequences", "N", kExtras, "parallel samples of a request", apply_samples},
    Option{"--mamba-full-memory-ratio", "R", kExtras, "SGLang: state memory relative to KV memory",
           [](Invocation& c, string_view v, string_view n) { c.request.extras.state_ratio = parse_rate(v, n); }},

    Option{"--format", "FORM", kOutput, "the form of the answer",
           [](Invocation& c, string_view v, string_view) { c.format = std::string(find_format(v).name); }},
    Option{"--json", "", kOutput, "the same as --format json",
           [](Invocation& c, string_view, string_view) { c.format = "json"; }},
    Option{"--output -o", "FILE", kOutput, "write there instead of standard output",
           [](Invocation& c, string_view v, string_view n) {
             if (v.empty()) fail(std::string(n) + ": an empty name", "name a file");
             c.output = std::string(v);
           }},
    Option{"--color", "auto|always|never", kOutput, "colour (auto: only on a terminal, never with NO_COLOR)",
           [](Invocation& c, string_view v, string_view n) {
             if (v == "auto")
               c.color = Color::kAuto;
             else if (v == "always")
               c.color = Color::kAlways;
             else if (v == "never")
               c.color = Color::kNever;
             else
               fail(std::string(n) + ": \"" + one_line(v, 40) + "\" is not auto, always or never", "see kvplan --help");
           }},
    Option{"--assume", "", kOutput, "plan an unknown architecture from its plain fields, with a warning",
           [](Invocation& c, string_view, string_view) { c.source.read.assume = true; }},

    Option{"--offline", "", kHub, "the caches alone, no network (HF_HUB_OFFLINE)",
           [](Invocation& c, string_view, string_view) { c.source.hub.offline = true; }},
    Option{"--revision", "R", kHub, "a branch, tag or commit, for ids without @R",
           [](Invocation& c, string_view v, string_view n) {
             if (v.empty()) fail(std::string(n) + ": an empty name", "name a branch, a tag or a commit");
             c.source.hub.revision = std::string(v);
           }},
    Option{"--token", "TOKEN", kHub, "for private and gated models; better in HF_TOKEN",
           [](Invocation& c, string_view v, string_view n) {
             if (v.empty()) fail(std::string(n) + ": an empty token", "give a token of the Hub, or leave it out");
             c.source.hub.token = std::string(v);
           }},
};

}  // namespace

std::span<const Option> options() {
  return kOptions;
}

}  // namespace kvplan
