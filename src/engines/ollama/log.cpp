// Lines of ollama's own log; those of its runner are llama.cpp's. Source: server/sched.go, llm/server.go,
// runner/*runner/runner.go.
#include "engines/log_lines.h"
#include "engines/log_request.h"

namespace kvplan {

using enum LogEventId;

// Figures in ollama's own lines. The lines of its runner are llama.cpp's.
constexpr LogTemplate kFigures[] = {
    log_figure("Listening on {*} (version {version:word})"),
    log_figure("ollama version is {version:word}"),
    log_figure("ollama/ollama:{version:word}"),
    log_phase(StartPhase::kEngine, "ollama runner {*}--ctx-size {n_ctx:tokens}"),
    log_phase(StartPhase::kEngine, "ollama_llama_server {*}--ctx-size {n_ctx:tokens}"),
    log_phase(StartPhase::kEngine, "msg=\"starting {*} server\" {*}--ctx-size {n_ctx:tokens}"),
    log_figure("msg=\"starting {*} server\" {*}--parallel {n_seq_max:seqs}"),
    log_figure("msg=\"starting {*} server\" {*}--batch-size {n_batch:tokens}"),
    log_figure("msg=\"starting {*} server\" {*}--kv-cache-type {cache_type:word}"),
    log_figure("msg=load request={*} Parallel:{n_seq_max:seqs} BatchSize:{n_batch:tokens}"),
    log_phase(StartPhase::kEngine, "msg=load request={*} KvSize:{n_ctx:tokens}"),
    log_figure("msg=load request={*} KvCacheType:{cache_type:word}"),
    log_figure("OLLAMA_CONTEXT_LENGTH:{ollama_context:tokens}"),
    log_figure("msg=\"inference compute\" {*}description={card:word}"),
    log_figure("msg=\"inference compute\" {*}total=\"{gpu_memory:size}\""),
    log_figure("msg=\"model weights\" device={device:word} size=\"{weights:size}\""),
    log_figure("msg=\"model weights\" buffer={device:word} size=\"{weights:size}\""),
    log_figure("msg=\"kv cache\" device={device:word} size=\"{kv_buffer:size}\""),
    log_figure("msg=\"compute graph\" device={device:word} size=\"{compute_buffer:size}\""),
    log_figure("msg=\"compute graph\" backend={device:word} {*}size=\"{compute_buffer:size}\""),
    log_figure("msg=\"total memory\" size=\"{total:size}\""),
    // Its estimate before loading, which is used until ollama's own engine has measured.
    log_figure("memory.required.full=\"{total:size}\""),
    log_figure("memory.required.kv=\"{kv_total:size}\""),
    log_figure("memory.required.kv: {kv_total:size}"),
    log_figure("memory.weights.total=\"{weights_planned:size}\""),
    log_figure("memory.graph.full=\"{graph_full:size}\""),
    log_figure("memory.graph.partial=\"{graph_partial:size}\""),
    log_figure("layers.model={layers_total:layers} layers.offload={layers_on_gpu:layers}"),
};

constexpr LogTemplate kEvents[] = {
    {"model requires more system memory ({needed:size}) than is available ({available:size})", kHostOutOfMemory},
    {"model requires more system memory than is currently available ({available:size})", kHostOutOfMemory},
    {"msg=\"truncating input prompt\" limit={longest:tokens} prompt={asked:tokens}", kRequestTooLong},
    {"layers.model={all:layers} layers.offload={on:layers}", kSpilled},
    {"model requires {needed:size} but only {available:size} are available (after {overhead:size} overhead)",
     kOutOfMemory, "the model needs {needed}, but only {available} is available",
     "@smaller_weights; @shorter_length; stop the other models (ollama ps, ollama stop)"},
    {"this model may be incompatible with your version of Ollama", kUnknownArchitecture,
     "the model is newer than this ollama, or was pulled for an older one",
     "update ollama; ollama pull | gets the model again"},
    {"llama-server reported out-of-memory during startup: {reason:text}", kOutOfMemory,
     "ollama's runner ran out of memory while it started: {reason}",
     "@shorter_length; @smaller_cache_type; @fewer_layers_on_gpu:PARAMETER~num_gpu; @smaller_weights"},
    {"model runner has unexpectedly stopped, this may be due to resource limitations", kDied,
     "ollama's runner stopped, usually out of memory; see the server's log",
     "@shorter_length; @smaller_cache_type; @smaller_weights; look at the server's log | journalctl -u ollama"},
    {"timed out waiting for {runner:text} to start", kDied, "the model did not load in time",
     "OLLAMA_LOAD_TIMEOUT=15m; a faster disk for the model; @smaller_weights"},
    {"timeout waiting for mlx runner", kDied, "the model did not load in time",
     "OLLAMA_LOAD_TIMEOUT=15m; a faster disk for the model; @smaller_weights"},
    {"mlx runner failed: {reason:text}", kDied, "ollama's MLX runner failed: {reason}",
     "@shorter_length; @smaller_weights; update ollama"},
    {"runner process no longer running", kDied, "ollama's runner died; see the lines above",
     "@shorter_length; @smaller_cache_type; @smaller_weights"},
    {"this model requires MLX support, but the MLX runtime is not available", kRefused, "the model's format needs MLX",
     "a GGUF tag of the model; a Mac with Apple silicon"},
    {"FlashAttention:Disabled", kMemoryHint,
     "flash attention is off (FlashAttention:Disabled): without flash attention the scores of the whole context are "
     "stored",
     "@flash_attention:OLLAMA_FLASH_ATTENTION 1; @shorter_length"},
    {"FlashAttention:false", kMemoryHint,
     "flash attention is off (FlashAttention:false): without flash attention the scores of the whole context are "
     "stored",
     "@flash_attention:OLLAMA_FLASH_ATTENTION 1; @shorter_length"},
    {"flash attention enabled but not supported by {who:word}", kMemoryHint,
     "the command enables flash attention, but the {who} does not support it"},
    {"quantized kv cache requested but flash attention disabled", kMemoryHint,
     "the KV cache stays at f16: q8_0 needs flash attention", "@flash_attention:OLLAMA_FLASH_ATTENTION 1"},
    {"NVIDIA driver too old", kMemoryHint, "the NVIDIA driver is too old for this ollama: ollama runs on the CPU",
     "a newer NVIDIA driver"},
    {"AMD driver is too old", kMemoryHint, "the AMD driver is too old for this ollama: ollama runs on the CPU",
     "a newer AMD driver"},
    {"no compatible GPUs were discovered", kNoGpu},
    {"gpu VRAM usage didn't recover within timeout", kMemoryHint, "another model's memory was not freed in time",
     "stop the other models (ollama stop)"},
    {"llama runner started in", kStarted},
    {"process has terminated: signal: killed", kHostOutOfMemory},
    {"process has terminated: cudaMalloc failed: out of memory", kOutOfMemory,
     "the GPU ran out of memory while ollama's runner started"},
    {"process has terminated: {*}out of memory", kOutOfMemory,
     "the GPU ran out of memory while ollama's runner started"},
    {"llama runner process has terminated: {reason:text}", kDied},
    {"llama-server process has terminated: {reason:text}", kDied},
    // Lines that show which engine wrote the log.
    {"source=server.go", kMark},
    {"source=sched.go", kMark},
    {"source=runner.go", kMark},
    {"source=ggml.go", kMark},
    {"ollama[", kMark},
};

constexpr StageMark kStages[] = {
    {"load_tensors: loading model tensors", StartStage::kProcess},
    {"llama_context: constructing", StartStage::kWeights},
    {"graph splits =", StartStage::kCache},
    {"llama runner started in", StartStage::kServing},
};

constexpr RemedyRule kRemedies[] = {
    {kBufferFailed, "@shorter_length; @smaller_cache_type; @fewer_sequences; @fewer_layers_on_gpu:PARAMETER_num_gpu"},
    {kComputeFailed, "@shorter_length; @smaller_cache_type; @fewer_sequences; @fewer_layers_on_gpu:PARAMETER_num_gpu"},
    {kCacheFailed, "@shorter_length; @smaller_cache_type; @fewer_sequences; @fewer_layers_on_gpu:PARAMETER_num_gpu"},
    {kWeightsFailed, "@shorter_length; @smaller_cache_type; @fewer_sequences; @fewer_layers_on_gpu:PARAMETER_num_gpu"},
    {kOutOfMemory, "@shorter_length; @smaller_cache_type; @fewer_sequences; @fewer_layers_on_gpu:PARAMETER~num_gpu"},
    {kDied, "@shorter_length; update ollama; @smaller_weights; look at the server's log | journalctl -u ollama"},
    {kWeightsLimit,
     "a newer release of ollama | puts that tensor on the CPU; another backend (CUDA, ROCm) | takes larger buffers; "
     "@fewer_layers_on_gpu:PARAMETER~num_gpu"},
    {kBufferLimit, "@flash_attention:OLLAMA_FLASH_ATTENTION 1; @shorter_length"},
    {kCacheTypeNeedsFlash, "@flash_attention:OLLAMA_FLASH_ATTENTION 1; @plain_cache_type:OLLAMA_KV_CACHE_TYPE f16"},
};

EngineLog ollama_log() {
  EngineLog out{.figures = kFigures, .events = kEvents, .stages = kStages};
  out.options = {.length = "OLLAMA_CONTEXT_LENGTH",
                 .cache_type = "OLLAMA_KV_CACHE_TYPE",
                 .eight_bit = "q8_0",
                 .sequences = "OLLAMA_NUM_PARALLEL"};
  out.remedies = kRemedies;
  out.by_device = true;
  out.read_request = llama_cpp_read_request;
  out.picks_layers = true;
  return out;
}

}  // namespace kvplan
