// Lines of ollama's own log; those of its runner are llama.cpp's. Source: server/sched.go, llm/server.go,
// runner/*runner/runner.go.
#include "engines/log_lines.h"
#include "engines/log_request.h"

namespace kvplan {

namespace {

using enum LogEventId;
using enum LogCure;

// The figures of ollama's own lines; its runner's are llama.cpp's.
constexpr LogTemplate kFigures[] = {
    log_figure("Listening on {*} (version {version:word})"),
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
    // Its estimate before loading, used until its own engine measured.
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
    {"llama runner started in", kStarted},
    {"process has terminated: signal: killed", kHostOutOfMemory},
    {"llama runner process has terminated: {reason:text}", kDied},
    {"llama-server process has terminated: {reason:text}", kDied},
    // These tell which engine wrote the log.
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
    {kBufferFailed,
     {{kShorterLength}, {kSmallerCacheType}, {kFewerSequences}, {kFewerLayersOnGpu, "PARAMETER num_gpu"}}},
    {kComputeFailed,
     {{kShorterLength}, {kSmallerCacheType}, {kFewerSequences}, {kFewerLayersOnGpu, "PARAMETER num_gpu"}}},
    {kCacheFailed,
     {{kShorterLength}, {kSmallerCacheType}, {kFewerSequences}, {kFewerLayersOnGpu, "PARAMETER num_gpu"}}},
    {kWeightsFailed,
     {{kShorterLength}, {kSmallerCacheType}, {kFewerSequences}, {kFewerLayersOnGpu, "PARAMETER num_gpu"}}},
    {kCacheTypeNeedsFlash,
     {{kFlashAttention, "OLLAMA_FLASH_ATTENTION", "1"}, {kPlainCacheType, "OLLAMA_KV_CACHE_TYPE", "f16"}}},
};

}  // namespace

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
