// A tower beside the decoder: a vision tower or an audio encoder with its projector. towers.cpp has the table of all;
// this is how their tensors are written.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "models/blocks/inventory.h"

namespace kvplan {

// A transformer over patches or frames.
struct Blocks {
  std::uint64_t width = 0, inner = 0, layers = 0;
  std::uint64_t qkv_bias = 3;  // number of q, k and v that have a bias
  bool out_bias = true, mlp_bias = true, gated = false, layer_norm = true;
  std::uint64_t norms = 2;
  std::uint64_t extra = 0;                // other elements of a layer
  std::uint64_t heads = 0;                // ranks that do not divide them replicate the whole tower; 0: not known
  std::uint64_t attention = 0, keys = 0;  // widths of all heads, and of the keys; 0: the tower's

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
  bool cuts = true;  // tensor parallelism splits its blocks; vLLM loads other towers with transformers, whole

  void linear(std::string_view name, std::uint64_t rows, std::uint64_t columns, bool bias, std::uint64_t copies = 1,
              Split split = Split::kNone) const;
  // Two linear layers between the tower and the decoder.
  void up(std::string_view name, std::uint64_t rows, std::uint64_t columns, std::uint64_t copies = 1) const {
    linear(name, rows, columns, true, copies, Split::kRows);
  }
  void down(std::string_view name, std::uint64_t rows, std::uint64_t columns, std::uint64_t copies = 1) const {
    linear(name, rows, columns, true, copies, Split::kColumns);
  }
  void plain(std::string_view name, std::uint64_t elements, std::uint64_t copies = 1, Split split = Split::kNone) const;
  // Only in serving engines: tables of angles, weights of frames.
  TensorGroup& derived(std::string_view name, std::uint64_t elements) const;
  void blocks(const std::string& at, const Blocks& b) const;
};

// What a tower's writer works with.
struct TowerWriter {
  Tower t, p;                  // write tensors of the tower, and of its projector
  Fields v, root;              // the tower's config, and the one it is nested in
  std::uint64_t out;           // the decoder's width
  std::string root_type, own;  // model_types: of the whole file, and of the tower; "" where it has none

  // The first of the keys that the file has, else `fallback`.
  std::uint64_t count(std::initializer_list<std::string_view> keys, std::uint64_t fallback) const;
  std::uint64_t count(std::string_view key, std::uint64_t fallback) const { return count({key}, fallback); }
  std::uint64_t merge() const;  // patches merged into one token
  // Blocks of this width, with the class's other default sizes.
  Blocks sizes(std::uint64_t width, std::uint64_t inner, std::uint64_t layers,
               std::string_view layers_key = "num_hidden_layers") const;
  // The patch embedding; over several frames at once where a key says so.
  void patches(std::string_view name, std::uint64_t width, std::uint64_t usual, bool bias) const;
  void frames(std::string_view name, std::uint64_t width, bool bias, std::string_view key = "temporal_patch_size",
              std::uint64_t usual = 2, std::uint64_t channels = 3) const;
};

inline std::uint64_t square(std::uint64_t value) {
  return times(value, value);
}

inline std::uint64_t patches_of(std::uint64_t image, std::uint64_t patch) {
  return patch == 0 ? 0 : square(image / patch);
}

// Parts that several towers have.
void write_position_ids(const Tower& t, std::uint64_t positions);  // position numbers, which classes keep as a buffer
// CLIP ViT-L/14, at 336 pixels by default; `layers` of its 24 are stored.
void write_clip_large(const Tower& t, std::uint64_t layers, bool has_post_norm, std::uint64_t positions = 577);
void write_two_linears(const Tower& p, std::uint64_t from, std::uint64_t to, bool bias);
// A Q-Former between a tower and the decoder; with `reads` it also attends to a text: qformer.cpp.
void write_qformer(const Tower& p, const Fields& config, std::uint64_t queries, bool reads);

// Whole towers that something besides their row writes.
void write_deepseek_ocr(const TowerWriter& s);
void write_gemma3_vision(const TowerWriter& s);

// What each tower is, by the model_type of the whole file or of the tower. The first row that matches either counts,
// unless `fits` says that the tower's own type contradicts it.
struct TowerRow {
  std::string_view names;
  void (*write)(const TowerWriter& s);
  bool (*fits)(std::string_view own) = nullptr;
};
std::span<const TowerRow> vit_towers();     // based on SigLIP, CLIP or SAM: vits.cpp
std::span<const TowerRow> vision_towers();  // others: vision.cpp
std::span<const TowerRow> audio_towers();

// Audio encoders of encoder-decoders: speech.cpp.
void write_wave_encoder(const Tower& t, const Fields& config);
void write_parakeet(const Tower& t, const Fields& config);
void write_seamless_speech(const Tower& t, const Fields& config);

// An estimate for an unknown tower: a ViT of the size in the config, with a wide range; a billion parameters where it
// gives none.
void estimate_tower(Inventory& inventory, const Fields& side, Component component, const std::string& what);

}  // namespace kvplan
