// vLLM's defaults: batches, prefix caching, drafts, and the towers it loads.
#pragma once

#include "engines/engine.h"
#include "engines/vllm/rules.h"

namespace kvplan {

// Whether ranks send tokens to the experts of others (FusedMoEParallelConfig.use_all2all_kernels), and whether in
// batches of a fixed size (ParallelConfig.use_batched_dp_moe).
bool vllm_exchanges_experts(const Request& request);
bool vllm_batches_experts(const Request& request);

// The scheduler's default batch and sequences (EngineArgs.get_batch_defaults), by the GPU's memory if there is one.
std::uint64_t vllm_batched_tokens(const EngineInput& input, const VllmRules& rules);
std::uint64_t vllm_max_num_seqs(const Request& request, const VllmRules& rules);

// Whether prefixes are cached: as requested, else the release's default.
bool vllm_caches_prefixes(const EngineInput& input, bool has_states, const VllmRules& rules);

// The draft tokens in one step: as requested, else one for MTP layers, three for other drafts.
std::uint64_t vllm_speculative_tokens(const EngineInput& input);

// Whether the limits exclude images, videos and audio, and with them their towers (SupportsMultiModal,
// _mark_tower_model). `has_audio`: the model has an audio tower.
bool vllm_leaves_towers(const Request& request, Arch arch, bool has_audio);

EngineSettings vllm_settings(const EngineInput& input, const Load& load);

}  // namespace kvplan
