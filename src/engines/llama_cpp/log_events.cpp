// Lines of llama.cpp's and llama-server's log that tell why a model was not loaded, and what happened instead. Source:
// ggml/src/ggml-backend.cpp, ggml-alloc.c, ggml-cuda.cu, ggml-vulkan.cpp, ggml-metal; src/llama-context.cpp,
// llama-kv-cache.cpp, llama-model-loader.cpp; common/fit.cpp; tools/server/server-context.cpp.
#include "engines/log_lines.h"

namespace kvplan {

namespace {

using enum LogEventId;

constexpr LogTemplate kEvents[] = {
    {"allocating {wanted:size} on device {gpu}: cudaMalloc failed: out of memory", kBufferFailed},
    {"allocating {wanted:size} on device {gpu}: hipMalloc failed: out of memory", kBufferFailed},
    {"failed to allocate {device:word} buffer of size {wanted:B}", kBufferFailed},
    {"error: failed to allocate buffer, size = {wanted:size}", kBufferFailed},
    {"Device memory allocation of size {wanted:B} failed", kBufferFailed},
    {"Requested buffer size exceeds device buffer size limit", kBufferLimit},
    {"Requested buffer size ({wanted:B}) exceeds device memory allocation limit", kBufferLimit},
    {"exceeds device buffer size limit", kBufferLimit},
    {"failed to allocate compute buffers", kComputeFailed},
    {"failed to allocate compute pp buffers", kComputeFailed},
    {"failed to allocate buffer for kv cache", kCacheFailed},
    {"unable to allocate {device:word} buffer", kWeightsFailed},
    {"insufficient memory (attempted to allocate {wanted:size}", kHostOutOfMemory},
    {"kIOGPUCommandBufferCallbackErrorOutOfMemory", kOutOfMemory},
    {"compute buffer allocation failed, retrying without pipeline parallelism", kRetried},
    {"failed to fit params to free device memory: {reason:text}", kFitFailed},
    {"failed to fit params to free device memory", kFitFailed},
    {"memory_breakdown_print: | - {device:word} ({card:text}) | {total:MiB} = {free:MiB} + ({self:MiB} = "
     "{weights:MiB} + {context:MiB} + {compute:MiB})",
     kBreakdown},
    {"using device {device:word} ({card:text}) - {free:MiB} MiB free", kDeviceFree},
    {"projected to use {needed:size} of device memory vs. {available:size} of free device memory", kProjected},
    {"context size reduced from {before:tokens} to {after:tokens} -> need {saved:size} less memory in total",
     kFitReduced},
    {"V cache quantization requires flash_attn", kCacheTypeNeedsFlash},
    {"quantized V cache was requested, but this requires Flash Attention", kCacheTypeNeedsFlash},
    {"flash_attn is not compatible with {model:word} - forcing off", kFlashForcedOff},
    {"unknown model architecture: '{architecture:word}'", kUnknownArchitecture},
    {"ErrorOutOfDeviceMemory", kOutOfMemory},
    {"OutOfDeviceMemoryError", kOutOfMemory},
    {"error loading model: {reason:text}", kDied},
    {"exiting due to model loading error", kDied},
    {"failed to load model", kDied},
    {"unable to load model", kDied},
    {"unable to create llama context", kDied},
    {"couldn't bind HTTP server socket", kDied},
    {"offloaded {on:layers}/{all:layers} layers to GPU", kSpilled},
    {"no usable GPU found", kNoGpu},
    {"llama_perf_context_print: eval time", kStarted},
    {"server is listening on", kStarted},
    {"all slots are idle", kStarted},
    {"initializing, n_slots = {slots:seqs}, n_ctx_slot = {longest:tokens}", kStarted},
    {"request ({asked:tokens} tokens) exceeds the available context size ({longest:tokens} tokens)", kRequestTooLong},
    {"the request exceeds the available context size", kRequestTooLong},
    {"failed to find free space in the KV cache, retrying with smaller batch size", kPreempted},
    // These tell which engine wrote the log.
    {"llama_model_loader:", kMark},
    {"llama_model_load", kMark},
    {"ggml_backend", kMark},
    {"ggml_cuda", kMark},
    {"ggml-cuda", kMark},
    {"ggml_metal", kMark},
    {"ggml_sycl", kMark},
    {"ggml_vulkan", kMark},
    {"llama_context:", kMark},
    {"llama_init_from_model", kMark},
};

constexpr StageMark kStages[] = {
    {"load_tensors: loading model tensors", StartStage::kProcess},
    {"llama_context: constructing", StartStage::kWeights},
    {"llama_new_context_with_model: n_ctx", StartStage::kWeights},
    {"graph splits =", StartStage::kCache},
    {"reserve: graph: nodes =", StartStage::kCache},
    {"listening on http", StartStage::kServing},
};

}  // namespace

const std::span<const LogTemplate> kLlamaCppLogEvents = kEvents;
const std::span<const StageMark> kLlamaCppStages = kStages;

}  // namespace kvplan
