// Since which release an engine runs a model's class.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "engines/engine.h"

namespace kvplan {

// The classes that a release gained and lost, separated by spaces. A class without a row is as old as the table, or
// unknown to the engine.
struct RegistryRow {
  Release release;
  std::string_view gains, losses = {};
};

// The refusal of a class that the request's release does not have yet, or no longer has.
std::optional<Refusal> registry_refusal(std::span<const RegistryRow> table, const EngineInput& input,
                                        std::string_view engine_name);

}  // namespace kvplan
