// A model and a request as engines see them, with every default filled in.
#pragma once

#include <cstdint>
#include <optional>

#include "engines/engine.h"
#include "formulas/model.h"
#include "kvplan/load.h"
#include "kvplan/request.h"

namespace kvplan {

// `known`: an earlier input of the same model, from which the parts that no request changes are taken.
EngineInput engine_input(const ModelSpec& model, const Request& request, const EngineInput* known = nullptr);
Load load_of(const ModelSpec& model, const Request& request);
// The model's own maximum: by the config, which names `own`, else by the engine's own rule.
std::optional<Tokens> longest_of(Tokens own, const Engine& engine);
// The longest context that every command answers with: what the memory holds, at most the model's own maximum.
std::uint64_t longest_context(std::uint64_t by_memory, Tokens own, const Engine& engine);
// The card's memory: as the user gives it, as a calibration measured it, else as catalogued.
std::optional<Bytes> card_memory(const Request& request);
// The context to plan for where neither config nor request names one.
inline constexpr std::uint64_t kDefaultContext = 4096;

}  // namespace kvplan
