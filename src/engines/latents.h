// The models whose latents (MLA) an engine's own lists name (Engine::names_latents).
#pragma once

#include "engines/engine.h"

namespace kvplan {

// Those with AttentionArch.MLA (configs/model_config.py of 0.5.23).
bool sglang_names_latents(const EngineInput& input);
// Those for which the converter writes the keys of latents; a GGUF has or lacks the keys.
bool llama_cpp_names_latents(const EngineInput& input);
// models/deepseek2.rs, deepseek3.rs, glm4_moe_lite.rs
bool mistralrs_names_latents(const EngineInput& input);

}  // namespace kvplan
