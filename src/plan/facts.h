// What an answer says of a model and of its layers, so that no form has to look into either.
#ifndef KVPLAN_PLAN_FACTS_H_
#define KVPLAN_PLAN_FACTS_H_

#include <memory>
#include <vector>

#include "engines/engine.h"
#include "formulas/model.h"
#include "plan/answer.h"

namespace kvplan {

// What a model is called by where it lies: "llama-3.1-8b" of configs/llama-3.1-8b.json.
std::string name_of(std::string_view source);

std::shared_ptr<const ModelFacts> facts_of(const ModelSpec& model);

// Layers at the types and the load of a plan.
std::vector<LayerFacts> layer_facts(const std::vector<LayerGroup>& groups, const CacheTypes& types, const Load& load);

// A release before the first or behind the last that is known: what it is planned as. Empty for one that is known.
Template unknown_release(const Engine& engine, const Request& request);

// Query heads of a layer, and the most of any; 0 where none has such.
std::uint64_t num_heads(const Mixer& mixer);
std::uint64_t most_heads(const std::vector<LayerGroup>& groups);

}  // namespace kvplan

#endif  // KVPLAN_PLAN_FACTS_H_
