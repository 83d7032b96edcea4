// What an answer says about a model and its layers, so that no report has to look into either.
#pragma once

#include <memory>
#include <vector>

#include "engines/engine.h"
#include "formulas/model.h"
#include "plan/answer.h"

namespace kvplan {

// A model's name from its path: "llama-3.1-8b" for configs/llama-3.1-8b.json.
std::string name_of(std::string_view source);

std::shared_ptr<const ModelFacts> facts_of(const ModelSpec& model);

// The layers at a plan's types and load.
std::vector<LayerFacts> layer_facts(const std::vector<LayerGroup>& groups, const CacheTypes& types, const Load& load);

// For a release before the first or after the last known one: which release it is planned as. Empty for a known one.
Template unknown_release(const Engine& engine, const Request& request);

// Query heads of a layer, and the most of any layer; 0 if there are none.
std::uint64_t num_heads(const Mixer& mixer);
std::uint64_t most_heads(const std::vector<LayerGroup>& groups);

}  // namespace kvplan
