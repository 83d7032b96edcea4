#include "plan/launchers.h"

#include <array>
#include <sstream>

#include "engines/engine.h"
#include "kvplan/error.h"
#include "kvplan/strings.h"
#include "weights/types.h"

namespace kvplan {

namespace {

// Six digits at most: "0.9", "12.5".
std::string short_number(double value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

// One argument after the other.
class Arguments {
 public:
  void add(std::string_view word) { words_.emplace_back(word); }
  void add(std::string_view option, std::uint64_t value) {
    add(option);
    words_.push_back(std::to_string(value));
  }
  void add(std::string_view option, std::string_view value) {
    add(option);
    add(value);
  }
  void add_share(std::string_view option, double value) { add(option, short_number(value)); }
  void add_gib(std::string_view option, Bytes bytes) { add_share(option, static_cast<double>(bytes.count()) / kGiB); }
  // Nothing for an option that was not given, or a number that is the engine's default of 1.
  void add_given(std::string_view option, const std::optional<std::uint64_t>& value) {
    if (value) add(option, *value);
  }
  void add_ranks(std::string_view option, std::uint64_t ranks) {
    if (ranks > 1) add(option, ranks);
  }
  void add_flag(std::string_view option, bool given) {
    if (given) add(option);
  }
  std::vector<std::string> take() { return std::move(words_); }

 private:
  std::vector<std::string> words_;
};

[[noreturn]] void no_option(std::string_view what, std::string_view why, std::string_view remedy) {
  Error error(Exit::kBadInput, "--format args and k8s: " + std::string(what) + ": " + std::string(why), remedy);
  error.set_source("command line");
  throw error;
}

// A config.json stands for the directory that holds it: that is what engines load.
std::string model_argument(const ModelSpec& model) {
  if (model.source == "-") return "MODEL";
  std::string source = model.source;
  if (source.ends_with("/config.json")) source.resize(source.size() - 12);
  return source;
}

bool kv_chosen(const Request& request) {
  return request.cache_type_k || request.cache_type_v;
}

// vLLM and SGLang quantize while they load to these alone; any other type must be the checkpoint's own.
std::string_view online_quantization(const std::string& weights) {
  const WeightType* type = find_weight_type(weights);
  if (type == nullptr) return "";
  if (type->name == "fp8" || type->name == "fp8-channel") return "fp8";
  return type->name == "bnb-nf4" ? "bitsandbytes" : "";
}

std::string own_weights(const ModelSpec& model, Request request) {
  request.weights.reset();
  return make_plan(model, request).weights_dtype;
}

void check_own_weights(const ModelSpec& model, const Plan& plan) {
  if (plan.request.weights && own_weights(model, plan.request) != plan.weights_dtype)
    no_option("--weights " + *plan.request.weights, plan.request.engine + " does not quantize to it while it loads",
              "name a checkpoint of that type as MODEL, and leave out --weights");
}

void add_quantization(const ModelSpec& model, const Plan& plan, Arguments& out) {
  if (!plan.request.weights) return;
  if (const std::string_view type = online_quantization(*plan.request.weights); !type.empty())
    out.add("--quantization", type);
  else
    check_own_weights(model, plan);
}

void check_kernel(const Request& request) {
  if (request.attention == AttentionKernel::kNaive)
    no_option("--attention naive", request.engine + " has no such option", "leave it out");
}

// Options of extras that engines spell alike.
void lora_arguments(const ExtrasRequest& extras, std::string_view slots, Arguments& out) {
  out.add_flag("--enable-lora", extras.wants_lora() || !extras.adapters.empty());
  out.add_given(slots, extras.max_loras);
  out.add_given("--max-lora-rank", extras.max_lora_rank);
  if (extras.lora_targets.empty()) return;
  out.add("--lora-target-modules");
  for (const std::string& target : extras.lora_targets) out.add(target);
}

// A draft's weight type, where the engine quantizes to it; else as its checkpoint is.
std::string_view draft_quantization(const Request& request) {
  if (!request.extras.draft_weights) return "";
  const std::string_view type = online_quantization(*request.extras.draft_weights);
  if (type.empty())
    no_option("--draft-weights " + *request.extras.draft_weights,
              request.engine + " does not quantize to it while it loads",
              "name a draft of that type, and leave out --draft-weights");
  return type;
}

void vllm_extras(const Plan& plan, Arguments& out) {
  const Request& request = plan.request;
  const ExtrasRequest& extras = request.extras;
  if (plan.draft_method) {
    std::string config = "{\"method\": \"" + std::string(name(*plan.draft_method)) + "\"";
    if (extras.draft != nullptr) config += ", \"model\": \"" + one_line(model_argument(*extras.draft)) + "\"";
    if (const std::string_view type = draft_quantization(request); !type.empty())
      config += ", \"quantization\": \"" + std::string(type) + "\"";
    const std::uint64_t tokens = request.num_speculative_tokens > 0 ? request.num_speculative_tokens
                                 : request.mtp                      ? 1
                                                                    : 3;
    out.add("--speculative-config", config + ", \"num_speculative_tokens\": " + std::to_string(tokens) + "}");
  }
  lora_arguments(request.extras, "--max-loras", out);
  out.add_given("--max-cpu-loras", request.extras.max_cpu_loras);
  out.add_flag("--fully-sharded-loras", request.extras.fully_sharded_loras);
  if (!extras.adapters.empty()) out.add("--lora-modules");
  for (std::size_t i = 0; i < extras.adapters.size(); ++i)
    out.add("adapter" + std::to_string(i + 1) + "=" + extras.adapters[i].source);
  out.add_flag("--language-model-only", request.extras.language_model_only);
  if (!request.extras.mm_limits.empty()) {
    const auto limit = [](const auto& each) { return "\"" + each.first + "\": " + std::to_string(each.second); };
    out.add("--limit-mm-per-prompt", "{" + join(request.extras.mm_limits, ", ", limit) + "}");
  }
}

// Source: vllm/config/cache.py, CacheDType.
std::string_view vllm_kv_name(Dtype type) {
  if (type == Dtype::kInt8) return "int8_per_token_head";
  if (type == Dtype::kInt4) return "int4_per_token_head";
  return name(type);
}

std::vector<std::string> vllm_arguments(const ModelSpec& model, const Plan& plan) {
  const Request& request = plan.request;
  check_kernel(request);
  Arguments out;
  for (const char* word : {"vllm", "serve"}) out.add(word);
  out.add(model_argument(model));
  out.add("--max-model-len", plan.load.max_model_len.count());
  out.add_given("--max-num-seqs", request.max_num_seqs);
  out.add_ranks("--tensor-parallel-size", request.tensor_parallel);
  out.add_ranks("--pipeline-parallel-size", request.pipeline_parallel);
  out.add_ranks("--data-parallel-size", request.data_parallel);
  out.add_ranks("--decode-context-parallel-size", request.decode_context_parallel);
  out.add_flag("--enable-expert-parallel", request.expert_parallel);
  if (kv_chosen(request)) out.add("--kv-cache-dtype", vllm_kv_name(plan.types.key));
  add_quantization(model, plan, out);
  if (request.dtype) out.add("--dtype", name(*request.dtype));
  if (request.memory_utilization) out.add_share("--gpu-memory-utilization", *request.memory_utilization);
  if (request.kv_cache_memory_bytes) out.add("--kv-cache-memory-bytes", request.kv_cache_memory_bytes->count());
  out.add_given("--block-size", request.block_size);
  if (request.max_num_batched_tokens) out.add("--max-num-batched-tokens", request.max_num_batched_tokens->count());
  out.add_flag("--enforce-eager", request.enforce_eager);
  if (request.cpu_offload) out.add_gib("--cpu-offload-gb", *request.cpu_offload);
  if (request.host_kv_cache) out.add_gib("--kv-offloading-size", *request.host_kv_cache);
  if (request.swap_space) out.add_gib("--swap-space", *request.swap_space);
  out.add_flag("--disable-hybrid-kv-cache-manager", !request.hybrid_manager);
  out.add_flag("--enable-prefix-caching", request.prefix_caching == true);
  out.add_flag("--no-enable-prefix-caching", request.prefix_caching == false);
  if (request.mamba_cache_mode) out.add("--mamba-cache-mode", *request.mamba_cache_mode);
  if (request.state_dtype) out.add("--mamba-ssm-cache-dtype", name(*request.state_dtype));
  vllm_extras(plan, out);
  return out.take();
}

// SGLang wants steps, breadth and verified tokens together, or picks all three by the model.
void sglang_drafts(const Plan& plan, Arguments& out) {
  constexpr std::uint64_t kGuesses = 3;
  const Request& request = plan.request;
  const DraftMethod method = *plan.draft_method;
  out.add("--speculative-algorithm", method == DraftMethod::kModel    ? "STANDALONE"
                                     : method == DraftMethod::kEagle3 ? "EAGLE3"
                                     : method == DraftMethod::kMtp    ? "NEXTN"
                                     : method == DraftMethod::kNgram  ? "NGRAM"
                                                                      : "EAGLE");
  if (const auto& draft = request.extras.draft; draft != nullptr)
    out.add("--speculative-draft-model-path", model_argument(*draft));
  if (const std::string_view type = draft_quantization(request); !type.empty())
    out.add("--speculative-draft-model-quantization", type);
  const std::uint64_t steps = request.num_speculative_tokens > 0 ? request.num_speculative_tokens : kGuesses;
  if (method != DraftMethod::kNgram) {
    out.add("--speculative-num-steps", steps);
    out.add("--speculative-eagle-topk", 1);
  }
  out.add("--speculative-num-draft-tokens", request.extras.verify_tokens.value_or(steps + 1));
}

// Source: sglang/srt/server_args.py, the choices of --kv-cache-dtype.
std::string_view sglang_kv_name(Dtype type) {
  switch (type) {
    case Dtype::kBfloat16:
    case Dtype::kFp8E4m3:
    case Dtype::kFp8E5m2: return name(type);
    case Dtype::kFp8DsMla: return "fp8_e4m3";  // what these models make of it
    case Dtype::kNvfp4: return "fp4_e2m1";
    default: return "";
  }
}

void sglang_budget(const Plan& plan, Arguments& out) {
  if (!plan.request.kv_cache_memory_bytes) {
    out.add_given("--max-total-tokens", plan.request.extras.max_total_tokens);
    return;
  }
  if (!plan.capacity || !plan.capacity->tokens || plan.kv_cache.bytes_per_sequence > Bytes(0))
    no_option("--kv-cache-memory-bytes", "SGLang sizes the pools of states by a share of the card",
              "name a card, and --mem-fraction-static");
  out.add("--max-total-tokens", *plan.capacity->tokens);
}

std::vector<std::string> sglang_arguments(const ModelSpec& model, const Plan& plan) {
  constexpr std::uint64_t kExpertSizes = 5;  // 0.4 deals them by a switch
  const Request& request = plan.request;
  check_kernel(request);
  Arguments out;
  for (const char* word : {"python", "-m", "sglang.launch_server", "--model-path"}) out.add(word);
  out.add(model_argument(model));
  out.add("--context-length", plan.load.max_model_len.count());
  out.add_given("--max-running-requests", request.max_num_seqs);
  out.add_ranks("--tp", request.tensor_parallel);
  out.add_ranks("--pp", request.pipeline_parallel);
  out.add_ranks("--dp", request.data_parallel);
  out.add_flag("--enable-dp-attention", request.dp_attention);
  if (request.expert_parallel) {
    if (engine_version(engine_of(request), request) < kExpertSizes)
      out.add("--enable-ep-moe");
    else
      out.add("--ep-size", request.tensor_parallel);
  }
  if (kv_chosen(request)) {
    const std::string_view type = sglang_kv_name(plan.types.key);
    if (type.empty() && plan.types.key != plan.types.model)
      no_option("--kv-cache-dtype " + std::string(name(plan.types.key)), "SGLang has no such choice",
                "use auto, bfloat16, fp8_e4m3 or fp8_e5m2");
    out.add("--kv-cache-dtype", type.empty() ? "auto" : type);
  }
  add_quantization(model, plan, out);
  if (request.dtype) out.add("--dtype", name(*request.dtype));
  if (request.state_dtype) out.add("--mamba-ssm-dtype", name(*request.state_dtype));
  if (request.memory_utilization) out.add_share("--mem-fraction-static", *request.memory_utilization);
  sglang_budget(plan, out);
  out.add_given("--page-size", request.block_size);
  if (request.max_num_batched_tokens) out.add("--chunked-prefill-size", request.max_num_batched_tokens->count());
  out.add_flag("--disable-cuda-graph", request.enforce_eager);
  if (request.cpu_offload) out.add_gib("--cpu-offload-gb", *request.cpu_offload);
  if (plan.draft_method) sglang_drafts(plan, out);
  lora_arguments(request.extras, "--max-loras-per-batch", out);
  out.add_given("--max-loaded-loras", request.extras.max_cpu_loras);
  if (!request.extras.adapters.empty()) out.add("--lora-paths");
  for (const AdapterFile& adapter : request.extras.adapters) out.add(adapter.source);
  if (!request.extras.mamba_strategy.empty()) out.add("--mamba-scheduler-strategy", request.extras.mamba_strategy);
  out.add_flag("--disable-radix-cache", request.extras.disable_radix_cache);
  if (request.extras.swa_ratio) out.add_share("--swa-full-tokens-ratio", *request.extras.swa_ratio);
  if (request.extras.state_ratio) out.add_share("--mamba-full-memory-ratio", *request.extras.state_ratio);
  out.add_given("--max-mamba-cache-size", request.extras.state_slots);
  return out.take();
}

std::string_view ggml_name(Dtype type) {
  switch (type) {
    case Dtype::kFloat16: return "f16";
    case Dtype::kBfloat16: return "bf16";
    case Dtype::kFloat32: return "f32";
    default: return name(type);
  }
}

void llama_extras(const Plan& plan, Arguments& out) {
  const ExtrasRequest& extras = plan.request.extras;
  if (extras.draft != nullptr) out.add("-md", model_argument(*extras.draft));
  if (plan.draft_method) {
    switch (*plan.draft_method) {
      case DraftMethod::kMtp: out.add("--spec-type", "draft-mtp"); break;
      case DraftMethod::kEagle3: out.add("--spec-type", "draft-eagle3"); break;
      case DraftMethod::kNgram: out.add("--spec-type", "ngram-mod"); break;
      default: break;  // what -md alone means
    }
    if (plan.request.num_speculative_tokens > 0) out.add("--draft-max", plan.request.num_speculative_tokens);
  }
  if (extras.draft_ctx) out.add("-cd", extras.draft_ctx->count());
  if (extras.draft_cache_type_k) out.add("-ctkd", ggml_name(*extras.draft_cache_type_k));
  if (extras.draft_cache_type_v) out.add("-ctvd", ggml_name(*extras.draft_cache_type_v));
  if (extras.draft_weights)
    no_option("--draft-weights " + *extras.draft_weights, "llama.cpp loads a draft as its file is",
              "name a draft of that type, and leave out --draft-weights");
  for (const AdapterFile& adapter : extras.adapters) out.add("--lora", adapter.source);
  if (extras.projector) out.add("--mmproj", extras.projector->source);
}

std::vector<std::string> llama_arguments(const ModelSpec& model, const Plan& plan) {
  constexpr std::uint64_t kAllLayers = 999999;
  const Request& request = plan.request;
  if (request.data_parallel > 1)
    no_option("--data-parallel-size", "llama-server has no copies", "start one server for each of them");
  if (model.is_gguf) check_own_weights(model, plan);
  Arguments out;
  out.add("llama-server");
  out.add("-m", model_argument(model));
  // llama.cpp's context is the total over all slots, unless they share one pool.
  const std::uint64_t slots = request.kv_unified ? 1 : request.sequences();
  out.add("-c", checked_mul(plan.load.max_model_len.count(), slots, "the total context"));
  out.add("-np", request.sequences());
  out.add("-ctk", ggml_name(plan.types.key));
  out.add("-ctv", ggml_name(plan.types.value));
  out.add_given("-b", request.batch);
  out.add_given("-ub", request.ubatch);
  out.add_given("-ngl", request.gpu_layers);
  if (request.flash_attention == FlashAttention::kOn) out.add("-fa", "on");
  if (request.flash_attention == FlashAttention::kOff) out.add("-fa", "off");
  out.add_flag("--kv-unified", request.kv_unified);
  out.add_flag("--swa-full", request.swa_full);
  out.add_flag("--no-kv-offload", request.no_kv_offload);
  if (request.cpu_moe_layers == kAllLayers)
    out.add("--cpu-moe");
  else
    out.add_given("--n-cpu-moe", request.cpu_moe_layers);
  llama_extras(plan, out);
  return out.take();
}

struct Launcher {
  std::string_view engine, image;
  std::vector<std::string> (*arguments)(const ModelSpec& model, const Plan& plan);
};

constexpr std::array kLaunchers{
    Launcher{"vllm", "vllm/vllm-openai:latest", vllm_arguments},
    Launcher{"sglang", "lmsysorg/sglang:latest", sglang_arguments},
    Launcher{"llama.cpp", "ghcr.io/ggml-org/llama.cpp:server-cuda", llama_arguments},
};

}  // namespace

Launch launch_of(const ModelSpec& model, const Plan& plan) {
  for (const Launcher& row : kLaunchers)
    if (row.engine == plan.request.engine) return {row.engine, row.image, row.arguments(model, plan)};
  Error error(Exit::kBadInput,
              "--format args and k8s write an engine's command line, and " + plan.request.engine + " has none here",
              "name one with --engine: " + join(kLaunchers, ", ", &Launcher::engine));
  error.set_source("command line");
  throw error;
}

}  // namespace kvplan
