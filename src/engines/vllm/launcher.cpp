// How vLLM is started. Source: vllm/engine/arg_utils.py and vllm/config of 0.33.
#include "engines/vllm/launcher.h"

#include "engines/launch_words.h"
#include "kvplan/error.h"
#include "kvplan/strings.h"

namespace kvplan {

namespace {

void add_extras(const LaunchInput& input, Arguments& out) {
  const Request& request = *input.request;
  const ExtrasRequest& extras = request.extras;
  if (input.draft_method) {
    std::string config = "{\"method\": \"" + std::string(name(*input.draft_method)) + "\"";
    if (!input.draft.empty()) config += ", \"model\": \"" + one_line(input.draft) + "\"";
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
std::string_view kv_name(Dtype type) {
  if (type == Dtype::kInt8) return "int8_per_token_head";
  if (type == Dtype::kInt4) return "int4_per_token_head";
  return name(type);
}

}  // namespace

Launch vllm_launch(const LaunchInput& input) {
  const Request& request = *input.request;
  check_kernel(request);
  Arguments out{"vllm", "serve", input.model};
  out.add("--max-model-len", input.load.max_model_len.count());
  out.add_given("--max-num-seqs", request.max_num_seqs);
  out.add_ranks("--tensor-parallel-size", request.tensor_parallel);
  out.add_ranks("--pipeline-parallel-size", request.pipeline_parallel);
  out.add_ranks("--data-parallel-size", request.data_parallel);
  out.add_ranks("--decode-context-parallel-size", request.decode_context_parallel);
  out.add_flag("--enable-expert-parallel", request.expert_parallel);
  if (kv_chosen(request)) out.add("--kv-cache-dtype", kv_name(input.types.key));
  add_quantization(input, out);
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
  add_extras(input, out);
  return {"vllm", "vllm/vllm-openai:latest", {}, {out.take()}};
}

}  // namespace kvplan
