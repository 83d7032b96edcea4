// What vLLM's classes of some models do differently from the others.
#pragma once

#include <span>
#include <string_view>

#include "engines/class_rows.h"
#include "engines/engine.h"
#include "engines/vllm/rules.h"

namespace kvplan {

struct VllmClass {
  // What vLLM lacks.
  bool is_missing = false;       // vLLM does not have the model: the plan shows what the architecture needs
  bool is_unregistered = false;  // vLLM does not have the class, but the cache is planned as vLLM would lay it out
  bool lacks_lora = false, lacks_stages = false;
  // The cache.
  bool keeps_latents = false;  // caches latents (MLA); for other classes vLLM caches full keys and values
  bool packs_convolutions =
      false;  // convolutions keep their inputs as windows; windows are in the layers of local_layer_ids
  bool doubles_rings = false;  // if an index key covers several tokens, keeps the unfinished ones in rings
  bool rings_have_positions = false;
  bool replicates_convolutions = false;  // every rank has whole convolutions that are a layer's second state
  bool packs_fp8_latents = false;        // an FP8 cache uses the layout fp8_ds_mla
  bool is_always_packed = false;         // fp8_ds_mla is the only layout
  bool has_small_blocks = false;         // smaller blocks of packed entries; the compressor's sums are stored in rings
  bool pads_latents = false;             // pads latents to the widest of all layers
  bool has_fp8_by_default = false;       // on data centre Blackwell: VllmRules::glm_fp8
  bool ignores_cache_type = false;       // VllmRules::splits_types
  bool pages_cross_attention = false;    // VllmRules::pages_cross_attention
  bool is_attention_free = false;        // prefix caching is off by default
  bool has_float32_states = false;       // states are float32 if the config names no type
  bool has_short_chunks = false;         // chunks of 128 tokens in its Mamba 2 kernels
  bool has_kda_checkpoints = false;      // VllmRules::latent_checkpoints
  bool has_delta_checkpoints = false;    // VllmRules::delta_checkpoints
  // Kernels.
  bool has_index_workspace = false;   // the profile run includes the indexer's logits and its workspace for prefills
  bool indexes_by_frequency = false;  // reads index_topk_freq and index_topk_pattern, not indexer_types
  bool had_no_indexers = false;       // before VllmRules::hy_indexers
  bool has_sinks = false;             // attention sinks: FP8 caches need Triton
  bool needs_flash_sinks = false;     // VllmRules::one_sink_kernel
  bool lacks_flashinfer_fp8 = false;
  bool has_heads_of_two_widths = false;  // Gemma4Config uses FlashInfer for no layer
  bool lacks_fp8_on_blackwell = false;
  bool has_plain_experts = false;  // experts without a gate
  bool clamps_experts = false;     // swiglu_limit
  bool pads_shared_blocks = false;
  bool pads_shared_on_rocm = false;
  // Batches, graphs and the runner.
  bool names_largest_graph = false;     // VllmRules::gpt_oss_graphs
  bool takes_videos_whole = false;      // the default batch is large enough for a whole video: VllmRules::whole_items
  bool sizes_images_by_pixels = false;  // the largest image follows from max_pixels in the processor config
  bool sizes_videos_by_frames = false;  // VllmRules::profiles_videos
  bool counts_times_of_videos = false;  // VllmRules::counts_times_of_videos
  bool takes_no_videos = false;         // excluding images also excludes the vision tower
  bool has_old_runner_on_rocm = false;
  bool lacks_mtp = false;           // though the config names MTP layers
  bool builds_unnamed_mtp = false;  // builds an MTP layer that the config does not name
  bool adapts_embedding = false;    // LoRA adapters wrap the embedding and the head
};

// By the architecture, and by the class that the config names.
VllmClass vllm_class(Arch arch, std::string_view architecture = {});
inline VllmClass vllm_class(const ModelShape& model) {
  return vllm_class(model.arch, model.architecture);
}
// Whether the release's list of models for the new runner names the class.
bool vllm_lists_new_runner(const EngineInput& input);
// Whether every layer has its own indexer although the config says that some layers share one: the class reads other
// keys, or ignores them.
bool vllm_indexes_every_layer(Arch arch, std::span<const ConfigFact> facts, const VllmRules& rules);
// Whether each rank's part of the shared expert is padded to whole FP8 blocks.
inline bool vllm_pads_shared_experts(Arch arch, const Request& request, const VllmRules& rules) {
  const VllmClass the_class = vllm_class(arch);
  return rules.pads_shared_blocks && the_class.pads_shared_blocks &&
         (!request.card.is_amd() || the_class.pads_shared_on_rocm);
}
// Whether the release's class has no indexer though the config describes one.
inline bool vllm_builds_no_indexer(Arch arch, const VllmRules& rules) {
  return !rules.hy_indexers && vllm_class(arch).had_no_indexers;
}
inline bool vllm_uses_mla(Arch arch) {
  return vllm_class(arch).keeps_latents;
}

// The classes that its releases gained and lost (registry.txt).
std::span<const std::string_view> vllm_registry_lines();

}  // namespace kvplan
