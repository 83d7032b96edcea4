// A tower next to the decoder: a vision tower or an audio encoder with its projector. towers.txt lists the tensors of
// each, and these functions add them to a model.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/blocks/inventory.h"

namespace kvplan {

// A transformer over patches or frames.
struct Blocks {
  std::uint64_t width = 0, inner = 0, layers = 0;
  std::uint64_t qkv_bias = 3;  // number of q, k and v that have a bias
  bool out_bias = true, mlp_bias = true, gated = false, layer_norm = true;
  std::uint64_t norms = 2;
  std::uint64_t extra = 0;  // other elements of a layer
  std::uint64_t heads = 0;  // if ranks do not divide this number, they replicate the whole tower; 0: not known
  std::uint64_t attention = 0, keys = 0;  // widths of all heads together, and of all keys; 0: the tower's width

  void set_biases(bool of_attention, bool of_mlp) {
    qkv_bias = of_attention ? 3 : 0;
    out_bias = of_attention;
    mlp_bias = of_mlp;
  }
};

// Blocks as in a Llama: RMS norms, gated MLPs and, with `has_bias` false, no biases.
inline Blocks llama_blocks(Blocks sizes, bool has_bias = false) {
  sizes.set_biases(has_bias, has_bias);
  sizes.gated = true;
  sizes.layer_norm = false;
  return sizes;
}

struct Tower {
  Inventory& inventory;
  Component component;
  bool cuts = true;  // tensor parallelism splits its blocks; vLLM loads other towers whole, with transformers

  void linear(std::string_view name, std::uint64_t rows, std::uint64_t columns, bool bias, std::uint64_t copies = 1,
              Split split = Split::kNone) const;
  void plain(std::string_view name, std::uint64_t elements, std::uint64_t copies = 1, Split split = Split::kNone) const;
  // Only in serving engines: rotary tables, weights of frames.
  TensorGroup& derived(std::string_view name, std::uint64_t elements) const;
  void blocks(const std::string& at, const Blocks& b) const;
};

// The state of a function that adds a tower's tensors.
struct TowerWriter {
  Tower t, p;                  // write tensors of the tower, and of its projector
  Fields v, root;              // the tower's config, and the one it is nested in
  std::uint64_t out;           // the decoder's width
  std::string root_type, own;  // model_types: of the whole file, and of the tower; "" if it has none

  // The first of the keys that the file has, or `fallback`.
  std::uint64_t count(const std::vector<std::string_view>& keys, std::uint64_t fallback) const;
};

inline std::uint64_t square(std::uint64_t value) {
  return times(value, value);
}

inline std::uint64_t patches_of(std::uint64_t image, std::uint64_t patch) {
  return patch == 0 ? 0 : square(image / patch);
}

// The lines of towers.txt.
std::span<const std::string_view> tower_lines();
// Adds the first "tower" or "audio" of towers.txt that fits this side. Returns false if none does.
bool write_tower(std::string_view kind, const TowerWriter& side);
// Adds a part of towers.txt, with these numbers.
using TowerNumbers = std::map<std::string, std::uint64_t, std::less<>>;
void write_tower_part(std::string_view name, const TowerWriter& side, const TowerNumbers& given = {});
// As write_part, for a model that is read from a single config and has no decoder behind it: the encoder of an
// encoder-decoder.
void write_encoder_part(std::string_view name, const Tower& tower, const Fields& config,
                        const TowerNumbers& given = {});

// Written in C++: special.cpp.
void write_special_tower(std::string_view name, const TowerWriter& side);
void write_wave_encoder(const Tower& t, const Fields& config);  // wav2vec 2.0

// An estimate for an unknown tower: a ViT of the config's size with a wide range, or a billion parameters if the config
// gives no size.
void estimate_tower(Inventory& inventory, const Fields& side, Component component, const std::string& what);

}  // namespace kvplan
