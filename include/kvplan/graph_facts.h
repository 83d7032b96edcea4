// What the graph of a model's operations depends on apart from its layers and tensors. Read by engines whose buffers
// follow from the graph (llama.cpp).
#pragma once

#include <cstdint>

namespace kvplan {

// Which layers rotate queries and keys by position.
enum class RotaryLayers : std::uint8_t { kAll, kNone, kWindowed, kAllButEveryFourth };

struct GraphFacts {
  bool norms_subtract_mean = false;  // LayerNorm, for models whose norms have no bias to tell it by
  bool scales_embedding = false;     // the embedding is multiplied before the first layer
  bool scales_tokens = false;        // the same, but not if a batch contains embeddings
  bool scales_by_position = false;   // queries are multiplied by a factor that depends on their position
  RotaryLayers rotary = RotaryLayers::kAll;
  std::uint64_t position_axes = 1;  // numbers in one position: 3 for time, height and width of images
  bool normalizes_experts = true;   // the weights of the chosen experts add up to 1
  bool scales_experts = false;      // and they are then multiplied by a factor
  std::uint64_t expert_groups = 1;  // groups that experts are chosen from
  std::uint64_t expert_groups_used = 1;
  std::uint64_t index_topk = 0;  // keys that the indexer of a sparse attention chooses
  bool clamps_gates = false;     // gate and up are clamped by separate operations
  bool is_checked = false;       // the graph was compared with executed contexts of this architecture
  bool mixes_batches = true;     // a batch may bring tokens and embeddings at once
  bool chooses_late = false;     // the rows whose logits are wanted are selected after the last layer
  std::uint32_t num_heads = 0;   // of an attention that keeps no cache
};

}  // namespace kvplan
