// Lines of vLLM's log that tell why it did not start, what it refuses and how busy it is. Source:
// v1/core/kv_cache_utils.py, v1/worker/gpu_worker.py and cpu_worker.py, config/*.py, v1/metrics/loggers.py; of V0:
// worker/worker.py, core/scheduler.py, engine/metrics.py. Wordings that moved have a row each.
#include "engines/log_lines.h"

namespace kvplan {

namespace {

using enum LogEventId;

constexpr LogTemplate kEvents[] = {
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
    {"The quantization method {method:word} is not supported for the current GPU. Minimum capability: {least}. Current "
     "capability: {capability}",
     kQuantizationNeedsCard},
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

constexpr StageMark kStages[] = {
    {"Starting to load model", StartStage::kProcess},
    {"Loading model weights took", StartStage::kWeights},
    {"Loading weights took", StartStage::kWeights},
    {"Model loading took", StartStage::kWeights},
    {"Available KV cache memory", StartStage::kProfile},
    // Its CPU backend prints no line about the weights. Where it compiles nothing it does not warm up either.
    {"Warming up model for the compilation", StartStage::kWeights},
    {"Warming up done", StartStage::kProfile},
    {"GiB for KV cache on node", StartStage::kWeights},
    {"Graph capturing finished", StartStage::kCache},
    {"init engine (profile, create kv cache", StartStage::kCache},
    {"Application startup complete", StartStage::kServing},
};

}  // namespace

const std::span<const LogTemplate> kVllmLogEvents = kEvents;
const std::span<const StageMark> kVllmStages = kStages;

}  // namespace kvplan
