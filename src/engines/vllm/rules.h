// What changed in vLLM from release to release, and which models it treats specially. Every behaviour that depends on a
// release or an architecture is a row or a constant here.
#ifndef KVPLAN_ENGINES_VLLM_RULES_H_
#define KVPLAN_ENGINES_VLLM_RULES_H_

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

#include "engines/engine.h"

namespace kvplan {

enum class MambaMode { kNone, kAlign, kAll };

// How the bytes of a block that groups of several page sizes share are counted (DeepSeek-V4).
enum class PackedBlock {
  kTuples,       // for every slot a page of each of the first group's sizes, until 0.22
  kSlots,        // of each size as many pages as any group has (#44454)
  kWidestGroup,  // the widest group's pages, since 0.27 (#48993)
};

// Releases that several files need.
inline constexpr std::uint64_t kV1 = 9;              // the V1 engine
inline constexpr std::uint64_t kRefinesBlocks = 29;  // FP8 blocks split by ranks: 0.28 refuses, 0.29 makes them smaller

// Whether `holds` is true for a term of any layer's cache.
template <class Holds>
bool any_term(const EngineInput& input, const Holds& holds) {
  return std::any_of(input.caches.begin(), input.caches.end(), [&](const LayerCache& cache) {
    return std::any_of(cache.compact.begin(), cache.compact.end(), holds);
  });
}

// The behaviour of one release. The release numbers are in rules.cpp, with their reasons.
struct VllmRules {
  std::uint64_t version = 0;
  bool hybrid_manager = true;           // layers of several types get separate groups
  bool chunked_groups = true;           // even chunked local attention
  bool ceil_concurrency = true;         // concurrency counts whole blocks of a request
  bool tokens_from_concurrency = true;  // "GPU KV cache size" is concurrency * length
  bool window_value_width = true;       // V may be narrower than K; else one width for both
  bool local_value_width = true;        // in chunked and cross attention too
  bool pad_attention_pages = true;      // a page that does not divide the largest is padded
  bool in_flight_batches = true;        // windows are charged for every batch in flight
  PackedBlock packed_block = PackedBlock::kWidestGroup;
  bool packed_sum_of_pages = true;   // packed groups: the blocks of a request are the sum over groups
  bool all_mode_speculative = true;  // --mamba-cache-mode all: speculative states as well
  bool align_by_default = true;      // prefix caching of states defaults to align, else to all
  bool caches_states = true;         // prefix caching is on for models with states and attention
  bool all_mode = false;             // --mamba-cache-mode all
  bool scan_checkpoints = true;      // Mamba 2 keeps a state for the end of a prefill's last whole block
  bool delta_checkpoints = true;     // so do gated delta nets under FlashInfer
  bool latent_checkpoints = true;    // so do KDA layers under FlashKDA
  bool latent_state_blocks = true;   // with states, blocks of latents are multiples of 128
  bool latents_by_card = true;       // a dense latent's kernel, and with it its block, is the card's first choice
  bool composite_masks = true;       // images' masks on data centre Blackwell use Triton and FlashInfer together
  bool wide_fp8_blocks = true;       // FP8 heads of width 512 on Hopper have blocks of 64
  bool hy_indexers = true;           // Hy-V4 has its indexers
  bool null_block = true;            // the check before start-up does not count the null block
  bool plain_declared_fp8 = true;    // FP8 latents by a checkpoint's declaration are plain (FLASHINFER_MLA_SPARSE_SM90)
  bool split_types = false;          // MiMo-V2's class passes the cache's type to no layer
  bool glm_fp8 = true;               // GLM-5 uses an FP8 cache by default on data centre Blackwell
  bool graphs_in_budget = true;      // CUDA graphs are subtracted from the budget
  bool batch_for_source = true;      // a source is charged as a whole batch, not by its length
  double group_ratio = 1.5;          // groups are as long as the longest bucket up to this ratio
  double utilization = 0.92;         // --gpu-memory-utilization
};
VllmRules vllm_rules(const Request& request);

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
