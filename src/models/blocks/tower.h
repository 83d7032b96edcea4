// A tower beside the decoder: its tensors are written with these few words.
#ifndef KVPLAN_MODELS_BLOCKS_TOWER_H_
#define KVPLAN_MODELS_BLOCKS_TOWER_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "models/blocks/inventory.h"

namespace kvplan {

inline std::uint64_t times_in_tower(std::uint64_t a, std::uint64_t b) {
  return checked_mul(a, b, "the size of a vision tower");
}

inline std::uint64_t count_of(const Fields& config, std::initializer_list<std::string_view> keys,
                              std::uint64_t fallback) {
  for (const std::string_view key : keys)
    if (config.is_number(key)) return config.count_or(key, fallback);
  if (!config.class_name().empty())
    for (const std::string_view key : keys)
      if (const auto value = config.find_count(key)) return *value;
  return fallback;
}

// A transformer over patches or frames.
struct Blocks {
  std::uint64_t width = 0, inner = 0, layers = 0;
  std::uint64_t qkv_bias = 3;  // how many of q, k and v have a bias
  bool out_bias = true, mlp_bias = true, gated = false, layer_norm = true;
  std::uint64_t norms = 2;
  std::uint64_t extra = 0;                // further elements of a layer
  std::uint64_t attention = 0, keys = 0;  // widths of all heads, and of the keys' own; 0: as wide as the tower
};

struct Tower {
  Inventory& inventory;
  Component component;
  bool cuts = true;  // tensor parallelism shares out its blocks; vLLM loads the others with transformers, whole

  void linear(std::string_view name, std::uint64_t rows, std::uint64_t columns, bool bias, std::uint64_t copies = 1,
              Split split = Split::kNone) const {
    TensorGroup& group = inventory.out.linear(component, name, rows, columns, cuts ? split : Split::kNone);
    group.copies = group.used = copies;
    if (name.find("patch_embed") != std::string_view::npos) group.role = TensorRole::kConv;
    if (bias) plain(std::string(name) + ".bias", rows, copies);
  }
  // A pair of layers between the tower and the decoder.
  void up(std::string_view name, std::uint64_t rows, std::uint64_t columns, std::uint64_t copies = 1) const {
    linear(name, rows, columns, true, copies, Split::kRows);
  }
  void down(std::string_view name, std::uint64_t rows, std::uint64_t columns, std::uint64_t copies = 1) const {
    linear(name, rows, columns, true, copies, Split::kColumns);
  }
  void plain(std::string_view name, std::uint64_t elements, std::uint64_t copies = 1) const {
    if (elements == 0) return;
    TensorGroup& group = inventory.out.plain(component, name, elements);
    group.copies = group.used = copies;
  }
  void blocks(const std::string& at, const Blocks& b) const {
    if (b.layers == 0 || b.width == 0) return;
    const std::uint64_t queries = b.attention > 0 ? b.attention : b.width;
    const std::uint64_t keys = b.keys > 0 ? b.keys : queries;
    const std::uint64_t qkv = checked_add(queries, times_in_tower(2, keys), "the heads of a tower");
    linear(at + "qkv", qkv, b.width, false, b.layers, Split::kRows);
    plain(at + "qkv.bias", b.qkv_bias == 3 ? qkv : times_in_tower(b.qkv_bias, queries), b.layers);
    linear(at + "proj", b.width, queries, b.out_bias, b.layers, Split::kColumns);
    linear(at + "fc1", times_in_tower(b.gated ? 2 : 1, b.inner), b.width, b.mlp_bias, b.layers, Split::kRows);
    linear(at + "fc2", b.width, b.inner, b.mlp_bias, b.layers, Split::kColumns);
    plain(at + "norm", times_in_tower(b.layer_norm ? 2 : 1, times_in_tower(b.norms, b.width)), b.layers);
    plain(at + "extra", b.extra, b.layers);
  }
};

inline std::uint64_t square(std::uint64_t value) {
  return times_in_tower(value, value);
}

inline std::uint64_t patches_of(std::uint64_t image, std::uint64_t patch) {
  return patch == 0 ? 0 : square(image / patch);
}

void write_vit(const Tower& t, const Fields& v, bool is_clip, bool has_head);
// Towers that a config names in passing, or not at all: Phi-3-V, Molmo; and Idefics2's perceiver.
bool write_odd_vision(Inventory& inventory, const Fields& root, const Fields& v);
void write_unnamed_towers(Inventory& inventory, const std::string& root_type);

}  // namespace kvplan

#endif  // KVPLAN_MODELS_BLOCKS_TOWER_H_
