// The command line of SGLang. Source: sglang/srt/server_args.py of 0.5.23.

#include <algorithm>

#include "engines/command_options.h"
#include "engines/engine.h"
#include "engines/launch_words.h"
#include "engines/sglang/rules.h"
#include "kvplan/error.h"
#include "kvplan/strings.h"

namespace kvplan {

// SGLang needs steps, breadth and verified tokens together. If none is given, it chooses all three by the model.
static void add_drafts(const LaunchInput& input, Arguments& out) {
  constexpr std::uint64_t kDefaultSteps = 3;
  const Request& request = *input.request;
  const DraftMethod method = *input.draft_method;
  out.add("--speculative-algorithm", method == DraftMethod::kModel    ? "STANDALONE"
                                     : method == DraftMethod::kEagle3 ? "EAGLE3"
                                     : method == DraftMethod::kDflash ? "DFLASH"
                                     : method == DraftMethod::kDspark ? "DSPARK"
                                     : method == DraftMethod::kNgram  ? "NGRAM"
                                                                      : "EAGLE");
  if (input.draft) out.add("--speculative-draft-model-path", input.draft->name);
  if (const std::string_view type = draft_quantization(input); !type.empty())
    out.add("--speculative-draft-model-quantization", type);
  const std::uint64_t steps = request.num_speculative_tokens > 0 ? request.num_speculative_tokens : kDefaultSteps;
  if (method != DraftMethod::kNgram) {
    out.add("--speculative-num-steps", steps);
    out.add("--speculative-eagle-topk", 1);
  }
  out.add("--speculative-num-draft-tokens", request.extras.verify_tokens.value_or(steps + 1));
}

// The choices of --kv-cache-dtype.
static std::string_view kv_name(Dtype type, bool has_block_types) {
  switch (type) {
    case Dtype::kBfloat16:
    case Dtype::kFp8E4m3:
    case Dtype::kFp8E5m2: return name(type);
    case Dtype::kFp8DsMla: return "fp8_e4m3";  // these models store it in this layout
    case Dtype::kNvfp4: return has_block_types ? "nvfp4" : "fp4_e2m1";
    case Dtype::kMxfp8: return has_block_types ? "mxfp8" : "";
    default: return "";
  }
}

static void add_budget(const LaunchInput& input, Arguments& out) {
  const Request& request = *input.request;
  if (!request.kv_cache_memory_bytes) {
    out.add_given("--max-total-tokens", request.extras.max_total_tokens);
    return;
  }
  if (!input.tokens)
    no_launch_option("--kv-cache-memory-bytes", "SGLang sizes the pools of states by a fraction of the GPU",
                     "give --gpu and --mem-fraction-static");
  out.add("--max-total-tokens", *input.tokens);
}

// A context beyond the model's own. SGLang refuses it unless an option allows it, and the positions need scaling. For a
// model without a maximum SGLang assumes one (get_context_length).
static void add_longer_context(const LaunchInput& input, Arguments& out, Launch& launch) {
  constexpr Tokens kOfNone{2048};
  const bool names_none = input.max_model_len == Tokens(0) && input.load.tokens_of_sequence() > kOfNone;
  if (!is_beyond(input) && !names_none) return;
  launch.environment.emplace_back("SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN", "1");
  if (names_none) return;
  if (const std::string keys = yarn_override(input, "rope_scaling"); keys.empty())
    launch.remarks.push_back(beyond_remark(input));
  else
    out.add("--json-model-override-args", keys);
}

// One command for each node.
static void add_nodes(const LaunchInput& input, const std::vector<std::string>& words, Launch& launch) {
  const Request& request = *input.request;
  const Nodes nodes = nodes_of(request.parallel.gpus());
  launch.gpus_per_node = nodes.gpus_each;
  if (nodes.count == 1) {
    launch.commands.push_back(words);
    return;
  }
  // arg_groups/validation_hook.py
  if (request.parallel.data > 1 && !request.parallel.dp_attention)
    no_launch_option("--data-parallel-size over " + std::to_string(nodes.count) + " nodes",
                     "SGLang runs all copies on one node", "start a server on each node, or use --enable-dp-attention");
  for (std::uint64_t node = 0; node < nodes.count; ++node) {
    Arguments out(words);
    out.add("--nnodes", nodes.count);
    out.add("--node-rank", node);
    out.add("--dist-init-addr", std::string(kFirstNode) + ":20000");
    launch.commands.push_back(out.take());
  }
}

EngineCommand sglang_command() {
  static constexpr std::string_view kPrograms[] = {"sglang serve", "-m sglang.launch_server",
                                                   "-m sglang.srt.entrypoints.http_server", "launch_server.py"};
  EngineCommand out{kPrograms, "", "sglang", sglang_option_lines, sglang_option_releases};
  out.package = "sglang";
  out.takes_beginnings = true;
  out.complete = [](CommandSettings& settings) {
    const std::string* method = settings.find("--speculative-method");
    const auto found = method != nullptr ? find_draft_method(*method) : std::nullopt;
    // The last accepted token is verified together with the n-grams (server_args.py).
    const std::string* verified = settings.find("--speculative-num-draft-tokens");
    if (found == DraftMethod::kNgram && verified != nullptr && settings.find("--num-speculative-tokens") == nullptr)
      settings.set("--num-speculative-tokens",
                   std::to_string(std::max<std::uint64_t>(whole_number(*verified).value_or(2), 2) - 1));
  };
  return out;
}

Launch sglang_launch(const LaunchInput& input) {
  const Request& request = *input.request;
  const ExtrasRequest& extras = request.extras;
  const SglangRules rules = sglang_rules(request);
  check_kernel(request);
  Launch launch = launch_from_checkpoint(
      input, {.image = "lmsysorg/sglang:latest", .port = 30000, .health = "/health", .store = "HF_HOME"});
  Arguments out{"python", "-m", "sglang.launch_server", "--model-path", input.model.name};
  out.add_revision(input);
  out.add("--context-length", input.load.max_model_len.count());
  add_longer_context(input, out, launch);
  // The total over all copies.
  if (request.max_num_seqs || request.sequences() > 1)
    out.add("--max-running-requests", request.max_num_seqs.value_or(request.sequences()));
  out.add_ranks("--tp-size", request.parallel.tensor);
  out.add_ranks("--pp-size", request.parallel.pipeline);
  add_partition("SGLANG_PP_LAYER_PARTITION", request.parallel, launch);
  out.add_flag("--enable-hierarchical-cache", request.sglang.host_cache);
  if (request.sglang.host_cache_ratio) out.add_share("--hicache-ratio", *request.sglang.host_cache_ratio);
  if (request.sglang.host_cache_size)
    out.add("--hicache-size", ceil_div(request.sglang.host_cache_size->count(), 1'000'000'000));
  if (request.sglang.deepep) out.add("--moe-a2a-backend", "deepep");
  out.add_flag("--enable-eplb", request.parallel.balances_experts);
  out.add_ranks("--dp-size", request.parallel.data);
  out.add_flag("--enable-dp-attention", request.parallel.dp_attention);
  if (request.parallel.expert) {
    if (rules.has_expert_size)
      out.add("--ep-size", request.parallel.tensor);
    else
      out.add("--enable-ep-moe");
  }
  if (request.parallel.redundant_experts > 0) out.add("--ep-num-redundant-experts", request.parallel.redundant_experts);
  if (kv_chosen(request)) {
    const std::string_view type = kv_name(input.types.key, rules.names_block_types);
    if (type.empty() && input.types.key != input.types.model)
      no_launch_option("--kv-cache-dtype " + std::string(name(input.types.key)), "SGLang has no such choice",
                       "use auto, bfloat16, fp8_e4m3 or fp8_e5m2");
    out.add("--kv-cache-dtype", type.empty() ? "auto" : type);
  }
  add_quantization(input, out);
  if (request.dtype) out.add("--dtype", name(*request.dtype));
  if (request.state_dtype) out.add("--mamba-ssm-dtype", name(*request.state_dtype));
  if (request.memory_utilization) out.add_share("--mem-fraction-static", *request.memory_utilization);
  add_budget(input, out);
  out.add_given("--page-size", request.block_size);
  if (request.max_num_batched_tokens) out.add("--chunked-prefill-size", request.max_num_batched_tokens->count());
  out.add_flag("--disable-cuda-graph", request.enforce_eager);
  if (request.cpu_offload) {
    if (request.cpu_offload->count() % kGiB != 0)
      no_launch_option("--cpu-offload-gb", "SGLang takes whole GiB", "name a whole number");
    out.add_gib("--cpu-offload-gb", *request.cpu_offload);
  }
  if (input.draft_method) add_drafts(input, out);
  add_lora(extras, "--max-loras-per-batch", out);
  out.add_given("--max-loaded-loras", extras.max_cpu_loras);
  if (!extras.adapters.empty()) out.add("--lora-paths");
  for (const AdapterFile& adapter : extras.adapters) out.add(adapter.source);
  if (!extras.mamba_strategy.empty())
    out.add(rules.renamed_strategy ? "--mamba-radix-cache-strategy" : "--mamba-scheduler-strategy",
            extras.mamba_strategy);
  out.add_flag("--disable-radix-cache", extras.disable_radix_cache);
  if (extras.swa_ratio) out.add_share("--swa-full-tokens-ratio", *extras.swa_ratio);
  if (extras.state_ratio) out.add_share("--mamba-full-memory-ratio", *extras.state_ratio);
  out.add_given("--max-mamba-cache-size", extras.state_slots);
  out.add_flag("--disable-hybrid-swa-memory", extras.one_pool);
  if (extras.graph_batch)
    out.add(rules.graph_options_by_phase ? "--cuda-graph-max-bs-decode" : "--cuda-graph-max-bs", *extras.graph_batch);
  if (!extras.attention_backend.empty()) out.add("--attention-backend", extras.attention_backend);
  if (!extras.moe_runner.empty()) out.add("--moe-runner-backend", extras.moe_runner);
  add_nodes(input, out.take(), launch);
  return launch;
}

}  // namespace kvplan
