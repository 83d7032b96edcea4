// A model in kvplan: plain data that src/models fills and all later code uses.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "formulas/kinds.h"
#include "kvplan/architecture.h"
#include "kvplan/extras.h"
#include "kvplan/kind.h"
#include "kvplan/model_facts.h"
#include "kvplan/note.h"
#include "kvplan/quantity.h"
#include "kvplan/quantization.h"
#include "kvplan/storage.h"
#include "kvplan/tensors.h"
#include "kvplan/weight_model.h"

namespace kvplan {

// One decoder layer: one mixer, or two that run in parallel (Falcon-H1, Hymba, Zamba's hybrid layers).
struct Layer {
  std::vector<Mixer> mixers;
  friend bool operator==(const Layer&, const Layer&) = default;
};

// A part next to the decoder, such as a vision tower. Reports name it, and it has no cache.
struct TowerModel {
  TowerKind what = TowerKind::kVision;
  std::string model_type;
  std::uint64_t num_layers = 0;  // 0 if the config does not say
  // Sizes of a vision tower, 0 if the config does not give them: the width of a patch and of its MLP, the patches
  // merged into one token, the tokens of the largest image, and how many times a token's width reaches the decoder
  // (deepstack).
  std::uint64_t width = 0, intermediate = 0, patches = 1, image_tokens = 0, copies = 1;
  bool both_ways = false;  // tokens of an image attend to each other in both directions in the decoder
  std::uint64_t declared_layers = 0,
                declared_width = 0;  // num_hidden_layers and hidden_size, if the tower's config has them
};

// What hf_quant_config.json declares if config.json next to it declares its own quantization.
struct QuantFile {
  QuantDeclaration quantization;
  std::optional<Dtype> kv_dtype;
};

struct ModelSpec {
  std::string source;  // file, "-" or Hub id
  bool is_gguf = false;
  std::string model_type;    // of the decoder, as the config names it
  std::string root_type;     // model_type of the whole file, which differs if the decoder is a part of it
  std::string architecture;  // "LlamaForCausalLM"; empty if the config names none
  // The GGUF is older than the keys of latents, so llama.cpp caches expanded keys and values.
  bool expanded_latents = false;
  const Architecture* known_as = &kNoArchitecture;
  std::string family;  // the name of the function that read its layers; "generic" for the fallback

  Dtype dtype = Dtype::kBfloat16;          // that the checkpoint computes in
  std::optional<Dtype> declared_kv_dtype;  // an FP8 (or NVFP4) cache that the checkpoint declares
  bool tags_kv_by_word = false;            // kv_cache_scheme is a string, where other configs have an object
  std::optional<Dtype> declared_state_dtype;

  std::uint64_t hidden_size = 0;
  std::uint64_t vocab_size = 0;         // 0 if the config does not say
  std::uint64_t intermediate_size = 0;  // of a dense MLP; 0 if the config does not say
  ExpertShape experts;
  GraphFacts graph;
  Tokens max_model_len;                // 0 if the config names none
  Tokens source_tokens;                // encoder or image tokens of one sequence; 0 without cross attention
  std::uint64_t num_nextn_layers = 0;  // MTP layers after the decoder: planned only if requested

  std::vector<Layer> layers;
  // For a looped model: the number of layers that have weights. The layers after them are more passes over these. 0:
  // all layers have weights.
  std::uint64_t stored_layers = 0;
  // tie_word_embeddings in the decoder's own section; absent if the section has none.
  std::optional<bool> decoder_ties_head;
  std::vector<RotaryTable> rotary_tables;
  std::optional<PlainRotation> plain_rotation;
  std::vector<TowerModel> towers;

  std::vector<TensorGroup> tensors;             // empty if the config does not say enough
  std::vector<UnknownTensors> unknown_tensors;  // those that the config does not determine
  std::string stored_weights;         // the mixture that a file is stored in ("q4_k_m"); empty if it names none
  std::vector<StoredTensors> stored;  // from the checkpoint's own headers, where available
  // What the config's tensors take in files, in addition to `stored`. Set if an engine has changed `tensors`.
  std::map<Component, Bytes> declared_bytes;
  QuantDeclaration quantization;
  std::shared_ptr<const QuantFile> quant_file;

  std::optional<DraftHead> draft_head;  // set if the file has heads for another model and is not a model itself
  bool embeds = false;                  // an embedding or scoring model: it generates no tokens

  std::vector<ConfigFact> facts;
  std::vector<Note> notes;

  // The model as the weights need it.
  operator WeightModel() const;  // NOLINT: implicit because it is a view, as std::span is of a vector
};

// Layers that are alike, in order of their first layer.
struct LayerGroup {
  const Mixer* mixer = nullptr;  // points into the model
  std::vector<std::uint64_t> indices;
};
// A layer with two mixers is in two groups, under the same index.
std::vector<LayerGroup> group_layers(const ModelSpec& model);

// The attention kind of the whole model: the kind that all layers with a cache share, or "hybrid". Layers without a
// cache, or with another layer's, do not count.
std::string model_attention(const ModelSpec& model);

// "0-60" or "3,7,11-13".
std::string index_ranges(const std::vector<std::uint64_t>& indices);

}  // namespace kvplan
