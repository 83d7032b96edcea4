// Lines of vLLM's log about failed starts, refusals and load. Source: v1/core/kv_cache_utils.py,
// v1/worker/gpu_worker.py and cpu_worker.py, config/*.py, v1/metrics/loggers.py; of V0: worker/worker.py,
// core/scheduler.py, engine/metrics.py. Wordings that changed have one row per wording.
#include "engines/log_lines.h"
#include "engines/vllm/log_failures.h"
#include "engines/vllm/rules.h"

namespace kvplan {

using enum LogEventId;

// The figures of vLLM's log, oldest wording first. Its older "GB" is also 2^30 bytes.
constexpr LogTemplate kFigures[] = {
    // The release, and the command that started it.
    log_phase(StartPhase::kServer, "vLLM API server version {api_version:word}"),
    log_phase(StartPhase::kServer, "\u2588 version {version:word}"),  // after the banner's block letters
    log_figure("] version {version:word}"),
    log_figure("vllm-openai:v{version:word}"),
    log_figure("vllm=={version:word}"),
    log_figure("Successfully installed {*} vllm-{version:word}"),
    log_figure("vLLM Version: {version:word}"),
    log_figure("vLLM version {version:word}"),
    log_phase(StartPhase::kEngine, "vLLM server version {version:word}"),
    log_phase(StartPhase::kEngine, "LLM engine (v{version:word}"),
    log_figure("LLM engine (v{*}) with config: {has_arguments:word}"),
    log_figure("non-default args: {has_arguments:text}"),
    log_figure("model_tag{=}{model:word}"),
    log_figure("with config: model{=}{model:word}"),
    log_figure("tensor_parallel_size{=}{tensor_parallel}"),
    log_figure("pipeline_parallel_size{=}{pipeline_parallel}"),
    log_figure("data_parallel_size{=}{data_parallel}"),
    log_figure("decode_context_parallel_size{=}{context_parallel}"),
    log_figure("world_size={world_size} rank="),
    log_figure("enable_expert_parallel{=}{expert_parallel:word}"),
    log_figure("max_model_len{=}{max_model_len:tokens}"),
    log_figure("max_seq_len{=}{max_model_len:tokens}"),
    log_figure("kv_cache_dtype{=}{kv_cache_dtype:word}"),
    log_figure("quantization{=}{quantization:word}"),
    log_figure("dtype{=}{dtype:word}"),
    log_figure("enforce_eager{=}{enforce_eager:word}"),
    log_figure("chunked_prefill_enabled{=}{chunked_prefill:word}"),
    log_figure("enable_chunked_prefill{=}{chunked_prefill:word}"),
    log_figure("enable_prefix_caching{=}{prefix_caching:word}"),
    log_figure("max_num_seqs{=}{max_num_seqs}"),
    log_figure("max_num_batched_tokens{=}{max_num_batched_tokens:tokens}"),
    log_figure("max_num_scheduled_tokens is set to {max_num_batched_tokens:tokens}"),
    log_figure("gpu_memory_utilization{=}{memory_utilization:share}"),
    log_figure("The current --gpu-memory-utilization={memory_utilization:share}"),
    log_figure("kv_cache_memory_bytes{=}{kv_cache_memory_bytes:B}"),
    log_figure("mamba_cache_mode{=}{mamba_cache_mode:word}"),
    log_figure("mamba_ssm_cache_dtype{=}{state_dtype:word}"),
    log_figure("num_speculative_tokens{=}{num_speculative_tokens}"),
    log_figure("num_spec_tokens{=}{num_speculative_tokens}"),
    log_figure("'method{=}{speculative_method:word}"),
    log_figure("SpeculativeConfig(method{=}{speculative_method:word}"),
    log_figure("FULL={graphs_full} (largest={largest_graph}"),

    // Weights.
    log_phase(StartPhase::kWeights, "Loading model weights took {weights:size}", "", "0.7"),
    log_phase(StartPhase::kWeights, "Model loading took {weights:size}"),
    log_figure("GiB memory and {*} seconds", "0.12"),
    log_phase(StartPhase::kWeights, "Model loading took {*} GiB and", "",
              "0.29"),  // until 0.11; of the new runner since 0.26

    // V0's profile.
    log_figure("total_gpu_memory={gpu_memory:size}", "", "0.6"),
    log_figure("initial_memory_usage={initial_usage:size}", "", "0.6"),
    log_figure("peak_torch_memory={peak_torch:size}"),
    log_figure("memory_usage_post_profile={usage_after_profile:size}"),
    log_figure("non_torch_memory={non_torch:size}"),
    log_figure("kv_cache_size={kv_budget:size} gpu_memory_utilization={gpu_memory_utilization:share}"),
    log_figure("total_gpu_memory ({gpu_memory:size}) x gpu_memory_utilization ({gpu_memory_utilization:share}) = "
               "{requested_memory:size}",
               "", "0.9"),
    log_figure("model weights take {weights:size}"),
    log_figure("non_torch_memory takes {non_torch:size}"),
    log_figure("PyTorch activation peak memory takes {activation:size}"),
    log_figure("reserved for KV Cache is {kv_budget:size}"),
    log_figure("# GPU blocks: {num_blocks:blocks}"),
    log_figure("# CUDA blocks: {num_blocks:blocks}"),
    log_figure("# cuda blocks: {num_blocks:blocks}"),
    log_figure("# ROCM blocks: {num_blocks:blocks}"),
    log_figure("# rocm blocks: {num_blocks:blocks}"),
    log_figure("# XPU blocks: {num_blocks:blocks}"),
    log_figure("# xpu blocks: {num_blocks:blocks}"),
    log_figure("# HPU blocks: {num_blocks:blocks}"),
    log_figure("# NPU blocks: {num_blocks:blocks}"),
    log_figure("# cpu blocks: {num_blocks:blocks}"),
    log_figure("# CPU blocks: {cpu_blocks:blocks}", "", "0.9"),
    log_figure("Maximum concurrency for {max_model_len:tokens} tokens per request: {max_concurrency:x}x"),

    // V1's profile run at DEBUG level: the wording since #19312, then the older one.
    log_figure(
        "Peak torch memory: {peak_torch:size}, non-torch forward-pass memory: {non_torch:size}, available KVCache "
        "memory: {kv_budget:size}",
        "0.8", "0.9"),
    log_figure("Initial free memory: {free_memory:size}"),
    log_figure("Requested memory: {gpu_memory_utilization:share} (util), {requested_memory:size}", "0.9"),
    log_figure("torch peak memory increase: {activation:size}", "0.9"),
    log_figure("non-torch forward increase memory: {non_torch:size}", "0.9"),
    log_figure("weights memory: {weights:size}.", "0.9"),

    // V1.
    log_figure("Available KV cache memory: {kv_budget:size}", "0.9"),
    // Lines of the CPU backend.
    log_figure("Explicitly set ({kv_budget:GiB}/{*}) GiB for KV cache on node"),
    log_figure("Auto set ({kv_budget:GiB}/{*}) GiB for KV cache on node"),
    log_figure("Available memory: {kv_budget:B}, total memory: {gpu_memory:B}"),
    log_phase(StartPhase::kCache, "KV cache size: {kv_tokens:tokens} tokens"),
    log_figure("tokens, Maximum concurrency", "0.27"),
    log_figure("Free memory on device ({free_memory:GiB}/{gpu_memory:size}) on startup", "0.9"),
    log_figure("Free memory on device cuda:{*} ({free_memory:GiB}/{gpu_memory:size}) on startup", "0.9"),
    log_figure("GPU memory utilization is ({gpu_memory_utilization:share}, {requested_memory:size})", "0.9"),
    log_figure("Actual usage is {weights:size} for weight, {activation:size} for peak activation, {non_torch:size} for "
               "non-torch memory, and {cuda_graphs:size}",
               "0.10", "0.26"),
    log_figure("Actual usage is {consumed:size} for consumed memory (weights + non-torch), {activation:size} for peak "
               "activation, and {cuda_graphs:size} for CUDAGraph memory",
               "0.27"),
    log_figure("{activation:size} for peak activation. Replace", "0.27"),
    log_figure("Current kv cache memory in use is {kv_in_use:size}"),
    log_figure("Estimated CUDA graph memory: {cuda_graphs_estimated:size}", "0.17"),
    log_figure("In v0.19, CUDA graph memory profiling will be enabled by default", "0.17", "0.20"),
    log_figure("CUDA graph memory profiling is enabled (default since v0.21.0)", "0.21"),
    log_figure("CUDA graph pool memory: {cuda_graphs:size} (actual)", "0.17"),
    log_figure("Graph capturing finished in {*} secs, took {cuda_graphs:size}"),
    log_figure("Setting attention block size to {block_size:tokens} tokens"),
    log_figure("Overriding num_gpu_blocks={num_blocks_found:blocks} with "
               "num_gpu_blocks_override={num_blocks_override:blocks}"),
    log_figure("max seq len ({max_model_len:tokens}),"),
    log_phase(
        StartPhase::kCache,
        "max seq len ({max_model_len:tokens}) is larger than the maximum number of tokens that can be stored in KV "
        "cache ({kv_tokens:tokens})",
        "", "0.9"),
    log_figure("{kv_needed:GiB} GiB KV cache is needed"),
    log_figure("larger than the available KV cache memory ({kv_budget:size})"),
    log_figure("estimated maximum model length is {max_model_len_estimated:tokens}"),

    // Names of processes.
    log_figure("(VllmWorkerProcess pid=", "", "0.9"),
    log_figure("(VllmWorker rank=", "0.8", "0.10"),
    log_figure("(EngineCore_0 pid=", "0.10", "0.10"),
    log_figure("(EngineCore_DP0 pid=", "0.10", "0.17"),
    log_figure("(EngineCore pid=", "0.17"),
};

// Its Prometheus page.
constexpr LogTemplate kMetrics[] = {
    log_metric("vllm:num_requests_running", "running"),
    log_metric("vllm:num_requests_waiting", "waiting"),
    log_metric("vllm:kv_cache_usage_perc", "usage"),
    log_metric("vllm:gpu_cache_usage_perc", "usage"),
    log_metric("vllm:prefix_cache_queries_total", "queries"),
    log_metric("vllm:prefix_cache_hits_total", "hits"),
    log_metric("vllm:gpu_prefix_cache_queries_total", "queries"),
    log_metric("vllm:gpu_prefix_cache_hits_total", "hits"),
    log_metric("vllm:num_preemptions_total", "preemptions"),
};

constexpr StageMark kStages[] = {
    {"Starting to load model", StartStage::kProcess},
    {"Loading model weights took", StartStage::kWeights},
    {"Loading weights took", StartStage::kWeights},
    {"Model loading took", StartStage::kWeights},
    {"Available KV cache memory", StartStage::kProfile},
    // Its CPU backend prints no line about the weights. Without compilation it does not warm up either.
    {"Warming up model for the compilation", StartStage::kWeights},
    {"Warming up done", StartStage::kProfile},
    {"GiB for KV cache on node", StartStage::kWeights},
    {"Graph capturing finished", StartStage::kCache},
    {"init engine (profile, create kv cache", StartStage::kCache},
    {"Application startup complete", StartStage::kServing},
};

constexpr RemedyRule kRemedies[] = {
    {kNoBfloat16, "@float16:--dtype half"},
    {kLengthBeyondModel,
     "@shorter_length {longest}; @longer_by_override:--hf-overrides '{\"max_position_embeddings\": {max_model_len}}'"},
    {kBatchBelowLength,
     "@chunked_prefill:--enable-chunked-prefill; @larger_batch {max_model_len}; @shorter_length {batch}"},
    {kTooFewCards, "@across_nodes:--distributed-executor-backend ray; @ranks_that_divide {cards}; @other_card"},
};

static std::string_view remark(const Request& request) {
  if (vllm_rules(request).tokens_from_concurrency) return "";
  return "before vLLM 0.21, \"GPU KV cache size\" is not the capacity of a model with several kinds of layers. It is "
         "blocks / groups * block size. Since 0.21 it is concurrency * length";
}

EngineLog vllm_log() {
  EngineLog out{.figures = kFigures, .events = kVllmLogEvents, .stages = kStages};
  out.options = {.length = "--max-model-len",
                 .share = "--gpu-memory-utilization",
                 .cache_type = "--kv-cache-dtype",
                 .eight_bit = "fp8",
                 .ranks = "--tensor-parallel-size",
                 .stages = "--pipeline-parallel-size",
                 .batch = "--max-num-batched-tokens",
                 .sequences = "--max-num-seqs",
                 .no_graphs = "--enforce-eager",
                 .cache_size = "--kv-cache-memory-bytes",
                 .cpu_cache = "VLLM_CPU_KVCACHE_SPACE",
                 .experts = "--enable-expert-parallel",
                 .images = "--limit-mm-per-prompt",
                 .one_image = "'{\"image\": 1}'"};
  out.remedies = kRemedies;
  out.metrics = kMetrics;
  out.profiles_prompt = true;
  out.patched_release = "0.20";
  out.remark = remark;
  return out;
}

}  // namespace kvplan
