// The figures of ollama's own lines; its runner's are llama.cpp's.
#include "engines/log_lines.h"

namespace kvplan {

namespace {

constexpr LogTemplate kFigures[] = {
    log_figure("Listening on {*} (version {version:word})"),
    log_figure("ollama runner {*}--ctx-size {n_ctx:tokens}"),
    log_figure("ollama_llama_server {*}--ctx-size {n_ctx:tokens}"),
    log_figure("msg=\"starting {*} server\" {*}--ctx-size {n_ctx:tokens}"),
    log_figure("msg=\"starting {*} server\" {*}--parallel {n_seq_max:seqs}"),
    log_figure("msg=\"starting {*} server\" {*}--batch-size {n_batch:tokens}"),
    log_figure("msg=\"starting {*} server\" {*}--kv-cache-type {cache_type:word}"),
    log_figure("msg=load request={*} Parallel:{n_seq_max:seqs} BatchSize:{n_batch:tokens}"),
    log_figure("msg=load request={*} KvSize:{n_ctx:tokens}"),
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

}  // namespace

const std::span<const LogTemplate> kOllamaLogFigures = kFigures;

}  // namespace kvplan
