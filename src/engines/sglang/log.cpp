// Lines of SGLang's log that tell why it did not start, what it refuses and how busy it is. Source:
// srt/model_executor/*configurator.py and model_runner.py, srt/managers/scheduler*.py,
// srt/model_executor/cuda_graph_runner.py, srt/layers/quantization/fp8.py.
#include "engines/log_lines.h"

namespace kvplan {

namespace {

using enum LogEventId;
using enum LogCure;

// The figures of SGLang's log. Its "GB" is 2^30 bytes.
constexpr LogTemplate kFigures[] = {
    // How it was started: server_args=ServerArgs(...).
    log_phase(StartPhase::kEngine, "server_args=ServerArgs(model_path{=}{model:word}"),
    log_figure("server_args=ServerArgs({has_arguments:word}"),
    log_phase(StartPhase::kEngine, "sglang version {version:word}"),
    log_phase(StartPhase::kEngine, "SGLang version: {version:word}"),
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

    // From the first reading of free memory to the weights.
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

    // Graphs. "npu" where there is no CUDA.
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
    {"Capture cuda graph failed", kGraphsFailed},
    {"Prefill out of memory. Try to lower your batch size", kOutOfMemory},
    {"Decode out of memory. Try to lower your batch size", kOutOfMemory},
    {"ecode out of memory happened{*}#retracted_reqs: {retracted:seqs}", kPreempted},
    {"User-specified context_length ({max_model_len:tokens}) is greater than the derived context_length "
     "({longest:tokens})",
     kLengthBeyondModel},
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
    // These tell which engine wrote the log.
    {"sglang/srt/", kMark},
    {"server_args=ServerArgs(", kMark},
};

constexpr StageMark kStages[] = {
    {"Load weight begin", StartStage::kProcess},
    {"Load weight end", StartStage::kWeights},
    {"Memory pool end", StartStage::kCache},
    {"Capture cuda graph end", StartStage::kCache},
    {"The server is fired up and ready to roll", StartStage::kServing},
};

constexpr RemedyRule kRemedies[] = {
    {kNoBfloat16, {{kFloat16, "--dtype", "half"}}},
    {kGraphsFailed, {{kSmallerShare}, {kFewerSequences, "--cuda-graph-max-bs", "16"}, {kNoGraphs}, {kFewerSequences}}},
    {kLengthBeyondModel, {{kShorterLength, "", "{longest}"}}},
    {kRequestTooLong, {{kLargerShare}, {kSmallerCacheType}, {kMoreRanks}, {kShorterInput}}},  // its pool is the limit
    {kPreempted,
     {{kFewerSequences, "--schedule-conservativeness", "1.3"},
      {kFewerSequences},
      {kSmallerCacheType},
      {kLargerShare},
      {kMoreRanks}}},
};

}  // namespace

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
  return out;
}

}  // namespace kvplan
