// Which models each engine's own code was run with: executed.txt, written by scripts/executed_models.py.
#pragma once

#include <span>
#include <string_view>

#include "engines/engine.h"

namespace kvplan {

// A line has an engine, then model_types and classes; the first line is a comment.
std::span<const std::string_view> executed_lines();

// Whether the engine's own code was run with the model's class, or with another checkpoint of its type.
bool was_executed(std::string_view engine, const ModelShape& model);

}  // namespace kvplan
