// Layers that several families share. Each function reads a whole decoder, or one of its mixers.
#pragma once

#include <string_view>
#include <vector>

#include "models/family.h"
#include "models/reader.h"

namespace kvplan {

// Plain attention.
void read_plain(Reader& reader);         // every layer has full attention
void read_windowed(Reader& reader);      // windows by the class's pattern
void read_qwen(Reader& reader);          // windows, but only with use_sliding_window
void read_cross_layer(Reader& reader);   // some layers read another layer's cache (Hunyuan, AFM)
void read_router_layer(Reader& reader);  // an additional attention with one head after the layers
// All layers have the same heads.
void push_full(Reader& reader, const Heads& heads);
Heads heads_of_width(const Fields& config, std::uint64_t num_heads, std::uint64_t num_kv_heads);

// Latent attention.
void read_mla(Reader& reader);
void read_sparse_mla(Reader& reader);
Latent read_latent(const Fields& config);
Latent layer_latent(const Fields& config, std::uint64_t layer);  // with per_layer_config
std::vector<bool> own_indexers(const Fields& config, std::uint64_t layers);
Mixer latent_mixer(const Fields& config);
Mixer sparse_latent_mixer(const Fields& config);  // with an indexer
Mixer sparse_gqa_mixer(const Fields& config);

// Linear attention, with full or latent attention in between.
void read_gated_delta_net(Reader& reader);
void read_kimi_linear(Reader& reader);
void read_lightning(Reader& reader);
void push_linear_and_latent(Reader& reader, const std::vector<Label>& labels, const Linear& linear);
Linear read_delta_net(const Fields& config);  // linear_num_key_heads ...
Linear read_kda(const Fields& settings);      // from linear_attn_config
// KDA by linear_attn_config, or by linear_* keys, or with the class's usual heads.
Linear read_linear_heads(const Fields& text, std::uint64_t num_heads, std::uint64_t head_dim);
Linear read_matrix_state(const Heads& heads);  // lightning attention has one d x d matrix per head

// Recurrences.
void read_mamba2_model(Reader& reader);   // families/mamba.cpp
void read_mamba2_hybrid(Reader& reader);  // Bamba, Granite 4, Nemotron-H
Ssm read_mamba2_alone(const Fields& text);
Ssm read_ssm(const Fields& config);  // Mamba 2 if it has its own heads, otherwise Mamba 1
ShortConv read_short_conv(const Fields& config);
std::uint64_t channels_of(std::uint64_t heads, std::uint64_t head_dim);  // of a convolution over all heads
RgLru read_rg_lru(const Fields& config);
Rwkv read_rwkv_mixer(const Fields& config);  // families/rwkv.cpp

// Encoders.
void read_encoder_decoder(Reader& reader);  // families/encoder_decoder.cpp
void read_encoder(Reader& reader);          // families/bert.cpp
void read_no_cache(Reader& reader);

// The fallback: attention_type and generic fields.
void read_generic(Reader& reader);
// The kind that a value of attention_type means; "" for an unknown value.
std::string_view kind_of_word(std::string_view word);
// Whether `word` (a value of attention_type) names a kind and the config has the fields of that kind.
bool names_a_kind(const Reader& reader, std::string_view word);
// Whether the known architecture has plain attention in all layers, so that attention_type can change it.
bool attends_plainly(const Family& family);

}  // namespace kvplan
