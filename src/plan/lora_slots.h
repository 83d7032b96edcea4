// LoRA adapters in the engine that was asked for: slots taken at the start, or files as they are.
#ifndef KVPLAN_PLAN_LORA_SLOTS_H_
#define KVPLAN_PLAN_LORA_SLOTS_H_

#include <vector>

#include "plan/extras.h"

namespace kvplan {

// Adds the lines of slots or adapters to each stage, and what waits in host memory.
void add_lora(const ModelSpec& model, const EngineInput& input, ExtraLines& out, std::vector<Note>& notes);

}  // namespace kvplan

#endif  // KVPLAN_PLAN_LORA_SLOTS_H_
