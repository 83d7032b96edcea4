// What an engine allocates for LoRA adapters at its start: how many slots, of which rank, and for which modules.
// src/weights/lora.h computes the bytes of a slot.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kvplan/architecture.h"
#include "kvplan/request.h"

namespace kvplan {

// What the rules need to know about the model and the adapters.
struct LoraQuestion {
  Arch arch = Arch::kOther;
  std::uint64_t vocab_size = 0;
  std::uint64_t largest_rank = 0;    // the highest rank of all adapters; 0 without any
  std::vector<std::string> targets;  // the modules of all adapters; empty without any
};

struct LoraSlots {
  std::uint64_t slots = 1, rank = 16;
  std::vector<std::string> targets;  // empty: every linear layer
  bool fuses = false;                // a fused layer is adapted as a whole: for q_proj it also takes slots for k and v
  bool with_experts = true;
  bool with_embedding = false, with_head = false;  // the embedding and the head, even if no target names them
  std::uint64_t extra_vocab = 0;                   // rows in addition to the vocabulary
  std::uint64_t vocab_padding = 1;                 // the head's output is rounded up to a multiple of this
  bool head_is_cut = false;                        // split over the ranks
  double low = 1, high = 1;                        // the range of the bytes, as factors
  std::string_view source;
};

}  // namespace kvplan
