// What engines need to know about a model besides its layers and tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace kvplan {

// Which layers rotate queries and keys by position.
enum class RotaryLayers : std::uint8_t { kAll, kNone, kWindowed, kAllButEveryFourth };

// What determines a model's graph of operations, for engines whose buffers follow from the graph (llama.cpp).
struct GraphFacts {
  bool norms_subtract_mean = false;  // LayerNorm, in a model whose norms have no bias that would show it
  bool scales_embedding = false;     // the embedding is multiplied before the first layer
  bool scales_tokens = false;        // the embedding is multiplied, unless a batch contains embeddings
  bool scales_by_position = false;   // queries are multiplied by a factor that depends on their position
  RotaryLayers rotary = RotaryLayers::kAll;
  std::uint64_t position_axes = 1;  // numbers in one position: 3 for time, height and width of images
  bool normalizes_experts = true;   // the weights of the chosen experts add up to 1
  bool scales_experts = false;      // after which they are multiplied by a factor
  std::uint64_t expert_groups = 1;  // groups that experts are chosen from
  std::uint64_t expert_groups_used = 1;
  std::uint64_t index_topk = 0;  // keys that the indexer of a sparse attention chooses
  bool clamps_gates = false;     // gate and up are clamped by separate operations
  bool is_checked = false;       // the graph was compared with executed contexts of this architecture
  bool mixes_batches = true;     // a batch may have tokens and embeddings at the same time
  bool chooses_late = false;     // rows without logits are dropped after the last layer
  std::uint32_t num_heads = 0;   // of an attention that keeps no cache
};

// The shape of a mixture of experts, as far as the model gives it. All 0 if every MLP is dense.
struct ExpertShape {
  std::uint64_t count = 0;         // routed experts of a layer
  std::uint64_t used = 0;          // experts that one token passes through
  std::uint64_t width = 0;         // of one expert
  std::uint64_t dense_layers = 0;  // layers that have a dense MLP instead
};

// A rotary table, which engines store besides the weights: positions x width elements (cosines and sines of width / 2
// frequencies).
struct RotaryTable {
  std::uint64_t positions = 0;
  std::uint64_t width = 0;     // rotated elements of a head
  std::uint64_t setting = 0;   // distinguishes settings of the same shape
  bool is_multimodal = false;  // positions in time, height and width (M-RoPE)
  bool is_yarn = false;
  bool of_indexer = false;  // for an indexer, which pairs elements differently from its layer's attention
  friend bool operator==(const RotaryTable&, const RotaryTable&) = default;
};

// For a model with one rotation and no scaling: the settings that YaRN can extend to a longer context.
struct PlainRotation {
  double theta = 10000;
  std::optional<double> share;  // fraction of a head that is rotated, if the config gives it
  std::string section;          // the config's section with this key: "" or "text_config"
};

}  // namespace kvplan
