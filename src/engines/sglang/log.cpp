// Lines of SGLang's log about failed starts, refusals and load. Source: srt/model_executor/*configurator.py and
// model_runner.py, srt/managers/scheduler*.py, srt/model_executor/cuda_graph_runner.py, srt/layers/quantization/fp8.py.
#include "engines/log_lines.h"

namespace kvplan {

using enum LogEventId;

// The figures of SGLang's log. Its "GB" is 2^30 bytes.
constexpr LogTemplate kFigures[] = {
    // The command that started it: server_args=ServerArgs(...).
    log_phase(StartPhase::kEngine, "server_args=ServerArgs(model_path{=}{model:word}"),
    log_figure("server_args=ServerArgs({has_arguments:word}"),
    log_phase(StartPhase::kEngine, "sglang version {version:word}"),
    log_phase(StartPhase::kEngine, "SGLang version: {version:word}"),
    log_figure("lmsysorg/sglang:v{version:word}"),
    log_figure("sglang=={version:word}"),
    log_figure("sglang[all]=={version:word}"),
    log_figure("Successfully installed {*} sglang-{version:word}"),
    log_figure("tp_size{=}{tensor_parallel}"),
    log_figure("pp_size{=}{pipeline_parallel}"),
    log_figure("dp_size{=}{data_parallel}"),
    log_figure("ep_size{=}{expert_ranks}"),
    log_figure("enable_dp_attention{=}{dp_attention:word}"),
    log_figure("context_length{=}{max_model_len:tokens}"),
    log_figure("context_len={max_model_len:tokens}"),
    log_figure("max_running_requests{=}{max_num_seqs}"),
    log_figure("mem_fraction_static{=}{memory_utilization:share}"),
    log_figure("chunked_prefill_size{=}{max_num_batched_tokens:tokens}"),
    log_figure("speculative_algorithm{=}{speculative_method:word}"),
    log_figure("speculative_num_draft_tokens{=}{num_speculative_tokens}"),
    log_figure("kv_cache_dtype{=}{kv_cache_dtype:word}"),
    log_figure("quantization{=}{quantization:word}"),
    log_figure("Using KV cache dtype: {kv_cache_dtype:word}"),
    log_figure("page_size{=}{page_size:tokens}"),
    log_figure("disable_radix_cache{=}{no_prefix_caching:word}"),
    log_figure("type={*}, dtype={dtype:word}"),

    // Free memory, from the first reading until the weights are loaded.
    log_figure("Init nccl begin", "", "0.4"),
    log_figure("Init torch distributed ends. {*}mem usage={distributed_init:size}", "0.4", "0.5.20"),
    log_figure("Memory baseline taken. mem usage={distributed_init:size}", "0.5.21"),
    log_phase(StartPhase::kWeights, "Load weight begin. avail mem={available_before_weights:size}"),
    log_figure("Load weight end. {*}avail mem={available_after_weights:size}"),
    log_figure("Load weight end. {*}mem usage={weights:size}"),
    log_figure("Reserving {multimodal_reserve:size} of the KV budget", "0.5.18"),

    // Pools.
    log_figure("KV Cache is allocated. {*}#tokens: {kv_tokens:tokens}"),
    log_figure("KV Cache is allocated. dtype: {kv_cache_dtype:word}", "0.5"),
    log_figure("KV Cache is allocated. {*}K size: {k_bytes:size}, V size: {v_bytes:size}"),
    log_figure("KV Cache is allocated. {*}KV size: {kv_bytes:size}"),
    log_figure("Full KV Cache is allocated. {*}#tokens: {kv_tokens:tokens}", "0.5"),
    log_figure("Full KV Cache is allocated. {*}K size: {full_k_bytes:size}, V size: {full_v_bytes:size}", "0.5"),
    log_figure("SWA KV Cache is allocated. {*}#tokens: {swa_tokens:tokens}", "0.5"),
    log_figure("SWA KV Cache is allocated. {*}K size: {swa_k_bytes:size}, V size: {swa_v_bytes:size}", "0.5"),
    log_figure("Use sliding window memory pool. full_layer_tokens={full_tokens:tokens}, "
               "swa_layer_tokens={swa_layer_tokens:tokens}"),
    log_figure("SWAKVPool mem usage: {swa_pool_bytes:size}"),
    log_figure("max_mamba_cache_size: {state_slots:seqs}"),
    log_figure("Mamba Cache is allocated. {*}conv_state size: {conv_bytes:size}"),
    log_figure("Mamba Cache is allocated. {*}ssm_state size: {state_bytes:size}"),
    log_figure("DSV4 pool sizes: full={kv_tokens:tokens}, swa={swa_tokens:tokens}"),
    log_figure("bytes_per_full_token={kv_token_bytes:B}"),
    log_figure("DSV4 memory calculation: {*}available_bytes={kv_budget:size}"),
    log_figure("KV Cache VA upper bound. {*}#tokens: {kv_tokens_bound:tokens}", "0.5.16"),
    log_figure("Post-capture KV sizing: KV cache allocated. {*}#tokens: {kv_tokens:tokens}", "0.5.16"),
    log_figure("Memory pool end. avail mem={available_after_pool:size}"),

    // Graphs. "npu" is for devices without CUDA.
    log_figure("Capture cuda graph begin. {*}avail mem={available_before_graphs:size}", "", "0.5.13"),
    log_figure("Capture cuda graph end. {*}mem usage={cuda_graphs:size}", "", "0.5.13"),
    log_figure("Capture cuda graph end. {*}avail mem={available_after_graphs:size}", "", "0.5.13"),
    log_figure("Capture npu graph end. {*}mem usage={cuda_graphs:size}"),
    log_figure("Capture piecewise CUDA graph end. {*}mem usage={cuda_graphs:size}", "0.5", "0.5.13"),
    log_figure("Capture target decode CUDA graph begin. {*}avail mem={available_before_graphs:size}", "0.5.14"),
    log_figure("Capture target decode CUDA graph end. {*}mem usage={cuda_graphs:size}", "0.5.14"),
    log_figure("Capture target decode CUDA graph end. {*}avail mem={available_after_graphs:size}", "0.5.14"),
    log_figure("Capture target prefill CUDA graph end. {*}mem usage={prefill_graphs:size}", "0.5.14"),
    log_figure("Capture draft decode CUDA graph end. {*}mem usage={draft_graphs:size}", "0.5.14"),
    log_figure("Capture draft verify CUDA graph end. {*}mem usage={draft_graphs:size}", "0.5.14"),
    log_phase(StartPhase::kServing, "max_total_num_tokens={kv_tokens:tokens}"),
    log_figure("available_gpu_mem={available_at_last:size}"),
};

constexpr LogTemplate kEvents[] = {
    {"Loaded weights leave no GPU memory for the KV cache under --mem-fraction-static={share:share}. Raise "
     "--mem-fraction-static above {least_share:share}",
     kNoCacheMemory},
    {"Loaded weights leave no GPU memory for the KV cache under --mem-fraction-static={share:share}", kNoCacheMemory},
    {"Not enough memory. Please try to increase --mem-fraction-static. Current value: "
     "mem_fraction_static={share:share}",
     kNoCacheMemory},
    {"Not enough memory. Please try to increase --mem-fraction-static", kNoCacheMemory},
    {"The memory capacity is unbalanced. {*}pre_model_load_memory={before:GiB}, local_gpu_memory={here:GiB}",
     kMemoryUnbalanced},
    {"The memory capacity is unbalanced", kMemoryUnbalanced},
    {"Capture cuda graph failed: {reason:text} Possible solutions", kGraphsFailed},
    {"Capture cuda graph failed: {reason:text}", kGraphsFailed},
    {"Capture cuda graph failed", kGraphsFailed},
    {"Prefill out of memory. Try to lower your batch size", kOutOfMemory},
    {"Decode out of memory. Try to lower your batch size", kOutOfMemory},
    {"ecode out of memory happened{*}#retracted_reqs: {retracted:seqs}", kPreempted},
    {"User-specified context_length ({max_model_len:tokens}) is greater than the derived context_length "
     "({longest:tokens})",
     kLengthBeyondModel},
    {"Not enough GPU memory for hybrid (mamba/linear-attention) state cache. Computed max_mamba_cache_size={slots}",
     kTooManySequences, "no memory for the recurrent states of the sequences: {slots} slots would fit",
     "@fewer_sequences:--max-running-requests 1; @larger_share; --mamba-full-memory-ratio higher | more of the cache's "
     "memory for "
     "states; @more_ranks"},
    {"Not enough space for mamba cache, try to increase --mamba-full-memory-ratio or --max-mamba-cache-size",
     kTooManySequences, "the pool of recurrent states is too small for the running requests",
     "--mamba-full-memory-ratio higher | more of the cache's memory for states; --max-mamba-cache-size higher; "
     "@fewer_sequences"},
    {"Not enough space for mamba ping pong idx, try to increase --mamba-full-memory-ratio", kTooManySequences,
     "the pool of recurrent states is too small for the ping-pong buffers of the running requests",
     "--mamba-full-memory-ratio higher | more of the cache's memory for states; --max-mamba-cache-size higher; "
     "@fewer_sequences"},
    {"alloc_req_slots runs out of memory", kRefused, "there are more requests than slots", "@fewer_sequences"},
    {"Not enough host memory available. Requesting {needed:size} but only have {available:size} free", kHostOutOfMemory,
     "the hierarchical cache needs {needed} of main memory, but only {available} is free",
     "--hicache-ratio or --hicache-size lower | a smaller cache in main memory; @more_host_memory; without "
     "--enable-hierarchical-cache"},
    {"SWA pool ({pool:tokens} tokens) cannot hold even one request", kCacheTooSmall,
     "the pool of the window layers fits {pool}, less than one request",
     "--swa-full-tokens-ratio higher | a larger part for window layers; @larger_share; @more_ranks"},
    {"SWA pool cap ({pool:tokens} tokens, {bytes:size}) leaves no room for the full KV pool", kNoCacheMemory,
     "the pool of window layers ({bytes}) leaves nothing for the other layers",
     "@fewer_sequences; --swa-full-tokens-ratio lower; @larger_share"},
    {"assert self.store_dtype == torch.uint8", kCacheTypeNeedsFlash,
     "this model needs an FP8 (uint8) KV cache, but the command sets another type; not a memory problem",
     "@plain_cache_type:--kv-cache-dtype fp8_e4m3"},
    {"Unsupported architectures: {architecture:text}", kUnknownArchitecture},
    {"has no SGlang implementation and the Transformers implementation is not compatible", kUnknownArchitecture,
     "SGLang has no class for this model, and transformers' own does not run in SGLang",
     "@newer_release; vLLM or transformers"},
    {"FlashAttention v3 Backend requires SM>=80 and SM<=90", kNoAttentionBackend,
     "FlashAttention 3 runs on compute capability 8.0 to 9.0; not memory",
     "--attention-backend triton or flashinfer | other attention kernels"},
    {"is only supported on Blackwell GPUs", kNoAttentionBackend, "the backend needs a Blackwell GPU; not memory",
     "--attention-backend triton or flashinfer | other attention kernels; remove that backend's option"},
    {"Initialization failed. warmup error", kDied, "the server did not answer its first request; see the lines above"},
    {"Rank {rank} scheduler is dead", kDied, "a scheduler process died; see the lines above"},
    {"Health check failed. Server couldn't get a response", kDied, "the server does not answer any more",
     "@newer_release; look at the scheduler's last lines"},
    {"watchdog timeout", kDied, "a step took longer than --watchdog-timeout",
     "--watchdog-timeout 1200 | if a kernel is compiled first; @newer_release"},
    {"memory leak detected", kLeak},
    {"Scheduler hit an exception", kDied},
    {"Received sigquit from a child process", kDied},
    {"The server is fired up and ready to roll", kStarted},
    {"Input length ({asked:tokens} tokens) exceeds the maximum allowed length ({longest:tokens} tokens)",
     kRequestTooLong},
    {"The input ({asked:tokens} tokens) is longer than the model's context length ({longest:tokens} tokens)",
     kRequestTooLong},
    {"exceeds the model's maximum context length of {longest:tokens} tokens. You requested a total of {asked:tokens} "
     "tokens",
     kRequestTooLong},
    {"KV cache pool is full. Retract requests. #retracted_reqs: {retracted:seqs}", kPreempted},
    {"Decode batch{*}#running-req: {running:seqs}, #token: {tokens:tokens}, token usage: {usage:share},{*}#queue-req: "
     "{waiting:seqs}",
     kTraffic},
    {"Decode batch{*}#running-req: {running:seqs}, #full token: {tokens:tokens}, full token usage: {usage:share},{*}"
     "#queue-req: {waiting:seqs}",
     kTraffic},
    // Lines that show which engine wrote the log.
    {"sglang/srt/", kMark},
    {"server_args=ServerArgs(", kMark},
};

// Its Prometheus page.
constexpr LogTemplate kMetrics[] = {
    log_metric("sglang:num_running_reqs", "running"), log_metric("sglang:num_queue_reqs", "waiting"),
    log_metric("sglang:token_usage", "usage"),        log_metric("sglang:num_used_tokens", "tokens"),
    log_metric("sglang:cache_hit_rate", "hit_rate"),  log_metric("sglang:num_retracted_reqs", "preemptions"),
};

constexpr StageMark kStages[] = {
    {"Load weight begin", StartStage::kProcess},
    {"Load weight end", StartStage::kWeights},
    {"Memory pool end", StartStage::kCache},
    {"Capture cuda graph end", StartStage::kCache},
    {"The server is fired up and ready to roll", StartStage::kServing},
};

constexpr RemedyRule kRemedies[] = {
    {kNoBfloat16, "@float16:--dtype half"},
    {kGraphsFailed, "@smaller_share; @fewer_sequences:--cuda-graph-max-bs 16; @no_graphs; @fewer_sequences"},
    {kLengthBeyondModel, "@shorter_length {longest}"},
    {kRequestTooLong, "@larger_share; @smaller_cache_type; @more_ranks; @shorter_input"},
    {kPreempted,
     "@fewer_sequences:--schedule-conservativeness 1.3; @fewer_sequences; @smaller_cache_type; @larger_share; "
     "@more_ranks"},
};

EngineLog sglang_log() {
  EngineLog out{.figures = kFigures, .events = kEvents, .stages = kStages};
  out.options = {.length = "--context-length",
                 .share = "--mem-fraction-static",
                 .cache_type = "--kv-cache-dtype",
                 .eight_bit = "fp8_e4m3",
                 .ranks = "--tp-size",
                 .stages = "--pp-size",
                 .batch = "--chunked-prefill-size",
                 .sequences = "--max-running-requests",
                 .no_graphs = "--disable-cuda-graph",
                 .cache_size = "--max-total-tokens",
                 .experts = "--ep-size",
                 .counts_experts = true};
  out.remedies = kRemedies;
  out.metrics = kMetrics;
  return out;
}

}  // namespace kvplan
