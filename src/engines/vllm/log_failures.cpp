#include "engines/vllm/log_failures.h"

namespace kvplan {

using enum LogEventId;

constexpr LogTemplate kVllmEvents[] = {
    {"max seq len ({max_model_len:tokens}), ({needed:size} KV cache is needed, which is larger than the available KV "
     "cache memory ({available:size}). Based on the available memory, the estimated maximum model length is "
     "{longest:tokens}",
     kCacheTooSmall},
    {"max seq len ({max_model_len:tokens}), {needed:size} KV cache is needed, which is larger than the available KV "
     "cache memory ({available:size}). Based on the available memory, the estimated maximum model length is "
     "{longest:tokens}",
     kCacheTooSmall},
    {"max seq len ({max_model_len:tokens}), ({needed:size} KV cache is needed, which is larger than the available KV "
     "cache memory ({available:size})",
     kCacheTooSmall},
    {"max seq len ({max_model_len:tokens}), {needed:size} KV cache is needed, which is larger than the available KV "
     "cache memory ({available:size})",
     kCacheTooSmall},
    {"{needed:size} KV cache is needed, which is larger than the available KV cache memory ({available:size}). Based "
     "on "
     "the available memory, the estimated maximum model length is {longest:tokens}",
     kCacheTooSmall},
    {"{needed:size} KV cache is needed, which is larger than the available KV cache memory ({available:size})",
     kCacheTooSmall},
    {"max seq len ({max_model_len:tokens}) is larger than the maximum number of tokens that can be stored in KV cache "
     "({longest:tokens})",
     kCacheTooSmall},
    {"No available memory for the cache blocks", kNoCacheMemory},
    {"Free memory on device {device:word} ({free:GiB}/{total:GiB} GiB) on startup is less than desired GPU memory "
     "utilization ({share:share}, {wanted:GiB} GiB)",
     kFreeMemoryShort},
    {"Free memory on device ({free:GiB}/{total:GiB} GiB) on startup is less than desired GPU memory utilization "
     "({share:share}, {wanted:GiB} GiB)",
     kFreeMemoryShort},
    {"Available memory on node {node} ({free:GiB}/{total:GiB} GiB) on startup is less than desired CPU memory "
     "utilization ({share:share}, {wanted:GiB} GiB)",
     kFreeMemoryShort},
    {"Error in memory profiling. Initial free memory {before:size}, current free memory {here:size}",
     kMemoryUnbalanced},
    {"Error in memory profiling", kMemoryUnbalanced},
    {"max_num_seqs ({sequences:seqs}) exceeds available Mamba cache blocks ({blocks:blocks})", kTooManySequences},
    {"CUDA out of memory occurred when warming up sampler with {sequences:seqs} dummy requests", kOutOfMemory},
    {"CUDA out of memory occurred when warming up pooler with {sequences:seqs} dummy requests", kOutOfMemory},
    {"Bfloat16 is only supported on GPUs with compute capability of at least {least}. Your {card:text} GPU has compute "
     "capability {capability}",
     kNoBfloat16},
    {"No valid attention backend found for {device:word} with {request:text}. Reasons: {reasons:text}.",
     kNoAttentionBackend},
    {"No valid attention backend found for", kNoAttentionBackend},
    {"The output_size of gate's and up's weight = {width} is not divisible by weight quantization block_n = {block}",
     kBlockDoesNotDivide},
    {"The input_size of down's weight = {width} is not divisible by weight quantization block_k = {block}",
     kBlockDoesNotDivide},
    {"output_partition_size = {width} is not divisible by weight quantization block_n = {block}", kBlockDoesNotDivide},
    {"input_size_per_partition = {width} is not divisible by weight quantization block_k = {block}",
     kBlockDoesNotDivide},
    {"Total number of attention heads ({heads}) must be divisible by tensor parallel size ({ranks})",
     kHeadsDoNotDivide},
    {"User-specified max_model_len ({max_model_len:tokens}) is greater than the derived max_model_len "
     "({key:word}={longest:tokens}",
     kLengthBeyondModel},
    {"max_num_batched_tokens ({batch:tokens}) is smaller than max_model_len ({max_model_len:tokens})",
     kBatchBelowLength},
    {"max_num_batched_tokens ({batch:tokens}) must be greater than or equal to max_num_seqs ({sequences:seqs})",
     kRefused},
    {"please ensure that world_size ({ranks}) is less than than max local gpu count ({cards})", kTooFewCards},
    {"please ensure that world_size ({ranks}) is less than max local gpu count ({cards})", kTooFewCards},
    {"World size ({ranks}) is larger than the number of available GPUs ({cards})", kTooFewCards},
    {"Model architectures {architecture:text} are not supported for now", kUnknownArchitecture},
    {"has model type `{architecture:word}` but Transformers does not recognize this architecture",
     kUnknownArchitecture},
    {"EngineCore failed to start", kDied},
    {"Engine core initialization failed", kDied},
    {"EngineCore encountered a fatal error", kDied},
    {"EngineDeadError", kDied},
    {"Capturing CUDA graphs", kPhase},
    {"Capturing CUDA graph shapes", kPhase},
    {"Application startup complete", kStarted},
    {"Graph capturing finished in", kGraphsDone},
    {"init engine (profile, create kv cache, warmup model) took", kStarted},
    {"maximum context length is {longest:tokens} tokens. However, your request has {asked:tokens} input tokens",
     kRequestTooLong},
    {"maximum context length is {longest:tokens} tokens. However, you requested {asked:tokens} tokens",
     kRequestTooLong},
    {"is preempted by PreemptionMode.{mode:word} mode{*}total_num_cumulative_preemption={preemptions}", kPreempted},
    {"is preempted by PreemptionMode.{mode:word} mode", kPreempted},
    {"Engine {engine}: Avg prompt throughput:{*}tokens/s, Running: {running:seqs} reqs, Waiting: {waiting:seqs} reqs, "
     "GPU KV cache usage: {usage:%}%, Prefix cache hit rate: {hits:%}%",
     kTraffic},
    {"tokens/s, Running: {running:seqs} reqs, Waiting: {waiting:seqs} reqs, GPU KV cache usage: {usage:%}%, Prefix "
     "cache hit rate: {hits:%}%",
     kTraffic},
    {"tokens/s, Running: {running:seqs} reqs, Waiting: {waiting:seqs} reqs, Deferred: {deferred:seqs} reqs, GPU KV "
     "cache usage: {usage:%}%",
     kTraffic},
    {"tokens/s, Running: {running:seqs} reqs, Waiting: {waiting:seqs} reqs, {*}GPU KV cache usage: {usage:%}%",
     kTraffic},
    {"tokens/s, Running: {running:seqs} reqs, Swapped: {swapped:seqs} reqs, Pending: {waiting:seqs} reqs, GPU KV cache "
     "usage: {usage:%}%",
     kTraffic},
    // Out of memory, in other wordings.
    {"Cannot auto-fit max_model_len: not enough GPU memory available", kNoCacheMemory},
    {"Externally held weights on device {device:word} ({weights:GiB}/{total:GiB} GiB) exceed the desired GPU memory "
     "utilization ({share:share}, {wanted:GiB} GiB)",
     kNoCacheMemory, "another process's weights ({weights} of {total}) exceed the engine's memory fraction ({share})",
     "@larger_share; @more_ranks"},
    {"Too large swap space", kHostOutOfMemory, "the swap space is larger than main memory",
     "--swap-space 0 | or what the machine has"},
    {"Chunked MM input disabled but max_tokens_per_mm_item ({item:tokens}) is larger than max_num_batched_tokens "
     "({batch:tokens})",
     kRefused, "one image or video takes {item}, and a batch has {batch}",
     "@larger_batch {item}; --limit-mm-per-prompt | or smaller images (--mm-processor-kwargs)"},
    {"Insufficient space in {place:word} for {what:text}: {wanted:size} required, {free:size} free", kHostOutOfMemory,
     "{place} has {free} free, but {wanted} is needed", "--shm-size 10g or --ipc=host | where it runs in docker"},
    {"Paged attention: not enough Metal memory for KV cache. metal_limit={limit:size}, fraction={share:share}, "
     "usable_metal={usable:size}, model_memory={weights:size}, overhead={overhead:size},{*} kv_budget={budget:size}.",
     kNoCacheMemory,
     "nothing is left for the KV cache: of {usable} (fraction {share} of {limit}) the model takes {weights} and the "
     "overhead {overhead}. Recurrent states of up to 256 sequences (--max-num-seqs) are subtracted too, so the budget "
     "is "
     "{budget}",
     "@fewer_sequences:--max-num-seqs 1; VLLM_METAL_MEMORY_FRACTION higher | if it is below 0.9; @smaller_weights; "
     "@shorter_length:--max-model-len"},
    {"not enough Metal memory for KV cache", kNoCacheMemory, "nothing is left for the KV cache in what Metal may use",
     "VLLM_METAL_MEMORY_FRACTION higher; @fewer_sequences:--max-num-seqs 1; @smaller_weights"},
    {"Replace gpu_memory_utilization config with `--kv-cache-memory={now}` ({now_size:size}) to fit into requested "
     "memory, or "
     "`--kv-cache-memory={most}` ({most_size:size}) to fully utilize gpu memory. Current kv cache memory in use is "
     "{used:size}",
     kRoomLeft,
     "torch.compile ran in this start, and its memory counts towards the peak of activations: the KV cache has {used}, "
     "and {most_size} would fit",
     "start again, warm | the compiled code is then in the cache, and the peak is without it; --kv-cache-memory={most} "
     "| "
     "the size that vLLM prints: all free memory"},
    {"(compilation: {seconds:s} s)", kCompiled},
    {"torch.compile takes {seconds:s} s", kCompiled},
    // Kernels and types.
    {"{type:word} MoE backend supports the deployment configuration", kNoKernel,
     "this release has no {type} MoE kernel for this GPU and layout; not memory",
     "@newer_release; --moe-backend (marlin, triton, cutlass) | other kernels for the experts; another checkpoint "
     "(FP8, AWQ, "
     "bfloat16); VLLM_LOGGING_LEVEL=DEBUG | shows why each backend was rejected"},
    {"{type:word} MoE backend '{backend:word}' does not support the deployment configuration since {reason:text}",
     kNoKernel, "the {type} MoE kernel {backend} does not run here: {reason}; not memory",
     "--moe-backend auto, or another one | other kernels for the experts; @newer_release; another checkpoint (FP8, "
     "AWQ, "
     "bfloat16)"},
    {"moe_backend='{backend:word}' is not supported for {type:word} MoE", kRefused,
     "the MoE backend {backend} has no {type} kernels", "--moe-backend auto; @newer_release"},
    {"fp8_ds_mla layout only supports fp8 kv-cache, got {type:word}", kCacheTypeNeedsFlash,
     "the model's packed latent cache (fp8_ds_mla) needs an FP8 KV cache, and it was {type}; not memory",
     "@plain_cache_type:--kv-cache-dtype fp8"},
    {"FP8 KV cache is not supported by the Triton attention backend", kNoAttentionBackend,
     "Triton's attention has no FP8 KV cache on this GPU: it needs compute capability 8.9",
     "@plain_cache_type:--kv-cache-dtype auto; --attention-backend | other attention kernels"},
    {"an FP8 KV cache needs native fp8e4nv (SM89+)", kNoAttentionBackend,
     "an FP8 (e4m3) KV cache needs compute capability 8.9 on this path",
     "@plain_cache_type:--kv-cache-dtype auto; --kv-cache-dtype fp8_e5m2"},
    {"does not support fp8 kv-cache", kNoAttentionBackend,
     "the attention backend does not support an FP8 KV cache; not memory",
     "@plain_cache_type:--kv-cache-dtype auto; --attention-backend FLASHINFER | supports it"},
    {"FlashAttention does not support {type:word} kv-cache", kNoAttentionBackend,
     "FlashAttention does not support a {type} KV cache on this GPU; not memory",
     "@plain_cache_type:--kv-cache-dtype auto; --attention-backend FLASHINFER or TRITON_ATTN"},
    {"Invalid attention backend for {device:word}", kNoAttentionBackend,
     "the chosen attention backend does not exist on {device}",
     "leave out --attention-backend (VLLM_ATTENTION_BACKEND) | vLLM then chooses"},
    {"Selected backend {backend:word} is not valid for this configuration. Reason: {reason:text}", kNoAttentionBackend,
     "the attention backend {backend} does not run here: {reason}",
     "leave out --attention-backend (VLLM_ATTENTION_BACKEND) | vLLM then chooses; @plain_cache_type:--kv-cache-dtype "
     "auto"},
    {"does not match the quantization method specified in the `quantization` argument ({method:word})", kRefused,
     "the checkpoint is not quantized as --quantization {method} says",
     "without --quantization | vLLM reads it from the checkpoint"},
    {"Unknown quantization method: {method:word}", kRefused, "this release does not know the quantization {method}",
     "@newer_release; another checkpoint"},
    {"Cannot find any of {files:text} in the model's quantization config", kRefused,
     "the checkpoint is not quantized, or its config does not say how", "without --quantization"},
    {"The model type '{architecture:word}' does not support float16", kRefused, "the model overflows in float16",
     "--dtype bfloat16 (compute capability 8.0) or float32"},
    {"Pipeline parallelism is not supported for this model", kRefused,
     "the class of this model cannot be split by layers",
     "--tensor-parallel-size instead of --pipeline-parallel-size; @newer_release"},
    {"cp_world_size must be positive", kRefused,
     "a bug in this image or build with pipeline parallelism: it does not set cp_world_size to 1",
     "another image or release of the engine; -tp instead of -pp"},
    {"Failed to infer device type", kRefused, "vLLM found no GPU that its build is for",
     "docker run --gpus all | shows the GPUs to a container; the wheel or image of your hardware (CUDA, ROCm, CPU); "
     "check nvidia-smi"},
    {"CUDAGraphMode.{mode:word} is not supported with {backend:word} backend", kGraphsFailed,
     "{backend} cannot be captured in {mode} CUDA graphs",
     "-cc.cudagraph_mode=PIECEWISE | graphs without attention; @no_graphs; --attention-backend"},
    {"only supports decode-only full CUDAGraph capture. Make sure", kGraphsFailed,
     "the graphs' sizes exceed the number of sequences",
     "-cc.cudagraph_capture_sizes | none above --max-num-seqs; @no_graphs"},
    {"local_world_size ({ranks}) must be less than or equal to the number of visible devices ({cards})", kTooFewCards},
    {"The number of required {kind:word} exceeds the total number of available {other:word} in the placement group. "
     "Required "
     "number of devices: {ranks}. Total number of devices: {cards}",
     kTooFewCards},
    {"Cannot provide a placement group", kTooFewCards,
     "the Ray cluster does not have as many GPUs as the command needs",
     "ray status | shows what each node has; -tp and -pp smaller; ray start on the other nodes"},
    {"Current node has no GPU available", kTooFewCards, "this node has no free GPU for Ray",
     "ray status | shows who uses them; stop the other engine"},
    {"Every node should have a unique IP address", kRefused, "two nodes have one address",
     "VLLM_HOST_IP | a different one on each node"},
    {"Target and draft model should have the same vocabulary size", kRefused,
     "the draft model has another vocabulary than the model", "a draft model of the same family"},
    {"No supported config format found in", kRefused, "the folder has no config.json",
     "check the model's name or folder; --load-format gguf --tokenizer ORG/NAME | for a GGUF file"},
    {"Cannot find any model weights with", kRefused, "the folder has no weights that vLLM reads",
     "download the checkpoint again; --load-format | for other formats"},
    {"There is no module or parameter named '{name:word}' in {class:word}", kRefused,
     "the checkpoint has a tensor ({name}) that this release's {class} does not have",
     "@newer_release; pip install -U transformers; another checkpoint"},
    {"Model architectures {architecture:text} failed to be inspected", kUnknownArchitecture,
     "the class {architecture} could not be loaded; see the lines above",
     "@newer_release; pip install -U transformers"},
    {"has no vLLM implementation and the Transformers implementation is not compatible", kUnknownArchitecture,
     "vLLM has no class for this model, and transformers' own does not run in vLLM",
     "@newer_release; SGLang or transformers"},
    {"At most {most} {what:text} may be provided in one prompt", kRequestTooLong,
     "a request had more {what} than --limit-mm-per-prompt allows ({most}); vLLM keeps running",
     "--limit-mm-per-prompt higher | the encoder then needs more memory"},
    {"prompt (length {asked:tokens}) is longer than the maximum model length of {longest:tokens}", kRequestTooLong},
    {"RPC call to {method:word} timed out", kDied, "a worker did not answer in time ({method})",
     "VLLM_RPC_TIMEOUT or VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS higher; look at the workers' log | one of them may "
     "have failed first"},
    {"Did not receive response from front-end process within", kDied},
    // Lines of the CPU backend.
    {"cpu_worker.py", kPhase},
    {"cpu_model_runner.py", kPhase},
    {"device_config=cpu", kPhase},
    {"platform cpu", kPhase},
    {"VLLM_CPU_", kPhase},
    // Lines that show which engine wrote the log.
    {"vllm/model_executor/", kMark},
    {"vllm/v1/", kMark},
    {"vllm/config", kMark},
    {"vllm_ascend/", kMark},
    {"(EngineCore", kMark},
    {"(VllmWorker", kMark},
    {"(APIServer pid=", kMark},
    {"(Worker_TP", kMark},
    {"vLLM API server version", kMark},
    {"VLLM_", kMark},
};

const std::span<const LogTemplate> kVllmLogEvents = kVllmEvents;

}  // namespace kvplan
