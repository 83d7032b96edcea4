// The figures of TensorRT-LLM's log: from its C++ runtime and its PyTorch back end.
#include "engines/log_lines.h"

namespace kvplan {

namespace {

constexpr LogTemplate kFigures[] = {
    log_figure("TensorRT-LLM version: {version:word}"),
    log_figure("TensorRT LLM version: {version:word}"),
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

}  // namespace

const std::span<const LogTemplate> kTensorrtLlmLogFigures = kFigures;

}  // namespace kvplan
