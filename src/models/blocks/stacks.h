// Encoder and decoder of BART, T5 and kin: the tensors of a stack of blocks that attend to themselves and, in a
// decoder, to what an encoder saw.
#ifndef KVPLAN_MODELS_BLOCKS_STACKS_H_
#define KVPLAN_MODELS_BLOCKS_STACKS_H_

#include <cstdint>
#include <string>

#include "models/blocks/inventory.h"

namespace kvplan {

// The blocks of one side.
struct Stack {
  std::uint64_t width = 0, inner = 0, layers = 0;
  std::uint64_t heads = 0, head_dim = 0, kv_heads = 0;  // KV heads: 0 for as many as heads
  bool qkv_bias = true, key_bias = true, o_bias = true, mlp_bias = true, norm_bias = true, gated = false;
  std::uint64_t norms = 2;
  // Attention to what the encoder saw: how wide that is, and with which KV heads.
  bool attends_across = false;
  std::uint64_t source_width = 0, cross_heads = 0, cross_kv_heads = 0, cross_head_dim = 0;  // 0: as the stack's own
  // Experts in every `step`-th layer, counted so that layer `routed` is one. 0: none.
  std::uint64_t experts = 0, used = 1, step = 0, routed = 0;
  bool router_bias = false;
};

// Written with names behind "model.SIDE.layers.*."; an encoder's are no layers of the plan.
void write_stack(Inventory& out, const std::string& side, const Stack& stack);

enum class Positions : std::uint8_t { kNone, kLearned, kFixed, kRelative, kRelativeEverywhere };
enum class Routing : std::uint8_t { kNone, kLast, kSecond };  // of so many layers

// How a class differs from BART.
struct StackForm {
  bool is_t5 = false;  // RMS norms, no biases
  Positions positions = Positions::kLearned;
  std::uint64_t offset = 0;  // rows of a learned table beyond the positions
  bool embedding_norm = false;
  bool final_norm = false;
  bool key_bias = true;
  bool hears = false;           // two convolutions over a spectrum
  Switch attention_bias = "+";  // of a class with biases
  bool is_always_gated = false;
  std::uint64_t encoder_norms = 2;
  Routing routing = Routing::kNone;
  bool is_alone = false;  // its encoder is another class's
};

// Both sides, their positions and ends; the decoder alone where a pair's encoder is of another class.
bool write_stacks(Inventory& out, const StackForm& form);

}  // namespace kvplan

#endif  // KVPLAN_MODELS_BLOCKS_STACKS_H_
