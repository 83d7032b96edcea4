// What changed in vLLM from release to release. Every behaviour that depends on a release is a row of rules.cpp.
#ifndef KVPLAN_ENGINES_VLLM_RULES_H_
#define KVPLAN_ENGINES_VLLM_RULES_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "engines/engine.h"

namespace kvplan {

enum class MambaMode { kNone, kAlign, kAll };

// The behaviour of one release. The rows of rules.cpp say what each member means.
struct VllmRules {
  std::uint64_t version = 0;
  bool v1_engine = false;
  // Groups of layers, the pool's blocks, and what a request is charged.
  bool hybrid_manager = false, chunked_groups = false;
  double group_ratio = 1.25;
  bool window_value_width = false, local_value_width = false;
  bool pads_attention_pages = false;
  bool packs_by_slots = false, packs_widest_group = false, packed_sum_of_pages = false;
  bool batch_for_source = false;
  bool in_flight_batches = false;
  bool null_block = false;
  bool ceil_concurrency = false, tokens_from_concurrency = false;
  bool pages_cross_attention = false;
  // States.
  bool caches_states = false, align_by_default = false;
  bool all_mode = false, all_mode_speculative = false;
  bool scan_checkpoints = false, delta_checkpoints = false, latent_checkpoints = false;
  bool latent_state_blocks = false;
  // Types of the cache, and kernels.
  bool plain_fp8_latents = false, plain_declared_fp8 = false, packs_by_default = false;
  bool splits_types = false;
  bool glm_fp8 = false;
  bool latents_by_card = false, composite_masks = false, wide_fp8_blocks = false;
  bool flashinfer_fp8 = false;
  bool hy_indexers = false;
  bool modelopt_on_ampere = false;
  // Batches and CUDA graphs.
  double utilization = 0.90;
  std::uint64_t max_num_seqs = 256;
  bool whole_items = false, largest_batches = false;
  bool whole_graphs = false, whole_steps = false, widest_step = false;
  bool gpt_oss_graphs = false, largest_graphs = false;
  bool keeps_graph_pool = false;
  bool graphs_in_budget = false, graphs_in_peak = false, estimates_new_graphs = false;
  // The runner, the profile run and memory outside of PyTorch.
  bool new_runner = false, new_runner_for_images = false, new_runner_for_drafts = false, new_runner_for_all = false;
  bool new_runner_on_rocm = false;
  bool sparing_sampler = false, sparing_sampler_on_rocm = false, samples_twice = false;
  bool compiles_before = false;
  bool index_workspace = false, short_index_workspace = false;
  bool excludes_context = false, counts_consumed = false;
  // Weights, buffers and adapters.
  bool leaves_towers = false;
  bool pads_vocab = false;
  bool refines_blocks = false;
  bool fewer_scales = false;
  bool lora_with_experts = false;
  // The command line.
  bool spans_nodes = false, rope_parameters = false;
};
VllmRules vllm_rules(const Request& request);
std::vector<RuleRow> vllm_rule_rows();

// Whether every layer has its own indexer though indexer_types shares some: the class only reads index_topk_freq and
// index_topk_pattern (models/deepseek_v2.py).
bool vllm_indexes_every_layer(Arch arch, std::span<const ConfigFact> facts);

// Whether the release's class has no indexer though the config describes one.
bool vllm_builds_no_indexer(Arch arch, const VllmRules& rules);

// Whether vLLM serves the model with a latent cache (is_deepseek_mla in transformers_utils); it expands the latents of
// others.
bool vllm_uses_mla(Arch arch);
// Whether the model's fp8 cache has the packed fp8_ds_mla layout.
bool vllm_packs_fp8_latents(Arch arch);
// Whether vLLM's registry lacks the model type.
bool vllm_lacks(Arch arch);

// The scheduler's default batch (EngineArgs.get_batch_defaults): by the card's memory, if there is one, and large
// enough for the largest item where images attend in both directions.
std::uint64_t vllm_batched_tokens(const EngineInput& input, const VllmRules& rules);
std::uint64_t vllm_max_num_seqs(const Request& request, const VllmRules& rules);

// Whether the limits exclude images, videos and audio, and with them their towers (SupportsMultiModal,
// _mark_tower_model). `has_audio`: the model has an audio tower.
bool vllm_leaves_towers(const Request& request, Arch arch, bool has_audio);

// Whether FP8 latents of an indexed model are plain, not packed: where FlashInfer's kernel is preferred to FlashMLA's
// (platforms/cuda.py, _get_backend_priorities).
bool vllm_keeps_fp8_plain(const Request& request);

// Whether prefixes are cached: as asked, else the release's default.
bool vllm_caches_prefixes(const Request& request, Arch arch, bool has_states, const VllmRules& rules);

// Whether the class names the largest captured graph.
bool vllm_names_largest_graph(Arch arch, const VllmRules& rules);
std::uint64_t vllm_largest_graph(const Request& request, Arch arch, const VllmRules& rules);

// Whether the card has kernels for latents with separate block sizes; true where no card is named.
bool vllm_has_flash_mla(const Request& request);

// The draft tokens in one step: as asked for, else one where MTP layers are planned, three for other drafts.
std::uint64_t vllm_speculative_tokens(const EngineInput& input);

std::span<const EngineVersion> vllm_versions();

// Whether it supports a cache of this type.
bool vllm_keeps(Dtype type);

}  // namespace kvplan

#endif  // KVPLAN_ENGINES_VLLM_RULES_H_
