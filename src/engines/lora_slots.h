// What an engine allocates for LoRA adapters at its start: how many slots, of which rank, around which modules. The
// bytes of a slot are computed in src/weights/lora.h.
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
  std::uint64_t largest_rank = 0;    // of all adapters; 0 without any
  std::vector<std::string> targets;  // of all adapters; empty without any
};

struct LoraSlots {
  std::uint64_t slots = 1, rank = 16;
  std::vector<std::string> targets;  // empty: every linear layer
  bool fuses = false;                // fused layers are wrapped whole: q_proj also takes slots for k and v
  bool with_experts = true;
  bool with_embedding = false, with_head = false;  // even if no target names them
  std::uint64_t extra_vocab = 0;                   // rows beyond the vocabulary
  std::uint64_t vocab_padding = 1;                 // multiple to which the head's output is rounded up
  bool head_is_cut = false;                        // split over the ranks
  double low = 1, high = 1;                        // range of the bytes, as factors
  std::string_view source;
};

}  // namespace kvplan
