// What an engine takes for LoRA adapters at its start: how many slots of which rank, and around which modules. The
// bytes of a slot are the weights' business (src/weights/lora.h).
#ifndef KVPLAN_ENGINES_LORA_SLOTS_H_
#define KVPLAN_ENGINES_LORA_SLOTS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kvplan/architecture.h"
#include "kvplan/note.h"
#include "kvplan/request.h"

namespace kvplan {

// What the rules ask of the model and of the adapters that are named.
struct LoraQuestion {
  Arch arch = Arch::kOther;
  std::uint64_t vocab_size = 0;
  std::uint64_t largest_rank = 0;    // of the adapters; 0 without any
  std::vector<std::string> targets;  // of the adapters; empty without any
};

struct LoraSlots {
  std::uint64_t slots = 1, rank = 16;
  std::vector<std::string> targets;  // empty: every linear layer
  bool fuses = false;                // layers are wrapped as they are fused: q_proj alone takes slots for k and v, too
  bool with_experts = true;
  bool with_embedding = false, with_head = false;  // where no target names them
  std::uint64_t extra_vocab = 0;                   // rows beyond the vocabulary
  std::uint64_t vocab_padding = 1;                 // of the head's output
  bool head_is_cut = false;                        // over the ranks
  double low = 1, high = 1;                        // times the bytes
  std::string_view source;
};

}  // namespace kvplan

#endif  // KVPLAN_ENGINES_LORA_SLOTS_H_
