#include "models/layer_lists.h"

#include <algorithm>

#include "kvplan/error.h"
#include "kvplan/strings.h"

namespace kvplan {

namespace {

// Keys whose entries are layers; those of linear_attn_config count from 1.
constexpr std::string_view kIndices =
    "attn_layer_indices cross_attention_layers full_attention_idx full_attn_idxs global_attn_idx hybrid_layer_ids "
    "local_layer_ids mlp_only_layers moe_layers sliding_window_layers";
constexpr std::string_view kLinearIndices = "kda_layers full_attn_layers";

// Keys with an entry for each layer, where they are lists. Empty ones say as little as none, but for the last.
constexpr std::string_view kEntries =
    "is_moe_layer mlp_layer_types no_rope_layers num_attention_heads_per_layer num_key_value_heads_per_layer "
    "sparse_attention_freq sliding_window moe_layer_freq";
constexpr std::string_view kMustNameAll = "moe_layer_freq";

void check_entries(const Fields& place, std::uint64_t layers) {
  for (const std::string_view key : split(kEntries)) {
    const auto size = place.list_size(key);
    if (!size || *size >= layers || (*size == 0 && key != kMustNameAll)) continue;
    fail('"' + place.path() + std::string(key) + "\" has " + std::to_string(*size) + " entries for " +
             std::to_string(layers) + " layers",
         "give one entry for each layer");
  }
}

void check_indices(const Reader& reader, const Fields& place, std::string_view keys, std::uint64_t first,
                   std::uint64_t layers) {
  for (const std::string_view key : split(keys)) {
    const auto list = place.quietly().counts(key);
    if (!list || list->empty()) continue;
    const std::uint64_t most = *std::max_element(list->begin(), list->end());
    if (most < layers + first) continue;
    reader.warn("layers_beyond", "\"" + place.path() + std::string(key) + "\" names layer " + std::to_string(most) +
                                     " of " + std::to_string(layers) + ": it is left out");
  }
}

}  // namespace

void refuse_layers_that_are_no_list(const Fields& text) {
  const auto check = [](const Fields& place, std::string_view key) {
    if (place.has(key) && !place.is_list(key))
      fail('"' + place.path() + std::string(key) + "\" is no list", "correct the config: it names layers one by one");
  };
  for (const std::string_view key : {"layer_types", "block_types", "full_attn_idxs", "full_attention_idx",
                                     "cross_attention_layers", "attn_layer_indices", "mlp_layer_types"})
    check(text, key);
  if (const auto linear = text.child("linear_attn_config"))
    for (const std::string_view key : split(kLinearIndices)) check(*linear, key);
}

void check_layer_lists(const Reader& reader) {
  const std::uint64_t layers = reader.num_layers();
  check_entries(reader.text, layers);
  check_indices(reader, reader.text, kIndices, 0, layers);
  if (const auto linear = reader.text.child("linear_attn_config"))
    check_indices(reader, *linear, kLinearIndices, 1, layers);
  if (const auto sparse = reader.text.child("sparse_attention_config")) check_entries(*sparse, layers);
}

}  // namespace kvplan
