// The plan as something to paste: the engine's own command line, and a container's resources and arguments.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "report/report.h"
#include "weights/types.h"

namespace kvplan {

namespace {

// One argument after the other; values are quoted only where a shell would break them.
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
  void add_share(std::string_view option, double value) { add(option, fmt::format("{:g}", value)); }
  const std::vector<std::string>& words() const { return words_; }

 private:
  std::vector<std::string> words_;
};

std::string quoted(const std::string& word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,@%+";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
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

// Options of extras that engines spell alike.
void lora_arguments(const ModelSpec& model, const Request& request, std::string_view slots, Arguments& out) {
  const ExtrasRequest& extras = request.extras;
  if (extras.wants_lora() || !model.adapters.empty()) out.add("--enable-lora");
  if (extras.max_loras) out.add(slots, *extras.max_loras);
  if (extras.max_lora_rank) out.add("--max-lora-rank", *extras.max_lora_rank);
  if (extras.lora_targets.empty()) return;
  out.add("--lora-target-modules");
  for (const std::string& target : extras.lora_targets) out.add(target);
}

void vllm_extras(const ModelSpec& model, const Plan& plan, Arguments& out) {
  const Request& request = plan.request;
  if (plan.draft_method) {
    std::string config = fmt::format("{{\"method\": \"{}\"", name(*plan.draft_method));
    if (model.draft != nullptr) config += fmt::format(", \"model\": \"{}\"", one_line(model_argument(*model.draft)));
    const std::uint64_t tokens = request.num_speculative_tokens > 0 ? request.num_speculative_tokens
                                 : request.mtp                      ? 1
                                                                    : 3;
    out.add("--speculative-config", config + fmt::format(", \"num_speculative_tokens\": {}}}", tokens));
  }
  lora_arguments(model, request, "--max-loras", out);
  if (request.extras.max_cpu_loras) out.add("--max-cpu-loras", *request.extras.max_cpu_loras);
  if (request.extras.fully_sharded_loras) out.add("--fully-sharded-loras");
  if (!model.adapters.empty()) out.add("--lora-modules");
  for (std::size_t i = 0; i < model.adapters.size(); ++i)
    out.add(fmt::format("adapter{}={}", i + 1, model.adapters[i].source));
  if (!request.extras.mm_limits.empty()) {
    std::string limits;
    for (const auto& [what, count] : request.extras.mm_limits)
      limits += fmt::format("{}\"{}\": {}", limits.empty() ? "" : ", ", what, count);
    out.add("--limit-mm-per-prompt", "{" + limits + "}");
  }
}

void sglang_extras(const ModelSpec& model, const Plan& plan, Arguments& out) {
  const Request& request = plan.request;
  if (plan.draft_method) {
    const DraftMethod method = *plan.draft_method;
    out.add("--speculative-algorithm", method == DraftMethod::kModel    ? "STANDALONE"
                                       : method == DraftMethod::kEagle3 ? "EAGLE3"
                                       : method == DraftMethod::kMtp    ? "NEXTN"
                                       : method == DraftMethod::kNgram  ? "NGRAM"
                                                                        : "EAGLE");
    if (model.draft != nullptr) out.add("--speculative-draft-model-path", model_argument(*model.draft));
    if (request.num_speculative_tokens > 0) out.add("--speculative-num-steps", request.num_speculative_tokens);
    if (request.extras.verify_tokens) out.add("--speculative-num-draft-tokens", *request.extras.verify_tokens);
  }
  lora_arguments(model, request, "--max-loras-per-batch", out);
  if (!model.adapters.empty()) out.add("--lora-paths");
  for (const AdapterFile& adapter : model.adapters) out.add(adapter.source);
  if (!request.extras.mamba_strategy.empty()) out.add("--mamba-scheduler-strategy", request.extras.mamba_strategy);
  if (request.extras.disable_radix_cache) out.add("--disable-radix-cache");
}

void llama_extras(const ModelSpec& model, const Plan& plan, Arguments& out) {
  const ExtrasRequest& extras = plan.request.extras;
  if (model.draft != nullptr) {
    out.add("-md", model_argument(*model.draft));
    if (plan.request.num_speculative_tokens > 0) out.add("--draft-max", plan.request.num_speculative_tokens);
    if (extras.draft_ctx) out.add("-cd", extras.draft_ctx->count());
  }
  for (const AdapterFile& adapter : model.adapters) out.add("--lora", adapter.source);
  if (model.projector) out.add("--mmproj", model.projector->source);
}

// vLLM and SGLang quantize while they load to these alone; any other type is the checkpoint's own, and no option.
std::string_view online_quantization(const Request& request) {
  const WeightType* type = request.weights ? find_weight_type(*request.weights) : nullptr;
  if (type == nullptr) return "";
  if (type->name == "fp8" || type->name == "fp8-channel") return "fp8";
  return type->name == "bnb-nf4" ? "bitsandbytes" : "";
}

void vllm_arguments(const ModelSpec& model, const Plan& plan, Arguments& out) {
  const Request& request = plan.request;
  for (const char* word : {"vllm", "serve"}) out.add(word);
  out.add(model_argument(model));
  out.add("--max-model-len", plan.load.max_model_len.count());
  out.add("--max-num-seqs", request.max_num_seqs.value_or(std::max<std::uint64_t>(1, request.sequences())));
  if (request.tensor_parallel > 1) out.add("--tensor-parallel-size", request.tensor_parallel);
  if (request.pipeline_parallel > 1) out.add("--pipeline-parallel-size", request.pipeline_parallel);
  if (request.data_parallel > 1) out.add("--data-parallel-size", request.data_parallel);
  if (request.decode_context_parallel > 1) out.add("--decode-context-parallel-size", request.decode_context_parallel);
  if (request.expert_parallel) out.add("--enable-expert-parallel");
  if (kv_chosen(request)) out.add("--kv-cache-dtype", name(plan.types.key));
  if (const std::string_view type = online_quantization(request); !type.empty()) out.add("--quantization", type);
  if (request.dtype) out.add("--dtype", name(*request.dtype));
  if (request.memory_utilization) out.add_share("--gpu-memory-utilization", *request.memory_utilization);
  if (request.kv_cache_memory_bytes) out.add("--kv-cache-memory-bytes", request.kv_cache_memory_bytes->count());
  if (request.block_size) out.add("--block-size", *request.block_size);
  if (request.max_num_batched_tokens) out.add("--max-num-batched-tokens", request.max_num_batched_tokens->count());
  if (request.enforce_eager) out.add("--enforce-eager");
  if (request.cpu_offload) out.add("--cpu-offload-gb", ceil_div(request.cpu_offload->count(), std::uint64_t{1} << 30));
  if (request.host_kv_cache)
    out.add("--kv-offloading-size", ceil_div(request.host_kv_cache->count(), std::uint64_t{1} << 30));
  if (!request.hybrid_manager) out.add("--disable-hybrid-kv-cache-manager");
  if (request.prefix_caching) out.add("--enable-prefix-caching");
  vllm_extras(model, plan, out);
}

void sglang_arguments(const ModelSpec& model, const Plan& plan, Arguments& out) {
  const Request& request = plan.request;
  for (const char* word : {"python", "-m", "sglang.launch_server", "--model-path"}) out.add(word);
  out.add(model_argument(model));
  out.add("--context-length", plan.load.max_model_len.count());
  out.add("--max-running-requests", request.max_num_seqs.value_or(std::max<std::uint64_t>(1, request.sequences())));
  if (request.tensor_parallel > 1) out.add("--tp", request.tensor_parallel);
  if (request.pipeline_parallel > 1) out.add("--pp", request.pipeline_parallel);
  if (request.data_parallel > 1) out.add("--dp", request.data_parallel);
  if (request.dp_attention) out.add("--enable-dp-attention");
  if (kv_chosen(request)) out.add("--kv-cache-dtype", name(plan.types.key));
  if (const std::string_view type = online_quantization(request); !type.empty()) out.add("--quantization", type);
  if (request.memory_utilization) out.add_share("--mem-fraction-static", *request.memory_utilization);
  if (request.block_size) out.add("--page-size", *request.block_size);
  if (request.max_num_batched_tokens) out.add("--chunked-prefill-size", request.max_num_batched_tokens->count());
  if (request.enforce_eager) out.add("--disable-cuda-graph");
  if (request.cpu_offload) out.add("--cpu-offload-gb", ceil_div(request.cpu_offload->count(), std::uint64_t{1} << 30));
  sglang_extras(model, plan, out);
}

std::string_view ggml_name(Dtype type) {
  switch (type) {
    case Dtype::kFloat16: return "f16";
    case Dtype::kBfloat16: return "bf16";
    case Dtype::kFloat32: return "f32";
    default: return name(type);
  }
}

void llama_arguments(const ModelSpec& model, const Plan& plan, Arguments& out) {
  const Request& request = plan.request;
  out.add("llama-server");
  out.add("-m", model_argument(model));
  // llama.cpp's context is the total over all slots, unless they share one pool.
  const std::uint64_t slots = request.kv_unified ? 1 : request.sequences();
  out.add("-c", checked_mul(plan.load.max_model_len.count(), slots, "the total context"));
  out.add("-np", request.sequences());
  out.add("-ctk", ggml_name(plan.types.key));
  out.add("-ctv", ggml_name(plan.types.value));
  if (request.batch) out.add("-b", *request.batch);
  if (request.ubatch) out.add("-ub", *request.ubatch);
  if (request.gpu_layers) out.add("-ngl", *request.gpu_layers);
  if (request.flash_attention == FlashAttention::kOn) out.add("-fa", "on");
  if (request.flash_attention == FlashAttention::kOff) out.add("-fa", "off");
  if (request.kv_unified) out.add("--kv-unified");
  if (request.swa_full) out.add("--swa-full");
  if (request.no_kv_offload) out.add("--no-kv-offload");
  if (request.cpu_moe_layers) out.add("--n-cpu-moe", *request.cpu_moe_layers);
  llama_extras(model, plan, out);
}

struct Launcher {
  std::string_view engine;
  std::string_view image;
  void (*arguments)(const ModelSpec& model, const Plan& plan, Arguments& out);
};
constexpr std::array kLaunchers{
    Launcher{"vllm", "vllm/vllm-openai:latest", vllm_arguments},
    Launcher{"sglang", "lmsysorg/sglang:latest", sglang_arguments},
    Launcher{"llama.cpp", "ghcr.io/ggml-org/llama.cpp:server-cuda", llama_arguments},
};

const Launcher& launcher_of(const Plan& plan) {
  for (const Launcher& row : kLaunchers)
    if (row.engine == plan.request.engine) return row;
  std::string known;
  for (const Launcher& row : kLaunchers) known += (known.empty() ? "" : ", ") + std::string(row.engine);
  fail("--format args and k8s write an engine's command line, and " + plan.request.engine + " has none here",
       "name one with --engine: " + known);
}

// YAML's plain style breaks on many characters; double quotes with JSON's escapes never do.
std::string yaml_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
  }
  return out + "\"";
}

}  // namespace

std::string plan_args(const ModelSpec& model, const Plan& plan, const ReportOptions&) {
  Arguments arguments;
  launcher_of(plan).arguments(model, plan, arguments);
  std::string out;
  for (const std::string& word : arguments.words()) out += (out.empty() ? "" : " ") + quoted(word);
  return out + "\n";
}

std::string plan_k8s(const ModelSpec& model, const Plan& plan, const ReportOptions&) {
  const Launcher& launcher = launcher_of(plan);
  Arguments arguments;
  launcher.arguments(model, plan, arguments);
  std::string out =
      fmt::format("containers:\n  - name: {}\n    image: {}\n    command:\n",
                  launcher.engine == "llama.cpp" ? "llama-cpp" : launcher.engine, yaml_string(launcher.image));
  bool first = true;
  for (const std::string& word : arguments.words()) {
    out += fmt::format("      - {}\n", yaml_string(word));
    if (first) out += "    args:\n";
    first = false;
  }
  return out + fmt::format("    resources:\n      limits:\n        nvidia.com/gpu: {}\n", plan.memory.size());
}

}  // namespace kvplan
