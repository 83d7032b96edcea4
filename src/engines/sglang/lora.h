// What SGLang allocates for LoRA adapters at its start.
#ifndef KVPLAN_ENGINES_SGLANG_LORA_H_
#define KVPLAN_ENGINES_SGLANG_LORA_H_

#include "engines/lora_slots.h"

namespace kvplan {

// Throws Error(kBadInput) with SGLang's rule; may add notes.
LoraSlots sglang_lora_slots(const LoraQuestion& asked, const Request& request, std::vector<Note>& notes);

}  // namespace kvplan

#endif  // KVPLAN_ENGINES_SGLANG_LORA_H_
