// LoRA adapters as the engine keeps them: in slots allocated at the start, or as their files are.
#pragma once

#include <vector>

#include "plan/extras.h"

namespace kvplan {

// Adds the slots or adapters to each stage's lines, and the copies that wait in host memory to `host`.
void add_lora(const ModelSpec& model, const EngineInput& input, ExtraLines& out, std::vector<Note>& notes);

}  // namespace kvplan
