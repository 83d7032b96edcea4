// The kind of each layer. A dozen spellings of layer patterns become one label for each layer.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "formats/fields.h"

namespace kvplan {

enum class Label {
  kFull,           // full attention
  kSliding,        // window
  kChunked,        // chunk
  kSink,           // sink + window
  kRecurrent,      // the family's recurrent mixer (Mamba, delta net, KDA, lightning, RG-LRU, short convolution)
  kHybrid,         // attention and the recurrent mixer in parallel
  kHybridSliding,  // as kHybrid, with a window
  kCross,          // cross attention
  kSparse,         // attention with an indexer
  kShared,         // reads the previous layer's cache
  kSparseGqa,      // grouped-query attention with index keys
  kNone,           // no mixer: only an MLP or experts
  kMha,            // kinds that only a generic config names
  kGqa,
  kMqa,
  kMla,
};

// A class's pattern for configs that have none.
struct PatternRule {
  enum class Default {
    kAllFull,
    kWindowEverywhere,  // every layer has a window if one is set
    kFullEvery,         // full where (i + 1) % period == 0
    kFullFirstOf,       // full where i % period == 0
    kFullFromLast,      // full where (num_layers - 1 - i) % period == 0
    kFullEveryAndLast,  // full where (i + 1) % period == 0, and the last
    kFullSecondOf,      // full where i % period == 1, and the first and the last
    kQwen,              // windows from max_window_layers on, and only with use_sliding_window
  };
  Default fallback = Default::kAllFull;
  std::uint64_t period = 0;
  Label other = Label::kSliding;     // the label of layers that are not full
  std::string_view period_key = "";  // a config key that replaces the period
  bool last_full = false;            // the last layer has full attention in any case
};

constexpr PatternRule full_every(std::uint64_t period, Label other = Label::kSliding, std::string_view key = "") {
  return {PatternRule::Default::kFullEvery, period, other, key};
}
constexpr PatternRule full_first_of(std::uint64_t period, Label other = Label::kSliding, std::string_view key = "") {
  return {PatternRule::Default::kFullFirstOf, period, other, key};
}
constexpr PatternRule in_all_layers(Label label) {
  return {PatternRule::Default::kWindowEverywhere, 0, label};
}

// The label of a word in layer_types and the like; Error for an unknown word.
Label parse_label(std::string_view word, std::string_view key);

// One label for each of `num_layers` layers. The first of these keys that the config has decides: layer_types,
// layers_block_type (lists of words, cut to num_layers), hybrid_override_pattern, hybrid_layer_pattern, attn_type_list,
// block_types (cycled), attention_types, full_attn_idxs, attn_layer_indices, linear_attn_config,
// full_attention_interval, attn_layer_period/offset, sliding_window_pattern, layer_group_size. If it has none, the rule
// decides.
std::vector<Label> layer_labels(const Fields& config, std::uint64_t num_layers, const PatternRule& rule);

}  // namespace kvplan
