// What SGLang does differently for some classes of models: its own lists of them, and what its classes do in their
// code.
#pragma once

#include <span>

#include "engines/class_rows.h"
#include "engines/engine.h"

namespace kvplan {

// The models of each member, and the evidence, are a row in class_table.cpp.
struct SglangClass {
  // Pools and pages.
  bool compressed = false;           // DeepSeek-V4's pools: latents in windows, compressed entries and their sums
  bool sparse_latents = false;       // an indexer over latents (is_deepseek_dsa)
  bool window_pool = false;          // sliding layers have a separate pool
  bool no_window_pool = false;       // it has none, although the architecture's other classes have one
  bool checks_backend = false;       // takes only three backends if it has windows: SglangRules::exaone_backends
  bool is_gpt_oss = false;           // its attention has sinks, which few backends support
  bool states_in_pages = false;      // pages of 64 tokens on Blackwell although it has states
  bool nemotron_h_pages = false;     // the same by SglangRules::nemotron_h_pages
  bool pages_of_128 = false;         // on Hopper and Blackwell
  bool no_state_chunks = false;      // its kernels cannot track states by chunk, so "auto" buffers none
  bool tree_by_release = false;      // a radix cache by SglangRules::kimi_linear_has_tree
  bool fills_shared_layers = false;  // layers that read another's cache have a separate pool anyway
  bool images_among_tokens = false;  // keys and values of images are in the token pool
  bool numbers_encoder = false;      // the encoder's attention also has layers in the pool
  // Prefills and images.
  bool whole_prefills = false;  // prompts are never split into chunks
  bool no_prefill_graphs = false;
  bool prefill_graphs_with_images = false;
  bool images_by_option = false;      // serves images only with --enable-multimodal
  bool always_multimodal = false;     // with a tower in the config or without
  bool default_tower = false;         // the config class has a tower by default
  bool shares_images = false;         // passes images on through CUDA IPC and keeps no embeddings
  bool unpadded_fp8_experts = false;  // does not use FlashInfer's kernels, which pad them
};

SglangClass sglang_class(const ModelShape& model);

// Whether SGLang runs transformers' class because it has none; nothing if it has one.
std::optional<bool> sglang_library_class(const EngineInput& input);

// The classes that its releases gained and lost (registry.txt).
std::span<const std::string_view> sglang_registry_lines();

}  // namespace kvplan
