// The table of what an engine does differently for some classes of models. Only this file of an engine names
// architectures or classes. A model resolves the table once into a plain struct of flags.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>

#include "engines/engine.h"
#include "kvplan/architecture.h"
#include "kvplan/strings.h"

namespace kvplan {

// A behaviour and the models that have it: architectures, or class names as in configs, separated by spaces.
template <class Its>
struct ClassRow {
  bool Its::*has;
  std::initializer_list<Arch> archs{};
  std::string_view classes{};
};

template <class Its>
Its resolve_class(std::span<const ClassRow<Its>> rows, Arch arch, std::string_view class_name) {
  Its out;
  for (const ClassRow<Its>& row : rows)
    if (is_one_of(arch, row.archs) || has_word(row.classes, class_name)) out.*row.has = true;
  return out;
}

// The refusal of a class that the request's release does not have, either not yet or no longer. `registry` lists the
// classes that each release gained and lost (ENGINE/registry.txt). A class without a line is as old as the table, or
// unknown to the engine. A class that transformers' code can run in the release is not missing.
std::optional<Refusal> registry_refusal(std::span<const std::string_view> registry, const EngineInput& input,
                                        std::string_view engine_name);

// The models whose latents (MLA) an engine's own lists name (Engine::names_latents).

// Models with AttentionArch.MLA (configs/model_config.py of 0.5.23).
bool sglang_names_latents(const EngineInput& input);
// Models for which llama.cpp's converter writes the keys of latents. A GGUF may have the keys or not.
bool llama_cpp_names_latents(const EngineInput& input);
// models/deepseek2.rs, deepseek3.rs, glm4_moe_lite.rs
bool mistralrs_names_latents(const EngineInput& input);

}  // namespace kvplan
