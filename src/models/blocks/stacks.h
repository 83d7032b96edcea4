// Encoder and decoder of BART, T5 and similar models: the tensors of a stack of blocks with self-attention and, in a
// decoder, cross attention to the encoder's output.
#pragma once

#include <cstdint>
#include <string>

#include "models/blocks/inventory.h"

namespace kvplan {

// The blocks of one side.
struct Stack {
  std::uint64_t width = 0, inner = 0, layers = 0;
  std::uint64_t heads = 0, head_dim = 0, kv_heads = 0;  // KV heads; 0: as many as heads
  bool qkv_bias = true, key_bias = true, o_bias = true, mlp_bias = true, norm_bias = true, gated = false;
  std::uint64_t norms = 2;
  // Cross attention: the width of the encoder's output, and the KV heads.
  bool attends_across = false;
  std::uint64_t source_width = 0, cross_heads = 0, cross_kv_heads = 0,
                cross_head_dim = 0;  // 0: the width of the stack itself
  // Experts in every `step`-th layer, counted so that layer `routed` has them. 0: none.
  std::uint64_t experts = 0, used = 1, step = 0, routed = 0;
  bool router_bias = false;
};

// Adds the tensors with names after "model.SIDE.layers.*.". The layers of an encoder are not among the plan's layers.
void write_stack(Inventory& out, const std::string& side, const Stack& stack);

enum class Positions : std::uint8_t { kNone, kLearned, kFixed, kRelative, kRelativeEverywhere };
enum class Routing : std::uint8_t { kNone, kLast, kSecond };  // which layer of every `step` has experts

enum class AttentionBias : std::uint8_t { kAlways, kNever, kByUseBias };

// How a class differs from BART.
struct StackForm {
  bool is_t5 = false;  // RMS norms, no biases
  Positions positions = Positions::kLearned;
  std::uint64_t offset = 0;  // rows of a learned table beyond the positions
  bool embedding_norm = false;
  bool final_norm = false;
  bool key_bias = true;
  bool has_audio = false;                                 // audio input: two convolutions over a spectrogram
  AttentionBias attention_bias = AttentionBias::kAlways;  // for a class with biases
  bool is_always_gated = false;
  std::uint64_t encoder_norms = 2;
  Routing routing = Routing::kNone;
  bool is_alone = false;  // the encoder belongs to another class
};

// Adds both sides with their embeddings, positions and heads; only the decoder if the encoder belongs to another class.
bool write_stacks(Inventory& out, const StackForm& form);

}  // namespace kvplan
