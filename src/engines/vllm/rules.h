// What changed in vLLM from release to release. Every behaviour that depends on a release is a row of rules.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "engines/release.h"
#include "kvplan/request.h"

namespace kvplan {

// The behaviour of one release. The rows of rules.cpp say what each member means.
struct VllmRules {
  bool v1_engine = false, v1_where_it_can = false, has_v0 = false;
  bool graphs_by_seqs = false;
  bool profiles_videos = false, image_beside_video = false, counts_times_of_videos = false;
  std::uint64_t video_frames = 16;
  // Groups of layers, the pool's blocks, and what a request is charged.
  bool hybrid_manager = false, chunked_groups = false;
  double group_ratio = 1.25;
  bool window_value_width = false, local_value_width = false;
  bool pads_attention_pages = false;
  bool packs_by_slots = false, packs_widest_group = false, packed_sum_of_pages = false, checks_whole_blocks = false;
  bool batch_for_source = false;
  bool in_flight_batches = false;
  bool null_block = false;
  bool ceil_concurrency = false, tokens_from_concurrency = false;
  bool pages_cross_attention = false;
  bool caches_latents = false;
  // States.
  bool caches_states = false, align_by_default = false, frees_states = false, admits_whole = false;
  bool all_mode = false, all_mode_speculative = false;
  bool scan_checkpoints = false, delta_checkpoints = false, latent_checkpoints = false;
  bool latent_state_blocks = false, pooled_layout = false;
  bool checks_state_blocks = false;
  // Types of the cache, and kernels.
  bool plain_fp8_latents = false, plain_declared_fp8 = false, packs_by_default = false, sparse_on_sm120 = false;
  bool splits_types = false, one_sink_kernel = false;
  bool glm_fp8 = false;
  bool latents_by_card = false, composite_masks = false, wide_fp8_blocks = false;
  std::uint64_t blackwell_latent_block = 16;
  bool flashinfer_fp8 = false;
  bool builds_every_indexer = false;
  bool reads_modelopt_cache = false, reads_declared_cache = false;
  bool hy_indexers = false;
  bool modelopt_on_ampere = false, mixes_beside = false;
  // Batches and CUDA graphs.
  double utilization = 0.90;
  std::uint64_t max_num_seqs = 256, small_max_num_seqs = 256;
  bool whole_items = false, largest_batches = false;
  bool whole_graphs = false, wide_steps = false, counts_drafts = false, whole_steps = false, widest_step = false;
  bool gpt_oss_graphs = false, largest_graphs = false;
  bool keeps_graph_pool = false, keeps_reduces = false, empties_before_capture = false;
  bool graphs_in_budget = false, graphs_in_peak = false, estimates_new_graphs = false;
  // The runner, the profile run and memory outside of PyTorch.
  bool new_runner = false, new_runner_for_quantized = false, new_runner_for_models = false, new_runner_for_all = false;
  bool new_runner_for_ngrams = false, new_runner_for_medusa = false, new_runner_on_rocm = false;
  bool sparing_sampler = false, samples_twice = false;
  bool compiles_before = false, keeps_workspaces = false;
  bool batched_dp_default = false;
  bool index_workspace = false, short_index_workspace = false, decode_logits_on_rocm = false;
  bool pads_shared_blocks = false;
  bool excludes_context = false, counts_consumed = false;
  // Weights, buffers and adapters.
  bool leaves_towers = false;
  bool refines_blocks = false;
  bool fewer_scales = false, copies_scales = false, library_scales = false, unpacks_bnb_scales = false;
  bool keeps_large_rests = false;
  bool lora_with_experts = false;
  // The command line.
  bool spans_nodes = false, rope_parameters = false, has_decode_context = false;
};
VllmRules vllm_rules(const Request& request);
std::vector<RuleRow> vllm_rule_rows();

}  // namespace kvplan
