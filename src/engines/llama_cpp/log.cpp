// Lines of llama.cpp's and llama-server's log about models that were not loaded or not as requested. Source:
// ggml/src/ggml-backend.cpp, ggml-alloc.c, ggml-cuda.cu, ggml-vulkan.cpp, ggml-metal; src/llama-context.cpp,
// llama-kv-cache.cpp, llama-model-loader.cpp; common/fit.cpp; tools/server/server-context.cpp.
#include "engines/log_lines.h"
#include "engines/log_request.h"

namespace kvplan {

using enum LogEventId;

// The figures of llama.cpp's log, in its older and newer spellings.
constexpr LogTemplate kFigures[] = {
    // The build and the GPUs.
    log_phase(StartPhase::kEngine, "build: {version:word} ("),
    log_phase(StartPhase::kEngine, "(build {version:word}, commit"),
    log_figure("ghcr.io/ggml-org/llama.cpp:{*}-b{version:word}"),
    log_phase(StartPhase::kEngine, "build = {version:word} ("),
    log_phase(StartPhase::kEngine, "build_info: {version:word}"),
    log_figure("using device {device:word} ({card:text})"),
    log_figure("Device {*}: {card:text}, compute capability"),
    log_figure("VMM: {*}, VRAM: {gpu_memory:MiB} MiB"),
    log_figure("general.name str = {model:text}"),

    // The file.
    log_figure("model ftype = {file_type:text}"),
    log_figure("file type = {file_type:text}"),
    log_figure("model size = {file_size:size} ("),
    log_figure("file size = {file_size:size}"),
    log_figure("n_swa = {window:tokens}"),
    log_figure("n_ctx_train = {n_ctx_train:tokens}"),
    log_figure("offloaded {layers_on_gpu:layers}/{layers_total:layers} layers to GPU"),
    log_figure("{device:word} model buffer size = {weights:size}"),
    log_figure("load_tensors: {device:word} buffer size = {weights:size}"),

    // The context. Each line begins with the name of one of three functions.
    log_figure(": n_seq_max = {n_seq_max:seqs}"),
    log_figure(": n_ctx = {n_ctx:tokens}"),
    log_figure(": n_ctx_per_seq = {n_ctx_seq:tokens}"),
    log_figure(": n_ctx_seq = {n_ctx_seq:tokens}"),
    log_figure("n_ctx_per_seq ({n_ctx_seq:tokens}) < n_ctx_train"),
    log_figure("n_ctx_seq ({n_ctx_seq:tokens}) < n_ctx_train"),
    log_figure(": n_batch = {n_batch:tokens}"),
    log_figure(": n_ubatch = {n_ubatch:tokens}"),
    log_figure(": n_rs_seq = {n_rs_seq}"),
    log_figure(": flash_attn = {flash_attention:word}"),
    log_figure("Flash Attention was auto, set to {flash_attention:word}"),
    log_figure(": kv_unified = {kv_unified:word}"),
    log_figure("llama_new_context_with_model: {old_llama:word}"),
    log_figure("using n_parallel = {n_slots:seqs} and kv_unified = {kv_unified:word}"),
    log_figure("n_slots = {n_slots:seqs}"),
    log_figure("n_ctx_slot = {n_ctx_slot:tokens}, kv_unified = {kv_unified:word}"),
    log_figure("using full-size SWA {swa_full:word} (ref:"),

    // The caches. Each has one line per device, and one for the total.
    log_figure("kv_size = {kv_size:tokens}, offload = {*}, type_k = {cache_type_k:word}"),
    log_figure("offload = {*}, type_v = {cache_type_v:word}"),
    log_figure("creating SWA KV cache, size = {window_cells:tokens} cells"),
    log_figure("{device:word} KV buffer size = {kv_buffer:size}"),
    log_figure("{device:word} RS buffer size = {state_buffer:size}"),
    log_figure("KV self size = {kv_total:size}"),
    log_figure("llama_kv_cache: size = {kv_total:size} ({kv_cells:tokens} cells, {kv_layers:layers} layers"),
    log_figure("llama_kv_cache_unified: size = {kv_total:size} ({kv_cells:tokens} cells, {kv_layers:layers} layers"),
    log_figure("cells, {*} layers, {kv_seqs:seqs}/{kv_streams} seqs)"),
    log_figure("cells, {*} layers, {kv_seqs:seqs} seqs)"),
    log_figure("cells, {*} layers, {kv_seqs:seqs} seqs {n_rs_seq} rs_seq)"),
    log_figure(", K ({cache_type_k:word}): {*} MiB, V ({cache_type_v:word}): {v_cache:size}"),
    log_figure("llama_memory_recurrent: size = {state_total:size} ({state_cells} cells"),
    log_figure("llama_kv_cache_recurrent: size = {state_total:size} ({state_cells} cells"),

    // The buffers, and the table of all buffers.
    log_figure("{device:word} output buffer size = {output_buffer:size}"),
    log_figure("{device:word} compute buffer size = {compute_buffer:size}"),
    log_figure("{device:word} compute buffer size is {compute_buffer:size}"),
    log_figure("projected to use {total:size} of device memory vs. {free_memory:size}"),
    log_figure("memory_breakdown_print: | - {device:word} ({card:text}) | {gpu_memory:MiB} = {free_memory:MiB} + "
               "({total:MiB} = "
               "{model_memory:MiB} + {context_memory:MiB} + {compute_memory:MiB})"),
    log_figure(
        "memory_breakdown_print: | - Host | {total_host:MiB} = {model_memory_host:MiB} + {context_memory_host:MiB} + "
        "{compute_memory_host:MiB} |"),
};

constexpr LogTemplate kEvents[] = {
    {"allocating {wanted:size} on device {gpu}: cudaMalloc failed: out of memory", kBufferFailed},
    {"allocating {wanted:size} on device {gpu}: hipMalloc failed: out of memory", kBufferFailed},
    {"failed to allocate {device:word} buffer of size {wanted:B}", kBufferFailed},
    {"error: failed to allocate buffer, size = {wanted:size}", kBufferFailed},
    {"Device memory allocation of size {wanted:B} failed", kBufferFailed},
    {"Requested buffer size exceeds device buffer size limit", kBufferLimit},
    {"Requested buffer size exceeds device memory allocation limit", kBufferLimit},
    {"Requested buffer size ({wanted:B}) exceeds device memory allocation limit", kBufferLimit},
    {"exceeds device buffer size limit", kBufferLimit},
    {"failed to allocate compute buffers", kComputeFailed},
    {"failed to allocate compute pp buffers", kComputeFailed},
    {"failed to allocate buffer for kv cache", kCacheFailed},
    {"unable to allocate {device:word} buffer", kWeightsFailed},
    {"alloc_tensor_range: failed to allocate {device:word} buffer of size {wanted:B}", kBufferFailed},
    {"insufficient memory (attempted to allocate {wanted:size}", kHostOutOfMemory},
    {"ggml_backend_cpu_buffer_type_alloc_buffer: failed to allocate buffer of size {wanted:B}", kHostOutOfMemory},
    {"mmap failed: Cannot allocate memory", kHostOutOfMemory},
    {"MapViewOfFile failed: Not enough memory", kHostOutOfMemory},
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
    {"couldn't bind HTTP server socket", kDied, "another program has the port",
     "stop the other program, or another --port"},
    {"offloaded {on:layers}/{all:layers} layers to GPU", kSpilled},
    {"no usable GPU found", kNoGpu},
    {"llama_perf_context_print: eval time", kStarted},
    {"can't malloc {wanted:B} Bytes memory on device", kBufferLimit,
     "the SYCL driver cannot allocate a buffer of {wanted} in one piece",
     "@flash_attention:-fa on; @smaller_batch; @shorter_length; UR_L0_ENABLE_RELAXED_ALLOCATION_LIMITS=1 | allows more "
     "than 4 GiB "
     "in one piece"},
    {"ggml_metal_graph_compute: command buffer {number} failed with status {status}", kOutOfMemory,
     "Metal failed in the middle of a computation: usually out of memory",
     "@fewer_layers_on_gpu; @shorter_length; @smaller_batch"},
    {"CUDA error: {reason:text} current device: {gpu}, in function {where:word}", kDied,
     "CUDA failed: {reason}, in {where}", "@newer_release; @fewer_layers_on_gpu; @other_build"},
    {"CUDA error: out of memory current device: {gpu}, in function {where:word}", kOutOfMemory,
     "the GPU ran out of memory in {where}",
     "@smaller_batch; @shorter_length; @fewer_layers_on_gpu; @smaller_cache_type"},
    {"ROCm error: {reason:text} current device: {gpu}, in function {where:word}", kDied,
     "ROCm failed: {reason}, in {where}", "@newer_release; @other_build"},
    {"ROCm error: out of memory current device: {gpu}, in function {where:word}", kOutOfMemory,
     "the GPU ran out of memory in {where}",
     "@smaller_batch; @shorter_length; @fewer_layers_on_gpu; @smaller_cache_type"},
    {"MUSA error: {reason:text} current device: {gpu}, in function {where:word}", kDied,
     "MUSA failed: {reason}, in {where}", "@newer_release; @other_build"},
    {"CANN error: {reason:text}", kDied, "CANN failed: {reason}", "@newer_release; @fewer_layers_on_gpu; @other_build"},
    {"SYCL error: {reason:text}", kDied, "SYCL failed: {reason}", "@newer_release; @fewer_layers_on_gpu; @other_build"},
    {"vk::DeviceLostError", kDied, "the Vulkan driver lost the GPU: a kernel hung, or the driver timed out",
     "@smaller_batch; a newer GPU driver; @newer_release; GGML_VK_DISABLE_COOPMAT=1 | rules out the matrix units"},
    {"ErrorDeviceLost", kDied, "the Vulkan driver lost the GPU: a kernel hung, or the driver timed out",
     "@smaller_batch; a newer GPU driver; @newer_release"},
    {"failed to load multimodal model", kDied, "the image projector (--mmproj) could not be loaded",
     "--no-mmproj-offload | keeps the projector in main memory; --mmproj | the file that belongs to the model; "
     "@newer_release"},
    {"unknown projector type: {type:word}", kUnknownArchitecture, "this build does not know the projector {type}",
     "@newer_release"},
    {"warmup with image size = {*}cudaMalloc failed: out of memory", kProjectorFailed,
     "no memory for the image projector's compute buffer: the server starts, and the first image crashes it",
     "--no-mmproj-offload | keeps the projector in main memory; @fewer_layers_on_gpu; @shorter_length; "
     "--image-max-tokens "
     "lower | a "
     "smaller buffer of the projector"},
    {"unknown pre-tokenizer type: '{type:word}'", kUnknownArchitecture, "this build does not know the tokenizer {type}",
     "@newer_release; another conversion of the model"},
    {"missing tensor '{tensor:word}'", kRefused,
     "the file lacks the tensor {tensor}: it was converted for another build, or is damaged",
     "@newer_release; another conversion of the model; download the file again"},
    {"check_tensor_dims: tensor '{tensor:word}' has wrong shape", kRefused,
     "the tensor {tensor} has another shape than this build expects",
     "@newer_release; another conversion of the model"},
    {"done_getting_tensors: wrong number of tensors; expected {expected}, got {got}", kRefused,
     "the file has {expected} tensors and this build uses {got}", "@newer_release; another conversion of the model"},
    {"tensor '{tensor:word}' data is not within the file bounds, model is corrupted or incomplete", kRefused,
     "the file is truncated: it ends before the tensor {tensor}", "download the file again"},
    {"invalid magic characters", kRefused, "the file is not a GGUF",
     "download the file again; convert the checkpoint with convert_hf_to_gguf.py"},
    {"has invalid ggml type {type}", kRefused, "the file has a weight type ({type}) that this build does not know",
     "@newer_release; another quantization of the model"},
    {"failed to open GGUF file", kRefused, "the file could not be opened", "check the path and its permissions"},
    {"invalid split file", kRefused, "a part of the split model is missing or out of order",
     "give the first part (-00001-of-), with the others beside it; download the parts again"},
    {"K cache type {type:word} with block size {block} does not divide n_embd_head_k={width}", kRefused,
     "the K cache type {type} has blocks of {block}, which do not divide the head's width {width}",
     "@plain_cache_type:-ctk f16"},
    {"V cache type {type:word} with block size {block} does not divide n_embd_head_v={width}", kRefused,
     "the V cache type {type} has blocks of {block}, which do not divide the head's width {width}",
     "@plain_cache_type:-ctv f16"},
    {"SPLIT_MODE_TENSOR {reason:text}", kRefused, "the split by tensors is not possible here: {reason}",
     "-sm layer | splits by layers; @newer_release"},
    {": flash_attn = disabled", kMemoryHint, "flash attention is off: the scores of the whole context are stored",
     "@flash_attention:-fa on"},
    {": flash_attn = 0", kMemoryHint, "flash attention is off: the scores of the whole context are stored",
     "@flash_attention:-fa on"},
    {"Flash Attention was auto, set to disabled", kMemoryHint,
     "flash attention is off (auto): the scores of the whole context are stored", "@flash_attention:-fa on"},
    {"is assigned to device CPU but {*}is assigned to device", kMemoryHint,
     "a layer is on the CPU although its state is on the GPU: the GPU has no memory for it",
     "@fewer_layers_on_gpu; @shorter_length"},
    {"invalid value for main_gpu", kRefused, "the GPU that -mg names does not exist", "-mg 0; see --list-devices"},
    {"no backends are loaded", kRefused, "the build found no backend library",
     "run it from its own folder, or set GGML_BACKEND_PATH; @other_build"},
    {"ggml_cuda_init: failed to initialize CUDA: {reason:text}", kMemoryHint,
     "CUDA could not be initialized ({reason}): llama.cpp runs on the CPU", "check nvidia-smi; docker run --gpus all"},
    {"the context is full", kRequestTooLong, "a request filled its context; the server keeps running",
     "@longer_context; @shorter_input"},
    {"server is listening on", kStarted},
    {"all slots are idle", kStarted},
    {"initializing, n_slots = {slots:seqs}, n_ctx_slot = {longest:tokens}", kStarted},
    {"request ({asked:tokens} tokens) exceeds the available context size ({longest:tokens} tokens)", kRequestTooLong},
    {"the request exceeds the available context size", kRequestTooLong},
    {"failed to find free space in the KV cache, retrying with smaller batch size", kPreempted},
    // Lines that show which engine wrote the log.
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

// tools/server/server-context.cpp of b11739; until 2025 n_past was the name for a slot's tokens.
constexpr LogTemplate kSlots[] = {
    log_figure("initializing, n_slots = {slots:seqs}"),
    log_figure("initializing slots, n_slots = {slots:seqs}"),
    log_figure("n_ctx_slot = {longest:tokens}"),
    log_figure("no slot is available, defer task, id_task = {task}"),
    log_figure("{slot} | task {task} | processing task"),
    log_figure("{slot} | task {task} | stop processing: n_tokens = {tokens:tokens}"),
    log_figure("{slot} | task {task} | stop processing: n_past = {tokens:tokens}"),
};

// Its Prometheus page.
constexpr LogTemplate kMetrics[] = {
    log_metric("llamacpp:requests_processing", "running"),
    log_metric("llamacpp:requests_deferred", "waiting"),
    log_metric("llamacpp:kv_cache_usage_ratio", "usage"),
};

constexpr StageMark kStages[] = {
    {"load_tensors: loading model tensors", StartStage::kProcess},
    {"llama_context: constructing", StartStage::kWeights},
    {"llama_new_context_with_model: n_ctx", StartStage::kWeights},
    {"graph splits =", StartStage::kCache},
    {"reserve: graph: nodes =", StartStage::kCache},
    {"listening on http", StartStage::kServing},
};

constexpr RemedyRule kRemedies[] = {
    {kBufferFailed, "@smaller_batch; @shorter_length; @smaller_cache_type; @fewer_layers_on_gpu; @other_split"},
    {kComputeFailed, "@smaller_batch; @shorter_length; @smaller_cache_type; @fewer_layers_on_gpu; @other_split"},
    {kCacheFailed, "@shorter_length; @smaller_cache_type; @fewer_sequences; @fewer_layers_on_gpu"},
    {kWeightsFailed, "@fewer_layers_on_gpu; @smaller_weights; @other_split"},
    {kWeightsLimit,
     "-ot 'per_layer_token_embd=CPU' | keeps that tensor in main memory; @newer_release; another backend (CUDA, ROCm) "
     "| "
     "takes "
     "larger buffers; @fewer_layers_on_gpu"},
    {kBufferLimit, "@flash_attention:-fa on; @smaller_batch; @shorter_length"},
    {kOutOfMemory, "@smaller_batch; @shorter_length; @fewer_layers_on_gpu; @smaller_cache_type"},
    {kFitFailed, "@fit_by_itself:-ngl; @shorter_length; @smaller_weights"},
    {kCacheTypeNeedsFlash, "@flash_attention:-fa on; @plain_cache_type:-ctv f16"},
};

EngineLog llama_cpp_log() {
  EngineLog out{.figures = kFigures, .events = kEvents, .stages = kStages};
  out.options = {.length = "-c",
                 .cache_type = "-ctk q8_0 -ctv",
                 .eight_bit = "q8_0",
                 .batch = "-ub",
                 .sequences = "-np",
                 .gpu_layers = "-ngl",
                 .split = "-ts",
                 .shared_slots = "--kv-unified -np"};
  out.remedies = kRemedies;
  out.metrics = kMetrics;
  out.slots = kSlots;
  out.by_device = true;
  out.read_request = llama_cpp_read_request;
  out.old_build = "b4000";
  return out;
}

}  // namespace kvplan
