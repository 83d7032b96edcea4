// What changed in llama.cpp from release to release. Every behaviour that depends on a release is a row of rules.cpp.
#pragma once

#include <vector>

#include "engines/engine.h"
#include "engines/release.h"

namespace kvplan {

// The behaviour of one release. The rows of rules.cpp say what each member means.
struct LlamaRules {
  bool caches_latents = false, caches_latents_once = false;
  bool fixed_padding = false, half_masks = false, chunks_buffers = false, encoder_flash_attention = false;
  bool selects_inputs = false, divides_hybrid_cells = false, one_latent_type = false;
  bool chooses_flash_attention = false, sycl_flash_attention = false, sycl_wide_heads = false;
  bool metal_latents = false, metal_wide_heads = false, vulkan_pipelines = false;
  bool saves_prompts = false, fits = false, fits_extras = false;
  bool limits_outputs = false, chooses_late = false;
  bool keeps_checkpoints = false, spaces_checkpoints = false, splits_rows = false, splits_tensors = false;
  bool whole_draft = false, speculative_names = false;
  bool pooled_keys = false;
  bool mixes_batches = false, gathers_states = false, copies_unused_inputs = false, looks_up_layers_first = false;
};

Release llama_release(std::string_view text);  // "b9000", "0.5"
Release llama_release(const Request& request);
LlamaRules llama_rules(const Request& request);
std::vector<RuleRow> llama_rule_rows();

}  // namespace kvplan
