// NVIDIA's Hymba. Source: its modeling_hymba.py.
#include "models/blocks/blocks.h"

namespace kvplan {

// Hymba: attention heads and Mamba 1 in every layer; three global layers, and pairs that share their keys and values.
// Meta tokens go before the first forward pass (its modeling_hymba.py, HymbaModel.forward, where the cache is empty),
// so their keys and values are cached as any token's, and every window sees them (the prefix mask of its flex
// attention).
static void read_hymba(Reader& reader) {
  const std::uint64_t layers = reader.num_layers();
  const Fields& text = reader.text;
  const Ssm ssm = read_mamba1(text);
  Heads heads = read_heads(text);
  heads.meta_tokens = text.count_or("num_memory_tokens", 0);
  const Tokens window = read_window(text);
  for (const std::string_view key : {"kv_reuse_every_i_layer", "kv_weight_reuse"}) text.touch(key);
  const std::vector<bool> listed = listed_layers(text, "global_attn_idx", layers);
  const auto is_global = [&](std::uint64_t i) { return window == Tokens(0) || listed[i]; };
  // kv_reuse_group lists groups of layers; the first of each holds the cache.
  std::vector<std::uint64_t> source(layers);
  for (std::uint64_t i = 0; i < layers; ++i) source[i] = i;
  for (std::size_t g = 0; g < text.list_size("kv_reuse_group").value_or(0); ++g) {
    const auto group = text.list_item("kv_reuse_group", g)->counts("kv_reuse_group");
    if (!group || group->empty()) continue;
    for (const std::uint64_t i : *group)
      if (i < layers && group->front() < layers) source[i] = group->front();
  }
  for (std::uint64_t i = 0; i < layers; ++i) {
    Layer layer;
    if (source[i] != i)
      layer.mixers.push_back(Shared{source[i], heads, is_global(i) ? Tokens(0) : window});
    else
      layer.mixers.push_back(attention_mixer(reader, is_global(i) ? Label::kFull : Label::kSliding, heads, window));
    layer.mixers.push_back(ssm);
    reader.model.layers.push_back(std::move(layer));
  }
}

// Layers that read another's cache keep their projections.
static bool write_hymba(Inventory& inventory, const Mixer& mixer) {
  const auto* shared = std::get_if<Shared>(&mixer);
  if (shared != nullptr) write_attention(inventory, shared->heads, true);
  return shared != nullptr;
}

// clang-format off
std::span<const Family> hymba_family() {
  static constexpr Family kRows[] = {
    {.is = {"hymba", "hymba"}, .layers = read_hymba, .tensors = {.may_have_more = true}, .mixer = write_hymba},
  };
  return kRows;
}
// clang-format on

}  // namespace kvplan
