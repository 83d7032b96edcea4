// What SGLang does differently for some classes of models: its lists of classes, and what the classes do in their code.
#pragma once

#include <span>

#include "engines/class_rows.h"
#include "engines/engine.h"

namespace kvplan {

// The models of each member, with the evidence, are a row in class_table.cpp.
struct SglangClass {
  // Pools and pages.
  bool compressed = false;  // DeepSeek-V4's pools: latents in windows, compressed entries, and the compressor's sums
  bool sparse_latents = false;         // an indexer over latents (is_deepseek_dsa)
  bool window_pool = false;            // sliding layers have a separate pool
  bool no_window_pool = false;         // the class has no indexer, although others of its architecture have one
  bool checked_since_default = false;  // checks_backend, but only since SglangRules::exaone_default
  bool checks_backend = false;         // with windows it supports only three backends: SglangRules::exaone_backends
  bool is_gpt_oss = false;             // its attention has sinks, which few backends support
  bool picks_nvfp4_runner = false;     // chooses a runner for experts in NVFP4 on any GPU
  bool picks_runner_on_sm100 = false;  // or on data centre Blackwell only
  bool picks_runner_by_rule = false;   // as picks_runner_on_sm100, by SglangRules::routed_minimax
  bool weighs_inputs = false;          // applies the router's weight to an expert's input
  bool states_in_pages = false;        // pages of 64 tokens on Blackwell, although the model has states
  bool nemotron_h_pages = false;       // as states_in_pages, by SglangRules::nemotron_h_pages
  bool pages_of_128 = false;           // on Hopper and Blackwell only
  bool no_state_chunks = false;        // its kernels cannot track states by chunk, so "auto" does not buffer any
  bool is_kimi_linear = false;         // its radix cache and graphs depend on the release
  bool fills_shared_layers = false;    // layers that read another layer's cache have a separate pool anyway
  bool images_among_tokens = false;    // keys and values of images are stored in the token pool
  bool numbers_encoder = false;        // the encoder's attention has layers in the pool too
  // Prefills and images.
  bool whole_prefills = false;  // prompts are never split into chunks
  bool no_prefill_graphs = false;
  bool no_piecewise_graphs = false;  // no prefill graphs before SglangRules::breakable_prefill_graphs
  bool prefill_graphs_with_images = false;
  bool images_by_option = false;   // serves images only with --enable-multimodal
  bool always_multimodal = false;  // whether or not the config has a tower
  bool default_tower = false;      // the config class has a tower by default
  bool shares_images = false;      // passes images on through CUDA IPC and does not keep their embeddings
};

SglangClass sglang_class(const ModelShape& model);

// Whether SGLang has no class for the model and runs transformers' class. Nothing if SGLang has one.
std::optional<bool> sglang_library_class(const EngineInput& input);

// The classes that its releases gained and lost (registry.txt).
std::span<const std::string_view> sglang_registry_lines();

}  // namespace kvplan
