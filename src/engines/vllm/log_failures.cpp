#include "engines/vllm/log_failures.h"

namespace kvplan {

using enum LogEventId;

constexpr LogTemplate kVllmEvents[] = {
    {"max seq len ({max_model_len:tokens}), ({needed:size} KV cache is needed, which is larger than the available KV "
     "cache memory ({available:size}). Based on the available memory, the estimated maximum model length is "
     "{longest:tokens}",
     kCacheTooSmall, "", "",
     "max seq len (221000), (10.12 GiB KV cache is needed, which is larger than the available KV cache memory (5.59 "
     "GiB). Based on the available memory, the estimated maximum model length is 122080."},
    {"max seq len ({max_model_len:tokens}), {needed:size} KV cache is needed, which is larger than the available KV "
     "cache memory ({available:size}). Based on the available memory, the estimated maximum model length is "
     "{longest:tokens}",
     kCacheTooSmall, "", "",
     "max seq len (4096), 5.62 GiB KV cache is needed, which is larger than the available KV cache memory (5.62 GiB). "
     "Based on the available memory, the estimated maximum model length is 4096"},
    {"max seq len ({max_model_len:tokens}), ({needed:size} KV cache is needed, which is larger than the available KV "
     "cache memory ({available:size})",
     kCacheTooSmall, "", "",
     "max seq len (221000), (10.12 GiB KV cache is needed, which is larger than the available KV cache memory (5.59 "
     "GiB)"},
    {"max seq len ({max_model_len:tokens}), {needed:size} KV cache is needed, which is larger than the available KV "
     "cache memory ({available:size})",
     kCacheTooSmall, "", "",
     "max seq len (4096), 5.62 GiB KV cache is needed, which is larger than the available KV cache memory (5.62 GiB)"},
    {"{needed:size} KV cache is needed, which is larger than the available KV cache memory ({available:size}). Based "
     "on "
     "the available memory, the estimated maximum model length is {longest:tokens}",
     kCacheTooSmall, "", "",
     "10.12 GiB KV cache is needed, which is larger than the available KV cache memory (5.59 GiB). Based on the "
     "available memory, the estimated maximum model length is 122080."},
    {"{needed:size} KV cache is needed, which is larger than the available KV cache memory ({available:size})",
     kCacheTooSmall, "", "",
     "10.12 GiB KV cache is needed, which is larger than the available KV cache memory (5.59 GiB)"},
    {"max seq len ({max_model_len:tokens}) is larger than the maximum number of tokens that can be stored in KV cache "
     "({longest:tokens})",
     kCacheTooSmall, "", "",
     "max seq len (131072) is larger than the maximum number of tokens that can be stored in KV cache (64400)"},
    {"No available memory for the cache blocks", kNoCacheMemory},
    {"Free memory on device {device:word} ({free:GiB}/{total:GiB} GiB) on startup is less than desired GPU memory "
     "utilization ({share:share}, {wanted:GiB} GiB)",
     kFreeMemoryShort, "", "",
     "Free memory on device cuda:0 (104.46/121.69 GiB) on startup is less than desired GPU memory utilization (0.87, "
     "105.87 GiB)"},
    {"Free memory on device ({free:GiB}/{total:GiB} GiB) on startup is less than desired GPU memory utilization "
     "({share:share}, {wanted:GiB} GiB)",
     kFreeMemoryShort, "", "",
     "Free memory on device (5.62/5.62 GiB) on startup is less than desired GPU memory utilization (0.9, 5.62 GiB)"},
    {"Available memory on node {node} ({free:GiB}/{total:GiB} GiB) on startup is less than desired CPU memory "
     "utilization ({share:share}, {wanted:GiB} GiB)",
     kFreeMemoryShort, "", "",
     "Available memory on node 3 (5.62/5.62 GiB) on startup is less than desired CPU memory utilization (0.9, 5.62 "
     "GiB)"},
    {"Error in memory profiling. Initial free memory {before:size}, current free memory {here:size}", kMemoryUnbalanced,
     "", "", "Error in memory profiling. Initial free memory 5.62 GiB, current free memory 5.62 GiB"},
    {"Error in memory profiling", kMemoryUnbalanced},
    {"max_num_seqs ({sequences:seqs}) exceeds available Mamba cache blocks ({blocks:blocks})", kTooManySequences, "",
     "", "max_num_seqs (1024) exceeds available Mamba cache blocks (614)"},
    {"CUDA out of memory occurred when warming up sampler with {sequences:seqs} dummy requests", kOutOfMemory, "", "",
     "CUDA out of memory occurred when warming up sampler with 4 dummy requests"},
    {"CUDA out of memory occurred when warming up pooler with {sequences:seqs} dummy requests", kOutOfMemory, "", "",
     "CUDA out of memory occurred when warming up pooler with 4 dummy requests"},
    {"Bfloat16 is only supported on GPUs with compute capability of at least {least}. Your {card:text} GPU has compute "
     "capability {capability}",
     kNoBfloat16, "", "",
     "Bfloat16 is only supported on GPUs with compute capability of at least 8.0. Your Tesla T4 GPU has compute "
     "capability 7.5."},
    {"No valid attention backend found for {device:word} with {request:text}. Reasons: {reasons:text}.",
     kNoAttentionBackend, "", "", "No valid attention backend found for cuda with some reason. Reasons: some reason."},
    {"No valid attention backend found for", kNoAttentionBackend},
    {"The output_size of gate's and up's weight = {width} is not divisible by weight quantization block_n = {block}",
     kBlockDoesNotDivide, "", "",
     "The output_size of gate's and up's weight = 64 is not divisible by weight quantization block_n = 128."},
    {"The input_size of down's weight = {width} is not divisible by weight quantization block_k = {block}",
     kBlockDoesNotDivide, "", "",
     "The input_size of down's weight = 3 is not divisible by weight quantization block_k = 3"},
    {"output_partition_size = {width} is not divisible by weight quantization block_n = {block}", kBlockDoesNotDivide,
     "", "", "output_partition_size = 3 is not divisible by weight quantization block_n = 3"},
    {"input_size_per_partition = {width} is not divisible by weight quantization block_k = {block}",
     kBlockDoesNotDivide, "", "", "input_size_per_partition = 3 is not divisible by weight quantization block_k = 3"},
    {"Total number of attention heads ({heads}) must be divisible by tensor parallel size ({ranks})", kHeadsDoNotDivide,
     "", "", "Total number of attention heads (32) must be divisible by tensor parallel size (3)"},
    {"User-specified max_model_len ({max_model_len:tokens}) is greater than the derived max_model_len "
     "({key:word}={longest:tokens}",
     kLengthBeyondModel, "", "",
     "User-specified max_model_len (131072) is greater than the derived max_model_len (None=8192"},
    {"max_num_batched_tokens ({batch:tokens}) is smaller than max_model_len ({max_model_len:tokens})",
     kBatchBelowLength, "", "", "max_num_batched_tokens (2048) is smaller than max_model_len (40960)"},
    {"max_num_batched_tokens ({batch:tokens}) must be greater than or equal to max_num_seqs ({sequences:seqs})",
     kRefused, "", "", "max_num_batched_tokens (4096) must be greater than or equal to max_num_seqs (4)"},
    {"please ensure that world_size ({ranks}) is less than than max local gpu count ({cards})", kTooFewCards, "", "",
     "please ensure that world_size (2) is less than than max local gpu count (1)"},
    {"please ensure that world_size ({ranks}) is less than max local gpu count ({cards})", kTooFewCards, "", "",
     "please ensure that world_size (3) is less than max local gpu count (3)"},
    {"World size ({ranks}) is larger than the number of available GPUs ({cards})", kTooFewCards, "", "",
     "World size (3) is larger than the number of available GPUs (3)"},
    {"Model architectures {architecture:text} are not supported for now", kUnknownArchitecture, "", "",
     "Model architectures some reason are not supported for now"},
    {"has model type `{architecture:word}` but Transformers does not recognize this architecture", kUnknownArchitecture,
     "", "", "has model type `glm4v_moe` but Transformers does not recognize this architecture"},
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
     kRequestTooLong, "", "", "maximum context length is 40000 tokens. However, your request has 89461 input tokens"},
    {"maximum context length is {longest:tokens} tokens. However, you requested {asked:tokens} tokens", kRequestTooLong,
     "", "", "maximum context length is 4096 tokens. However, you requested 4096 tokens"},
    {"is preempted by PreemptionMode.{mode:word} mode{*}total_num_cumulative_preemption={preemptions}", kPreempted, "",
     "",
     "is preempted by PreemptionMode.RECOMPUTE mode because there is not enough KV cache space. This can affect the "
     "end-to-end performance. Increase gpu_memory_utilization or tensor_parallel_size to provide more KV cache memory. "
     "total_num_cumulative_preemption=101"},
    {"is preempted by PreemptionMode.{mode:word} mode", kPreempted, "", "",
     "is preempted by PreemptionMode.RECOMPUTE mode"},
    {"Engine {engine}: Avg prompt throughput:{*}tokens/s, Running: {running:seqs} reqs, Waiting: {waiting:seqs} reqs, "
     "GPU KV cache usage: {usage:%}%, Prefix cache hit rate: {hits:%}%",
     kTraffic, "", "",
     "Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 148.5 tokens/s, Running: 1 reqs, "
     "Waiting: 0 reqs, GPU KV cache usage: 3.4%, Prefix cache hit rate: 18.8%"},
    {"tokens/s, Running: {running:seqs} reqs, Waiting: {waiting:seqs} reqs, GPU KV cache usage: {usage:%}%, Prefix "
     "cache hit rate: {hits:%}%",
     kTraffic, "", "",
     "tokens/s, Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 3.4%, Prefix cache hit rate: 18.8%"},
    {"tokens/s, Running: {running:seqs} reqs, Waiting: {waiting:seqs} reqs, Deferred: {deferred:seqs} reqs, GPU KV "
     "cache usage: {usage:%}%",
     kTraffic, "", "", "tokens/s, Running: 4 reqs, Waiting: 4 reqs, Deferred: 4 reqs, GPU KV cache usage: 65.4%"},
    {"tokens/s, Running: {running:seqs} reqs, Waiting: {waiting:seqs} reqs, {*}GPU KV cache usage: {usage:%}%",
     kTraffic, "", "", "tokens/s, Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 3.4%"},
    {"tokens/s, Running: {running:seqs} reqs, Swapped: {swapped:seqs} reqs, Pending: {waiting:seqs} reqs, GPU KV cache "
     "usage: {usage:%}%",
     kTraffic, "", "", "tokens/s, Running: 4 reqs, Swapped: 4 reqs, Pending: 4 reqs, GPU KV cache usage: 65.4%"},
    // Not enough memory, in other words.
    {"Cannot auto-fit max_model_len: not enough GPU memory available", kNoCacheMemory},
    {"Externally held weights on device {device:word} ({weights:GiB}/{total:GiB} GiB) exceed the desired GPU memory "
     "utilization ({share:share}, {wanted:GiB} GiB)",
     kNoCacheMemory, "another process's weights ({weights} of {total}) exceed the engine's memory fraction ({share})",
     "@larger_share; @more_ranks",
     "ValueError: Externally held weights on device cuda:0 (20.00/23.50 GiB) exceed the desired GPU memory utilization "
     "(0.8, 18.80 GiB)."},
    {"Too large swap space", kHostOutOfMemory, "the swap space is larger than main memory",
     "--swap-space 0 | or what the machine has",
     "ValueError: Too large swap space. 32.00 GiB out of the 31.30 GiB total CPU memory is allocated for the swap "
     "space."},
    {"Chunked MM input disabled but max_tokens_per_mm_item ({item:tokens}) is larger than max_num_batched_tokens "
     "({batch:tokens})",
     kRefused, "one image or video takes {item}, and a batch has {batch}",
     "@larger_batch {item}; --limit-mm-per-prompt | or smaller images (--mm-processor-kwargs)",
     "ValueError: Chunked MM input disabled but max_tokens_per_mm_item (16384) is larger than max_num_batched_tokens "
     "(2048). "
     "Please increase max_num_batched_tokens."},
    {"Insufficient space in {place:word} for {what:text}: {wanted:size} required, {free:size} free", kHostOutOfMemory,
     "{place} has {free} free and {wanted} is needed", "--shm-size 10g or --ipc=host | where it runs in docker",
     "RuntimeError: Insufficient space in /dev/shm for message queue: 160.0 MiB required, 64.0 MiB free."},
    {"Paged attention: not enough Metal memory for KV cache. metal_limit={limit:size}, fraction={share:share}, "
     "usable_metal={usable:size}, model_memory={weights:size}, overhead={overhead:size},{*} kv_budget={budget:size}.",
     kNoCacheMemory,
     "nothing is left for the KV cache: of {usable} (fraction {share} of {limit}) the model takes {weights} and the "
     "overhead {overhead}. Recurrent states of up to 256 sequences (--max-num-seqs) come on top, so the budget is "
     "{budget}",
     "@fewer_sequences:--max-num-seqs 1; VLLM_METAL_MEMORY_FRACTION higher | if it is below 0.9; @smaller_weights; "
     "@shorter_length:--max-model-len",
     "ValueError: Paged attention: not enough Metal memory for KV cache. metal_limit=26.80GB, fraction=0.98, "
     "usable_metal=26.26GB, model_memory=19.74GB, overhead=2.09GB, kv_budget=-12.05GB."},
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
     "as vLLM prints it: all that is free",
     "Replace gpu_memory_utilization config with `--kv-cache-memory=24916765696` (23.21 GiB) to fit into requested "
     "memory, "
     "or `--kv-cache-memory=35225873408` (32.81 GiB) to fully utilize gpu memory. Current kv cache memory in use is "
     "25.1 "
     "GiB."},
    {"(compilation: {seconds:s} s)", kCompiled, "", "",
     "init engine (profile, create kv cache, warmup model) took 132.05 s (compilation: 60.41 s)"},
    {"torch.compile takes {seconds:s} s", kCompiled, "", "", "torch.compile takes 45.31 s in total"},
    // Kernels and types.
    {"{type:word} MoE backend supports the deployment configuration", kNoKernel,
     "this release has no {type} MoE kernel for this GPU and layout; not memory",
     "@newer_release; --moe-backend (marlin, triton, cutlass) | other kernels for the experts; another checkpoint "
     "(FP8, AWQ, "
     "bfloat16); VLLM_LOGGING_LEVEL=DEBUG | shows why each backend was rejected",
     "NotImplementedError: No NvFp4 MoE backend supports the deployment configuration."},
    {"{type:word} MoE backend '{backend:word}' does not support the deployment configuration since {reason:text}",
     kNoKernel, "the {type} MoE kernel {backend} does not run here: {reason}; not memory",
     "--moe-backend auto, or another one | other kernels for the experts; @newer_release; another checkpoint (FP8, "
     "AWQ, "
     "bfloat16)",
     "ValueError: NvFp4 MoE backend 'FLASHINFER_CUTLASS' does not support the deployment configuration since kernel "
     "does not "
     "support current device."},
    {"moe_backend='{backend:word}' is not supported for {type:word} MoE", kRefused,
     "the MoE backend {backend} has no {type} kernels", "--moe-backend auto; @newer_release",
     "ValueError: moe_backend='marlin' is not supported for Int8 MoE. Expected one of ['triton']."},
    {"fp8_ds_mla layout only supports fp8 kv-cache, got {type:word}", kCacheTypeNeedsFlash,
     "the model's packed latent cache (fp8_ds_mla) needs an FP8 KV cache, and it was {type}; not memory",
     "@plain_cache_type:--kv-cache-dtype fp8",
     "AssertionError: DeepseekV4 fp8_ds_mla layout only supports fp8 kv-cache, got auto"},
    {"FP8 KV cache is not supported by the Triton attention backend", kNoAttentionBackend,
     "Triton's attention has no FP8 KV cache on this GPU: it needs compute capability 8.9",
     "@plain_cache_type:--kv-cache-dtype auto; --attention-backend | other attention kernels",
     "ValueError: FP8 KV cache is not supported by the Triton attention backend on cuda (compute capability 8.6); "
     "native FP8 "
     "(fp8e4nv) requires SM89+. Re-run with --kv-cache-dtype bfloat16."},
    {"an FP8 KV cache needs native fp8e4nv (SM89+)", kNoAttentionBackend,
     "an FP8 (e4m3) KV cache needs compute capability 8.9 on this path",
     "@plain_cache_type:--kv-cache-dtype auto; --kv-cache-dtype fp8_e5m2"},
    {"does not support fp8 kv-cache", kNoAttentionBackend, "the attention backend takes no FP8 KV cache; not memory",
     "@plain_cache_type:--kv-cache-dtype auto; --attention-backend FLASHINFER | supports it"},
    {"FlashAttention does not support {type:word} kv-cache", kNoAttentionBackend,
     "FlashAttention takes no {type} KV cache on this GPU; not memory",
     "@plain_cache_type:--kv-cache-dtype auto; --attention-backend FLASHINFER or TRITON_ATTN",
     "NotImplementedError: FlashAttention does not support fp8 kv-cache on this device."},
    {"Invalid attention backend for {device:word}", kNoAttentionBackend,
     "the chosen attention backend does not exist on {device}",
     "leave out --attention-backend (VLLM_ATTENTION_BACKEND) | vLLM then chooses",
     "ValueError: Invalid attention backend for cuda"},
    {"Selected backend {backend:word} is not valid for this configuration. Reason: {reason:text}", kNoAttentionBackend,
     "the attention backend {backend} does not run here: {reason}",
     "leave out --attention-backend (VLLM_ATTENTION_BACKEND) | vLLM then chooses; @plain_cache_type:--kv-cache-dtype "
     "auto",
     "ValueError: Selected backend AttentionBackendEnum.FLASHMLA is not valid for this configuration. Reason: "
     "['compute "
     "capability not supported']"},
    {"does not match the quantization method specified in the `quantization` argument ({method:word})", kRefused,
     "the checkpoint is not quantized as --quantization {method} says",
     "without --quantization | vLLM reads it from the checkpoint",
     "ValueError: Quantization method specified in the model config (fp8) does not match the quantization method "
     "specified in "
     "the `quantization` argument (awq)."},
    {"Unknown quantization method: {method:word}", kRefused, "this release does not know the quantization {method}",
     "@newer_release; another checkpoint", "ValueError: Unknown quantization method: mxfp4. Must be one of ['aqlm']."},
    {"Cannot find any of {files:text} in the model's quantization config", kRefused,
     "the checkpoint is not quantized, or its config does not say how", "without --quantization",
     "ValueError: Cannot find any of ['adapter_name_or_path'] in the model's quantization config."},
    {"The model type '{architecture:word}' does not support float16", kRefused, "the model overflows in float16",
     "--dtype bfloat16 (compute capability 8.0) or float32",
     "ValueError: The model type 'gemma2' does not support float16. Reason: Numerical instability."},
    {"Pipeline parallelism is not supported for this model", kRefused,
     "the class of this model cannot be split by layers",
     "--tensor-parallel-size instead of --pipeline-parallel-size; @newer_release"},
    {"cp_world_size must be positive", kRefused,
     "a bug in this image or build with pipeline parallelism: cp_world_size was not set to 1",
     "another image or release of the engine; -tp instead of -pp",
     "RuntimeError: cp_world_size must be positive, required by downstream unified code path."},
    {"Failed to infer device type", kRefused, "vLLM found no GPU that its build is for",
     "docker run --gpus all | shows the GPUs to a container; the wheel or image of your hardware (CUDA, ROCm, CPU); "
     "check nvidia-smi"},
    {"CUDAGraphMode.{mode:word} is not supported with {backend:word} backend", kGraphsFailed,
     "{backend} cannot be captured in {mode} CUDA graphs",
     "-cc.cudagraph_mode=PIECEWISE | graphs without attention; @no_graphs; --attention-backend",
     "ValueError: CUDAGraphMode.FULL is not supported with FlashMLA backend "
     "(support:AttentionCGSupport.UNIFORM_BATCH); please "
     "try cudagraph_mode=PIECEWISE"},
    {"only supports decode-only full CUDAGraph capture. Make sure", kGraphsFailed,
     "the graphs' sizes exceed the number of sequences",
     "-cc.cudagraph_capture_sizes | none above --max-num-seqs; @no_graphs"},
    {"local_world_size ({ranks}) must be less than or equal to the number of visible devices ({cards})", kTooFewCards,
     "", "", "AssertionError: local_world_size (4) must be less than or equal to the number of visible devices (2)."},
    {"The number of required {kind:word} exceeds the total number of available {other:word} in the placement group. "
     "Required "
     "number of devices: {ranks}. Total number of devices: {cards}",
     kTooFewCards, "", "",
     "ValueError: The number of required GPUs exceeds the total number of available GPUs in the placement group. "
     "Required "
     "number of devices: 8. Total number of devices: 4."},
    {"Cannot provide a placement group", kTooFewCards,
     "the Ray cluster does not have as many GPUs as the command asks for",
     "ray status | shows what each node has; -tp and -pp smaller; ray start on the other nodes",
     "ValueError: Cannot provide a placement group of placement_group_specs=[{'GPU': 1.0}] within 1800 seconds."},
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
     "@newer_release; pip install -U transformers; another checkpoint",
     "ValueError: There is no module or parameter named 'lm_head.weight_scale' in Qwen3ForCausalLM"},
    {"Model architectures {architecture:text} failed to be inspected", kUnknownArchitecture,
     "the class {architecture} could not be loaded; see the lines above", "@newer_release; pip install -U transformers",
     "ValueError: Model architectures ['Qwen3NextForCausalLM'] failed to be inspected. Please check the logs for more "
     "details."},
    {"has no vLLM implementation and the Transformers implementation is not compatible", kUnknownArchitecture,
     "vLLM has no class for this model, and transformers' own does not run in vLLM",
     "@newer_release; SGLang or transformers"},
    {"At most {most} {what:text} may be provided in one prompt", kRequestTooLong,
     "a request had more {what} than --limit-mm-per-prompt allows ({most}); vLLM keeps running",
     "--limit-mm-per-prompt higher | more memory is taken for the encoder",
     "ValueError: At most 1 image(s) may be provided in one prompt."},
    {"prompt (length {asked:tokens}) is longer than the maximum model length of {longest:tokens}", kRequestTooLong, "",
     "", "ValueError: The decoder prompt (length 40000) is longer than the maximum model length of 32768."},
    {"RPC call to {method:word} timed out", kDied, "a worker did not answer in time ({method})",
     "VLLM_RPC_TIMEOUT or VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS higher; look at the workers' log | one of them may "
     "have failed first",
     "TimeoutError: RPC call to execute_model timed out."},
    {"Did not receive response from front-end process within", kDied},
    // From its CPU backend.
    {"cpu_worker.py", kPhase},
    {"cpu_model_runner.py", kPhase},
    {"device_config=cpu", kPhase},
    {"platform cpu", kPhase},
    {"VLLM_CPU_", kPhase},
    // These tell which engine wrote the log.
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
