// A model and a request as engines see them, with every default filled in.
#pragma once

#include <cstdint>
#include <optional>

#include "engines/engine.h"
#include "formulas/model.h"
#include "kvplan/load.h"
#include "kvplan/request.h"

namespace kvplan {

// `known`: an earlier input of the same model. The parts that no request changes are copied from it.
EngineInput engine_input(const ModelSpec& model, const Request& request, const EngineInput* known = nullptr);
Load load_of(const ModelSpec& model, const Request& request);
// The model's maximum: `own` from the config, else the engine's rule.
std::optional<Tokens> longest_of(Tokens own, const Engine& engine);
// The longest context that every command answers with: what fits in memory, at most the model's maximum.
std::uint64_t longest_context(std::uint64_t by_memory, Tokens own, const Engine& engine);
// The GPU's memory: as the user gives it, as a calibration measured it, else as catalogued.
std::optional<Bytes> card_memory(const Request& request);
// The context to plan for where neither config nor request names one.
inline constexpr std::uint64_t kDefaultContext = 4096;

}  // namespace kvplan
