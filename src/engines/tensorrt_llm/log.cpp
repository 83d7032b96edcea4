// Lines of TensorRT-LLM's log about failed starts and refusals. Source:
// tensorrt_llm/_torch/pyexecutor/py_executor_creator.py, cpp/tensorrt_llm/runtime/tllmBuffers.h, tensorrt_llm/executor
// and the Triton backend's checks of a request.
#include "engines/log_lines.h"

namespace kvplan {

using enum LogEventId;

// The figures of TensorRT-LLM's log: from its C++ runtime and its PyTorch back end.
constexpr LogTemplate kFigures[] = {
    log_phase(StartPhase::kEngine, "TensorRT-LLM version: {version:word}"),
    log_phase(StartPhase::kEngine, "TensorRT LLM version: {version:word}"),
    log_figure("TRTGptModel maxBatchSize: {max_num_seqs}"),
    log_figure("TRTGptModel maxSequenceLen: {max_model_len:tokens}"),
    log_figure("TRTGptModel maxNumTokens: {max_num_batched_tokens:tokens}"),
    log_figure("max_seq_len is not specified, using inferred value {max_model_len:tokens}"),
    log_figure("Adjusted max_seq_len to {max_model_len:tokens}"),
    log_figure("[I] max_seq_len={max_model_len:tokens}, max_num_requests={max_num_seqs}, "
               "max_num_tokens={max_num_batched_tokens:tokens}"),
    log_figure("tp_size{=}{tensor_parallel}"),
    log_figure("tensor_parallel_size{=}{tensor_parallel}"),
    log_figure("pipeline_parallel_size{=}{pipeline_parallel}"),
    log_figure("kv_cache_quant_algo{=}{kv_cache_dtype:word}"),
    log_figure("free_gpu_memory_fraction{=}{kv_share:share}"),
    log_figure("MPI size: {world_size}, MPI local size:"),
    log_figure("Loaded engine size: {weights:size}"),
    log_figure("Memory used after loading model weights (inside torch) in memory usage profiling: {weights:size}",
               "1.0"),
    log_figure("Allocated {activation:size} for execution context memory"),
    log_figure("Allocated {runtime_buffers:size} GPU memory for runtime buffers"),
    log_figure("Allocated {decoder:size} GPU memory for decoder"),
    log_figure("Memory usage when calculating max tokens in paged kv cache: total: {gpu_memory:size}, available: "
               "{kv_available:size}"),
    log_figure("available KV cache memory when calculating max tokens: {kv_available:size}, fraction is set "
               "{kv_share:share}",
               "1.0"),
    log_figure("kv size is {kv_token_bytes:B}", "1.0"),
    log_figure("Estimated max memory in KV cache : {kv_estimated:size}", "1.0"),
    log_figure("Number of blocks in KV cache primary pool: {num_blocks:blocks}"),
    log_figure("Max KV cache pages per sequence: {pages_per_sequence:blocks}"),
    log_figure("Max KV cache blocks per sequence: {pages_per_sequence:blocks}"),
    log_figure("Number of tokens per block: {block_size:tokens}"),
    log_figure("Allocated {kv_bytes:size} for max tokens in paged KV cache ({kv_tokens:tokens})"),
};

constexpr LogTemplate kEvents[] = {
    {"Executor creation failed due to insufficient GPU memory. The following component could not be created: "
     "{component:text} Total GPU memory (GiB): {total:GiB} Free GPU memory before component creation attempt (GiB): "
     "{free:GiB}",
     kComponentFailed},
    {"Executor creation failed due to insufficient GPU memory", kComponentFailed},
    {"mpossible to fit any sequence in kvCache", kCacheTooSmall},
    {"maxTokensInPagedKvCache ({longest:tokens}) must be large enough", kCacheTooSmall},
    {"maxTokensInPagedKvCache must be large enough", kCacheTooSmall},
    {"The sum of prompt length ({asked:tokens}), query length ({*}) should not exceed max_num_tokens "
     "({longest:tokens})",
     kRequestTooLong},
    {"Prompt length ({asked:tokens}) exceeds maximum input length ({longest:tokens})", kRequestTooLong},
    {"Insufficient GPU memory to allocate KV cache", kNoCacheMemory, "",
     "@larger_share; @smaller_batch; @fewer_sequences; @more_ranks"},
    {"[virtualMemoryBuffer.cpp::{*}OutOfMemory", kOutOfMemory,
     "TensorRT ran out of memory while it built or loaded the engine",
     "--max_batch_size, --max_num_tokens lower | when the engine is built; @more_ranks; @smaller_weights"},
    {"The engine plan file is generated on an incompatible device, expecting compute {least} got compute {capability}",
     kRefused, "the engine was built for compute capability {least}; this GPU has {capability}",
     "build the engine again on this kind of GPU"},
    {"The engine plan file is not compatible with this version of TensorRT", kRefused,
     "the engine was built by another TensorRT release", "build the engine again with this release"},
    // Lines that show which engine wrote the log.
    {"[TensorRT-LLM]", kMark},
    {"[TRT-LLM]", kMark},
    {"tensorrt_llm/", kMark},
};

constexpr RemedyRule kRemedies[] = {
    {kRequestTooLong,
     "@longer_context:--max_num_tokens {asked}; @chunked_prefill:enable_chunked_prefill; @shorter_input"},
};

EngineLog tensorrt_llm_log() {
  EngineLog out{.figures = kFigures, .events = kEvents};
  out.options = {.length = "--max_seq_len",
                 .share = "--kv_cache_free_gpu_memory_fraction",
                 .cache_type = "--kv_cache_dtype",
                 .eight_bit = "fp8",
                 .ranks = "--tp_size",
                 .stages = "--pp_size",
                 .batch = "--max_num_tokens",
                 .sequences = "--max_batch_size"};
  out.remedies = kRemedies;
  out.block_option = true;
  return out;
}

}  // namespace kvplan
