// Lines of llama.cpp's and llama-server's log that tell why a model was not loaded, and what happened instead. Source:
// ggml/src/ggml-backend.cpp, ggml-alloc.c, ggml-cuda.cu, ggml-vulkan.cpp, ggml-metal; src/llama-context.cpp,
// llama-kv-cache.cpp, llama-model-loader.cpp; common/fit.cpp; tools/server/server-context.cpp.
#include "engines/log_lines.h"
#include "engines/log_request.h"

namespace kvplan {

using enum LogEventId;

// The figures of llama.cpp's log, in its older and newer spellings.
constexpr LogTemplate kFigures[] = {
    // Which build, which GPUs.
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

    // The context: these follow the names of three functions.
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

    // Caches. Each has a line per device, and one for the total.
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

    // Buffers, and the table of all of them.
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
    {"allocating {wanted:size} on device {gpu}: cudaMalloc failed: out of memory", kBufferFailed, "", "",
     "allocating 67094.60 MiB on device 0: cudaMalloc failed: out of memory"},
    {"allocating {wanted:size} on device {gpu}: hipMalloc failed: out of memory", kBufferFailed, "", "",
     "allocating 5.62 GiB on device 3: hipMalloc failed: out of memory"},
    {"failed to allocate {device:word} buffer of size {wanted:B}", kBufferFailed, "", "",
     "failed to allocate CUDA0 buffer of size 2233466880"},
    {"error: failed to allocate buffer, size = {wanted:size}", kBufferFailed, "", "",
     "error: failed to allocate buffer, size = 5.62 GiB"},
    {"Device memory allocation of size {wanted:B} failed", kBufferFailed, "", "",
     "Device memory allocation of size 4697620480 failed"},
    {"Requested buffer size exceeds device buffer size limit", kBufferLimit},
    {"Requested buffer size exceeds device memory allocation limit", kBufferLimit},
    {"Requested buffer size ({wanted:B}) exceeds device memory allocation limit", kBufferLimit, "", "",
     "Requested buffer size (1048576) exceeds device memory allocation limit"},
    {"exceeds device buffer size limit", kBufferLimit},
    {"failed to allocate compute buffers", kComputeFailed},
    {"failed to allocate compute pp buffers", kComputeFailed},
    {"failed to allocate buffer for kv cache", kCacheFailed},
    {"unable to allocate {device:word} buffer", kWeightsFailed, "", "",
     "llama_model_load: error loading model: unable to allocate CUDA0 buffer"},
    {"alloc_tensor_range: failed to allocate {device:word} buffer of size {wanted:B}", kBufferFailed, "", "",
     "alloc_tensor_range: failed to allocate Vulkan0 buffer of size 4697620480"},
    {"insufficient memory (attempted to allocate {wanted:size}", kHostOutOfMemory, "", "",
     "insufficient memory (attempted to allocate 5.62 GiB"},
    {"ggml_backend_cpu_buffer_type_alloc_buffer: failed to allocate buffer of size {wanted:B}", kHostOutOfMemory, "",
     "", "ggml_backend_cpu_buffer_type_alloc_buffer: failed to allocate buffer of size 6876720128"},
    {"mmap failed: Cannot allocate memory", kHostOutOfMemory},
    {"MapViewOfFile failed: Not enough memory", kHostOutOfMemory},
    {"kIOGPUCommandBufferCallbackErrorOutOfMemory", kOutOfMemory},
    {"compute buffer allocation failed, retrying without pipeline parallelism", kRetried},
    {"failed to fit params to free device memory: {reason:text}", kFitFailed, "", "",
     "failed to fit params to free device memory: n"},
    {"failed to fit params to free device memory", kFitFailed},
    {"memory_breakdown_print: | - {device:word} ({card:text}) | {total:MiB} = {free:MiB} + ({self:MiB} = "
     "{weights:MiB} + {context:MiB} + {compute:MiB})",
     kBreakdown, "", "", "memory_breakdown_print: | - CUDA0 (GTX 1080 Ti) | 11165 = 8702 + (10001 = 9814 + 134 + 51)"},
    {"using device {device:word} ({card:text}) - {free:MiB} MiB free", kDeviceFree, "", "",
     "using device CUDA0 (NVIDIA GeForce GTX 1080 Ti) (0000:03:00.0) - 8720 MiB free"},
    {"projected to use {needed:size} of device memory vs. {available:size} of free device memory", kProjected, "", "",
     "projected to use 24840 MiB of device memory vs. 22341 MiB of free device memory"},
    {"context size reduced from {before:tokens} to {after:tokens} -> need {saved:size} less memory in total",
     kFitReduced, "", "", "context size reduced from 262144 to 30000 -> need 6257 MiB less memory in total"},
    {"V cache quantization requires flash_attn", kCacheTypeNeedsFlash},
    {"quantized V cache was requested, but this requires Flash Attention", kCacheTypeNeedsFlash},
    {"flash_attn is not compatible with {model:word} - forcing off", kFlashForcedOff, "", "",
     "flash_attn is not compatible with Grok - forcing off"},
    {"unknown model architecture: '{architecture:word}'", kUnknownArchitecture, "", "",
     "unknown model architecture: 'qwen35moe'"},
    {"ErrorOutOfDeviceMemory", kOutOfMemory},
    {"OutOfDeviceMemoryError", kOutOfMemory},
    {"error loading model: {reason:text}", kDied, "", "", "error loading model: u"},
    {"exiting due to model loading error", kDied},
    {"failed to load model", kDied},
    {"unable to load model", kDied},
    {"unable to create llama context", kDied},
    {"couldn't bind HTTP server socket", kDied, "another program has the port",
     "stop the other program, or another --port"},
    {"offloaded {on:layers}/{all:layers} layers to GPU", kSpilled, "", "", "offloaded 28/28 layers to GPU"},
    {"no usable GPU found", kNoGpu},
    {"llama_perf_context_print: eval time", kStarted},
    {"can't malloc {wanted:B} Bytes memory on device", kBufferLimit,
     "one buffer of {wanted} is more than the SYCL driver gives in one piece",
     "@flash_attention:-fa on; @smaller_batch; @shorter_length; UR_L0_ENABLE_RELAXED_ALLOCATION_LIMITS=1 | allows more "
     "than 4 GiB "
     "in one piece",
     "ggml_backend_sycl_buffer_type_alloc_buffer: can't malloc 3278637056 Bytes memory on device"},
    {"ggml_metal_graph_compute: command buffer {number} failed with status {status}", kOutOfMemory,
     "Metal failed in the middle of a computation: usually out of memory",
     "@fewer_layers_on_gpu; @shorter_length; @smaller_batch",
     "ggml_metal_graph_compute: command buffer 0 failed with status 5"},
    {"CUDA error: {reason:text} current device: {gpu}, in function {where:word}", kDied,
     "CUDA failed: {reason}, in {where}", "@newer_release; @fewer_layers_on_gpu; @other_build",
     "CUDA error: an illegal memory access was encountered current device: 0, in function "
     "ggml_backend_cuda_synchronize at x.cu:2410"},
    {"CUDA error: out of memory current device: {gpu}, in function {where:word}", kOutOfMemory,
     "the GPU ran out of memory in {where}",
     "@smaller_batch; @shorter_length; @fewer_layers_on_gpu; @smaller_cache_type",
     "CUDA error: out of memory current device: 0, in function alloc at x.cu:2410"},
    {"ROCm error: {reason:text} current device: {gpu}, in function {where:word}", kDied,
     "ROCm failed: {reason}, in {where}", "@newer_release; @other_build",
     "ROCm error: invalid device function current device: 0, in function ggml_cuda_compute_forward at x.cu:2368"},
    {"ROCm error: out of memory current device: {gpu}, in function {where:word}", kOutOfMemory,
     "the GPU ran out of memory in {where}",
     "@smaller_batch; @shorter_length; @fewer_layers_on_gpu; @smaller_cache_type",
     "ROCm error: out of memory current device: 0, in function alloc at x.cu:2410"},
    {"MUSA error: {reason:text} current device: {gpu}, in function {where:word}", kDied,
     "MUSA failed: {reason}, in {where}", "@newer_release; @other_build",
     "MUSA error: invalid device function current device: 0, in function ggml_cuda_compute_forward at x.cu:2368"},
    {"CANN error: {reason:text}", kDied, "CANN failed: {reason}", "@newer_release; @fewer_layers_on_gpu; @other_build",
     "CANN error: EL0003: [PID: 1445] The argument is invalid."},
    {"SYCL error: {reason:text}", kDied, "SYCL failed: {reason}", "@newer_release; @fewer_layers_on_gpu; @other_build",
     "SYCL error: CHECK_TRY_ERROR(map_ptr = phys->map(pool_addr + pool_size)): Exception caught in this line of code."},
    {"vk::DeviceLostError", kDied, "the Vulkan driver lost the GPU: a kernel hung, or the driver timed out",
     "@smaller_batch; a newer GPU driver; @newer_release; GGML_VK_DISABLE_COOPMAT=1 | rules out the matrix units"},
    {"ErrorDeviceLost", kDied, "the Vulkan driver lost the GPU: a kernel hung, or the driver timed out",
     "@smaller_batch; a newer GPU driver; @newer_release"},
    {"failed to load multimodal model", kDied, "the image projector (--mmproj) could not be loaded",
     "--no-mmproj-offload | the projector in main memory; --mmproj | the file that belongs to the model; "
     "@newer_release"},
    {"unknown projector type: {type:word}", kUnknownArchitecture, "this build does not know the projector {type}",
     "@newer_release", "clip_init: failed: unknown projector type: qwen3vl_merger"},
    {"warmup with image size = {*}cudaMalloc failed: out of memory", kProjectorFailed,
     "no memory for the image projector's compute buffer: the server starts, and the first image crashes it",
     "--no-mmproj-offload | the projector in main memory; @fewer_layers_on_gpu; @shorter_length; --image-max-tokens "
     "lower | a "
     "smaller buffer of the projector",
     "warmup: warmup with image size = 1472 x 1472 ggml_backend_cuda_buffer_type_alloc_buffer: allocating 372.08 MiB "
     "on device 0: "
     "cudaMalloc failed: out of memory"},
    {"unknown pre-tokenizer type: '{type:word}'", kUnknownArchitecture, "this build does not know the tokenizer {type}",
     "@newer_release; another conversion of the model",
     "llama_model_load: error loading model: error loading model vocabulary: unknown pre-tokenizer type: 'qwen35'"},
    {"missing tensor '{tensor:word}'", kRefused,
     "the file lacks the tensor {tensor}: it was converted for another build, or is damaged",
     "@newer_release; another conversion of the model; download the file again",
     "llama_model_load: error loading model: missing tensor 'blk.0.ssm_norm.weight'"},
    {"check_tensor_dims: tensor '{tensor:word}' has wrong shape", kRefused,
     "the tensor {tensor} has another shape than this build expects", "@newer_release; another conversion of the model",
     "check_tensor_dims: tensor 'token_embd.weight' has wrong shape; expected 5120, 152064, got 5120, 151936, 1, 1"},
    {"done_getting_tensors: wrong number of tensors; expected {expected}, got {got}", kRefused,
     "the file has {expected} tensors and this build uses {got}", "@newer_release; another conversion of the model",
     "done_getting_tensors: wrong number of tensors; expected 292, got 291"},
    {"tensor '{tensor:word}' data is not within the file bounds, model is corrupted or incomplete", kRefused,
     "the file is truncated: it ends before the tensor {tensor}", "download the file again",
     "tensor 'blk.63.ffn_up.weight' data is not within the file bounds, model is corrupted or incomplete"},
    {"invalid magic characters", kRefused, "the file is not a GGUF",
     "download the file again; convert the checkpoint with convert_hf_to_gguf.py"},
    {"has invalid ggml type {type}", kRefused, "the file has a weight type ({type}) that this build does not know",
     "@newer_release; another quantization of the model",
     "gguf_init_from_file_impl: tensor 'x' has invalid ggml type 39 (NONE)"},
    {"failed to open GGUF file", kRefused, "the file could not be opened", "check the path and its permissions"},
    {"invalid split file", kRefused, "a part of the split model is missing or out of order",
     "give the first part (-00001-of-), with the others beside it; download the parts again"},
    {"K cache type {type:word} with block size {block} does not divide n_embd_head_k={width}", kRefused,
     "the K cache type {type} has blocks of {block}, which do not divide the head's width {width}",
     "@plain_cache_type:-ctk f16",
     "llama_init_from_model: K cache type q4_0 with block size 32 does not divide n_embd_head_k=80"},
    {"V cache type {type:word} with block size {block} does not divide n_embd_head_v={width}", kRefused,
     "the V cache type {type} has blocks of {block}, which do not divide the head's width {width}",
     "@plain_cache_type:-ctv f16",
     "llama_init_from_model: V cache type q4_0 with block size 32 does not divide n_embd_head_v=80"},
    {"SPLIT_MODE_TENSOR {reason:text}", kRefused, "the split by tensors is not possible here: {reason}",
     "-sm layer | splits by layers; @newer_release",
     "llama_init_from_model: SPLIT_MODE_TENSOR requires flash_attn to be enabled"},
    {": flash_attn = disabled", kMemoryHint, "flash attention is off: the scores of the whole context are stored",
     "@flash_attention:-fa on"},
    {": flash_attn = 0", kMemoryHint, "flash attention is off: the scores of the whole context are stored",
     "@flash_attention:-fa on"},
    {"Flash Attention was auto, set to disabled", kMemoryHint,
     "flash attention is off (auto): the scores of the whole context are stored", "@flash_attention:-fa on"},
    {"is assigned to device CPU but {*}is assigned to device", kMemoryHint,
     "a layer is on the CPU although its state is on the GPU: the GPU has no memory for it",
     "@fewer_layers_on_gpu; @shorter_length",
     "layer 0 is assigned to device CPU but fused Gated Delta Net (chunked) is assigned to device CUDA0 (usually due "
     "to missing "
     "support)"},
    {"invalid value for main_gpu", kRefused, "the GPU of -mg is not there", "-mg 0; see --list-devices"},
    {"no backends are loaded", kRefused, "the build found no backend library",
     "run it from its own folder, or set GGML_BACKEND_PATH; @other_build"},
    {"ggml_cuda_init: failed to initialize CUDA: {reason:text}", kMemoryHint,
     "CUDA could not be initialized ({reason}): llama.cpp runs on the CPU", "check nvidia-smi; docker run --gpus all",
     "ggml_cuda_init: failed to initialize CUDA: no CUDA-capable device is detected"},
    {"the context is full", kRequestTooLong, "a request filled its context; the server keeps running",
     "@longer_context; @shorter_input"},
    {"server is listening on", kStarted},
    {"all slots are idle", kStarted},
    {"initializing, n_slots = {slots:seqs}, n_ctx_slot = {longest:tokens}", kStarted, "", "",
     "initializing, n_slots = 4, n_ctx_slot = 8192,"},
    {"request ({asked:tokens} tokens) exceeds the available context size ({longest:tokens} tokens)", kRequestTooLong,
     "", "", "request (4096 tokens) exceeds the available context size (4096 tokens)"},
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
     "-ot 'per_layer_token_embd=CPU' | that tensor in main memory; @newer_release; another backend (CUDA, ROCm) | "
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
