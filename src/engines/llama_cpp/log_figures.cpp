// The figures of llama.cpp's log, in its older and newer spellings.
#include "engines/log_lines.h"

namespace kvplan {

namespace {

constexpr LogTemplate kFigures[] = {
    // Which build, which cards.
    log_figure("build: {version:word} ("),
    log_figure("build = {version:word} ("),
    log_figure("build_info: {version:word}"),
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

}  // namespace

const std::span<const LogTemplate> kLlamaCppLogFigures = kFigures;

}  // namespace kvplan
