#include "models/layer_lists.h"

#include <algorithm>
#include <array>

#include "kvplan/error.h"

namespace kvplan {

namespace {

// Keys whose entries are layers, and the number that the first layer has in them.
struct IndexRow {
  std::string_view key;
  std::uint64_t first = 0;
};
constexpr IndexRow kIndices[] = {
    {"attn_layer_indices"}, {"cross_attention_layers"}, {"full_attention_idx"}, {"full_attn_idxs"},
    {"global_attn_idx"},    {"hybrid_layer_ids"},       {"local_layer_ids"},    {"mlp_only_layers"},
    {"moe_layers"},         {"sliding_window_layers"},
};
constexpr IndexRow kLinearIndices[] = {{"kda_layers", 1}, {"full_attn_layers", 1}};

// Keys with an entry for each layer, where they are lists. Empty ones say as little as none, but for the last.
constexpr std::string_view kMustNameAll = "moe_layer_freq";
constexpr std::array kEntries{
    std::string_view("is_moe_layer"),
    std::string_view("mlp_layer_types"),
    std::string_view("no_rope_layers"),
    std::string_view("num_attention_heads_per_layer"),
    std::string_view("num_key_value_heads_per_layer"),
    std::string_view("sparse_attention_freq"),
    std::string_view("sliding_window"),
    kMustNameAll,
};

void check_entries(const Fields& place, std::uint64_t layers) {
  for (const std::string_view key : kEntries) {
    const auto size = place.list_size(key);
    if (!size || *size >= layers || (*size == 0 && key != kMustNameAll)) continue;
    fail('"' + place.path() + std::string(key) + "\" has " + std::to_string(*size) + " entries for " +
             std::to_string(layers) + " layers",
         "give one entry for each layer");
  }
}

void check_indices(const Reader& reader, const Fields& place, const IndexRow& row, std::uint64_t layers) {
  const auto list = place.quietly().counts(row.key);
  if (!list || list->empty()) return;
  const std::uint64_t most = *std::max_element(list->begin(), list->end());
  if (most < layers + row.first) return;
  reader.warn("layers_beyond", "\"" + place.path() + std::string(row.key) + "\" names layer " + std::to_string(most) +
                                   " of " + std::to_string(layers) + ": it is left out");
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
    for (const IndexRow& row : kLinearIndices) check(*linear, row.key);
}

void check_layer_lists(const Reader& reader) {
  const std::uint64_t layers = reader.num_layers();
  check_entries(reader.text, layers);
  for (const IndexRow& row : kIndices) check_indices(reader, reader.text, row, layers);
  if (const auto linear = reader.text.child("linear_attn_config"))
    for (const IndexRow& row : kLinearIndices) check_indices(reader, *linear, row, layers);
  if (const auto sparse = reader.text.child("sparse_attention_config")) check_entries(*sparse, layers);
}

}  // namespace kvplan
