// What changed in SGLang from release to release. A member's meaning, releases and evidence are in its row in
// rules.cpp. The value here applies to releases without a row.
#pragma once

#include <vector>

#include "engines/engine.h"

namespace kvplan {

struct SglangRules {
  // The default fraction of a GPU, chunks and graphs (share.cpp, card.cpp).
  bool sizes_by_card = false, sums_reserve = false, reserves_for_exchange = false;
  double share_of_eight_ranks = 0.81;
  bool small_chunks = false;
  bool prefill_graphs = false, prefill_graphs_with_images = false, prefill_graphs_with_drafts = false;
  bool prefill_graphs_of_indexers = false, breakable_prefill_graphs = false;
  bool counts_unused_graphs = false, requests_limit_graphs = false;
  bool reserves_for_drafts = false, wide_draft_reserve = false;
  bool keeps_back_for_images = false, shares_images = false;
  bool kda_captures_prefills = false;
  bool amd_long_contexts = false;
  bool weak_graph_references = false;
  std::uint64_t graph_kib = 2048;
  // Pools (models.cpp, stages.cpp, layout.cpp).
  bool index_in_every_layer = false;
  bool fixed_slots_without_tree = false, buffers_states = false, budgets_padding_slots = false;
  bool kimi_linear_has_tree = false, draft_states_first = false;
  bool sums_by_request = false, sums_by_page = false, index_pages_as_latents = false;
  bool counts_latent_scales = false, bare_latents_on_blackwell = false;
  bool places_in_pools = false, splits_tokens_first = false;
  bool requests_before_split = false, pads_request_table = false;
  bool windows_by_request = false, frees_windows_early = false, needs_windows = false;
  bool chunk_takes_row = false;
  bool gpt_oss_pools_on_blackwell = false, nemotron_h_pages = false;
  // Backends and formats (backends.cpp, refusal.cpp).
  bool exaone_backends = false, exaone_default = false;
  bool trtllm_beyond_sm100 = false, tokenspeed_is_cutedsl = false, cutlass_pages_of_128 = false,
       fa4_pages_of_128 = false;
  bool nvfp4_for_latents = false;
  bool indexes_on_sm120 = false, compresses_on_sm120 = false, picks_mxfp4_runner = false;
  bool needs_nvfp4_runner = false;
  bool cutlass_on_sm120 = false;
  bool routed_minimax = false;
  // Classes and their tensors.
  bool has_library_classes = false;
  bool cuts_embedding = false;
  // Names of options (launcher.cpp).
  bool has_expert_size = false, renamed_strategy = false;
  bool names_block_types = false, graph_options_by_phase = false;
};

SglangRules sglang_rules(const Request& request);
std::vector<RuleRow> sglang_rule_rows();

}  // namespace kvplan
