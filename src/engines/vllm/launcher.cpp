// The command line of vLLM. Source: vllm/engine/arg_utils.py and vllm/config of 0.33.
#include "engines/vllm/vllm.h"

#include <algorithm>

#include "engines/command_options.h"
#include "engines/engine.h"
#include "engines/launch_words.h"
#include "engines/vllm/rules.h"
#include "kvplan/error.h"
#include "kvplan/strings.h"

namespace kvplan {

static void add_extras(const LaunchInput& input, Arguments& out) {
  const Request& request = *input.request;
  const ExtrasRequest& extras = request.extras;
  if (input.draft_method) {
    std::string config = "{\"method\": \"" + std::string(name(*input.draft_method)) + "\"";
    if (input.draft) config += ", \"model\": " + json_string(input.draft->name);
    if (const std::string_view type = draft_quantization(input); !type.empty())
      config += ", \"quantization\": \"" + std::string(type) + "\"";
    const std::uint64_t tokens = request.num_speculative_tokens > 0 ? request.num_speculative_tokens
                                 : request.mtp                      ? 1
                                                                    : 3;
    out.add("--speculative-config", config + ", \"num_speculative_tokens\": " + std::to_string(tokens) + "}");
  }
  add_lora(extras, "--max-loras", out);
  out.add_given("--max-cpu-loras", extras.max_cpu_loras);
  out.add_flag("--fully-sharded-loras", extras.fully_sharded_loras);
  if (!extras.adapters.empty()) out.add("--lora-modules");
  for (std::size_t i = 0; i < extras.adapters.size(); ++i)
    out.add("adapter" + std::to_string(i + 1) + "=" + extras.adapters[i].source);
  out.add_flag("--language-model-only", extras.language_model_only);
  if (!extras.mm_limits.empty()) {
    const auto limit = [](const auto& each) { return "\"" + each.first + "\": " + std::to_string(each.second); };
    out.add("--limit-mm-per-prompt", "{" + join(extras.mm_limits, ", ", limit) + "}");
  }
}

// vllm/config/cache.py, CacheDType.
static std::string_view kv_name(Dtype type) {
  if (type == Dtype::kInt8) return "int8_per_token_head";
  if (type == Dtype::kInt4) return "int4_per_token_head";
  return name(type);
}

constexpr std::uint64_t kRpcPort = 13345;  // any free port, the same on all nodes

// A context beyond the model's own. vLLM refuses it unless an option allows it, and the positions need scaling.
static void add_longer_context(const LaunchInput& input, const VllmRules& rules, Arguments& out, Launch& launch) {
  if (!is_beyond(input)) return;
  launch.environment.emplace_back("VLLM_ALLOW_LONG_MAX_MODEL_LEN", "1");
  const std::string keys = yarn_override(input, rules.rope_parameters ? "rope_parameters" : "rope_scaling");
  if (keys.empty())
    launch.remarks.push_back(beyond_remark(input));
  else
    out.add("--hf-overrides", keys);
}

// One command per node. Copies that fit in a node are data parallel over the nodes. A copy that spans nodes is started
// with the number of its nodes.
static void add_nodes(const LaunchInput& input, const VllmRules& rules, const std::vector<std::string>& words,
                      Launch& launch) {
  const Request& request = *input.request;
  const std::uint64_t copy = request.parallel.tensor * request.parallel.pipeline;
  if (request.parallel.gpus() <= kGpusOfNode) {
    launch.commands.push_back(words);
    launch.gpus_per_node = request.parallel.gpus();
    return;
  }
  const bool spans = copy > kGpusOfNode;
  if (spans && !rules.spans_nodes)
    no_launch_option("a layout over several nodes", "vLLM has --nnodes since 0.12",
                     "name a newer release, or start Ray on the nodes");
  const Nodes of_copy = nodes_of(copy);
  const std::uint64_t copies_each = spans ? 1 : kGpusOfNode / copy;
  launch.gpus_per_node = spans ? of_copy.gpus_each : copies_each * copy;
  const std::uint64_t count =
      spans ? of_copy.count * request.parallel.data : ceil_div(request.parallel.data, copies_each);
  for (std::uint64_t node = 0; node < count; ++node) {
    Arguments out(words);
    if (spans) {
      out.add("--nnodes", count);
      out.add("--node-rank", node);
      out.add("--master-addr", kFirstNode);
    } else {
      const std::uint64_t first = node * copies_each;
      out.add("--data-parallel-size-local", std::min(copies_each, request.parallel.data - first));
      if (node > 0) out.add("--data-parallel-start-rank", first);
      out.add("--data-parallel-address", kFirstNode);
      out.add("--data-parallel-rpc-port", kRpcPort);
    }
    out.add_flag("--headless", node > 0);
    launch.commands.push_back(out.take());
  }
}

// A connector's cache in host memory: bytes of all ranks together or of each rank. For LMCache it is GiB of each rank,
// and 5 if its variable is not set.
static void complete_host_cache(CommandSettings& settings) {
  const auto number = [&](std::string_view option, double other) {
    const std::string* text = settings.find(option);
    double value = other;
    if (text != nullptr) parse_real(*text, value);
    return value;
  };
  const double ranks = number("--tensor-parallel-size", 1) * number("--pipeline-parallel-size", 1);
  double gib = number("@host-cache-bytes", 0) / kGiB;
  if (settings.find("@host-cache-rank") != nullptr) gib = number("@host-cache-rank", 0) / kGiB * ranks;
  if (settings.find("@host-cache-lmcache") != nullptr) gib = number("@host-cache-lmcache-size", 5) * ranks;
  if (gib > 0 && settings.find("--kv-offloading-size") == nullptr)
    settings.set("--kv-offloading-size", shares_text({gib}));
  for (const std::string_view used :
       {"@host-cache-bytes", "@host-cache-rank", "@host-cache-lmcache", "@host-cache-lmcache-size"})
    settings.remove(used);
}

// Speculative decoding with the model's own layers needs no other model.
static void complete_command(CommandSettings& settings) {
  complete_host_cache(settings);
  const std::string* method = settings.find("--speculative-method");
  if (method != nullptr && find_draft_method(*method) == DraftMethod::kMtp) settings.remove("--draft");
}

EngineCommand vllm_command() {
  static constexpr std::string_view kPrograms[] = {"vllm serve", "-m vllm.entrypoints.openai.api_server",
                                                   "-m vllm.entrypoints.cli.main serve", "api_server.py"};
  EngineCommand out{kPrograms, "vllm-openai", "vllm", vllm_option_lines, vllm_option_releases};
  out.package = "vllm";
  out.takes_model = out.takes_beginnings = out.takes_underscores = true;
  out.complete = complete_command;
  return out;
}

Launch vllm_launch(const LaunchInput& input) {
  const Request& request = *input.request;
  const VllmRules rules = vllm_rules(request);
  check_kernel(request);
  Launch launch = launch_from_checkpoint(
      input,
      {.image = "vllm/vllm-openai:latest", .port = 8000, .health = "/health", .store = "HF_HOME", .listens = true});
  Arguments out{"vllm", "serve", input.model.name};
  out.add_revision(input);
  out.add("--max-model-len", input.load.max_model_len.count());
  add_longer_context(input, rules, out, launch);
  // The plan's number of sequences is per copy, and so is vLLM's limit.
  if (request.max_num_seqs || input.load.num_seqs > 1)
    out.add("--max-num-seqs", request.max_num_seqs.value_or(input.load.num_seqs));
  out.add_ranks("--tensor-parallel-size", request.parallel.tensor);
  out.add_ranks("--pipeline-parallel-size", request.parallel.pipeline);
  out.add_ranks("--data-parallel-size", request.parallel.data);
  out.add_ranks("--decode-context-parallel-size", request.parallel.decode_context);
  out.add_flag("--enable-expert-parallel", request.parallel.expert);
  out.add_flag("--enable-eplb", request.parallel.balances_experts);
  if (request.parallel.redundant_experts > 0)
    out.add("--eplb-config", "{\"num_redundant_experts\":" + std::to_string(request.parallel.redundant_experts) + "}");
  if (request.vllm.engram_on_gpu) out.add("--engram-config", R"({"cpu_offload": false})");
  if (request.vllm.all2all_backend) out.add("--all2all-backend", *request.vllm.all2all_backend);
  if (!request.extras.attention_backend.empty()) out.add("--attention-backend", request.extras.attention_backend);
  if (kv_chosen(request)) out.add("--kv-cache-dtype", kv_name(input.types.key));
  add_quantization(input, out);
  if (request.dtype) out.add("--dtype", name(*request.dtype));
  if (request.memory_utilization) out.add_share("--gpu-memory-utilization", *request.memory_utilization);
  if (request.kv_cache_memory_bytes) out.add("--kv-cache-memory-bytes", request.kv_cache_memory_bytes->count());
  out.add_given("--block-size", request.block_size);
  if (request.max_num_batched_tokens) out.add("--max-num-batched-tokens", request.max_num_batched_tokens->count());
  out.add_flag("--enforce-eager", request.enforce_eager);
  if (!request.vllm.graph_mode.empty()) out.add("--compilation-config.cudagraph_mode", request.vllm.graph_mode);
  if (request.cpu_offload) out.add_gib("--cpu-offload-gb", *request.cpu_offload);
  if (request.vllm.host_kv_cache) out.add_gib("--kv-offloading-size", *request.vllm.host_kv_cache);
  if (request.vllm.swap_space) out.add_gib("--swap-space", *request.vllm.swap_space);
  out.add_flag("--disable-hybrid-kv-cache-manager", !request.vllm.hybrid_manager);
  out.add_flag("--enable-prefix-caching", request.prefix_caching == true);
  out.add_flag("--no-enable-prefix-caching", request.prefix_caching == false);
  if (request.vllm.mamba_cache_mode) out.add("--mamba-cache-mode", *request.vllm.mamba_cache_mode);
  out.add_given("--mamba-block-size", request.vllm.mamba_block_size);
  out.add_flag("--enable-sleep-mode", request.vllm.sleeps);
  if (request.state_dtype) out.add("--mamba-ssm-cache-dtype", name(*request.state_dtype));
  add_partition("VLLM_PP_LAYER_PARTITION", request.parallel, launch);
  add_extras(input, out);
  add_nodes(input, rules, out.take(), launch);
  return launch;
}

}  // namespace kvplan
