#include "plan/launch.h"

#include "engines/engine.h"
#include "engines/launch_input.h"
#include "kvplan/error.h"
#include "kvplan/strings.h"
#include "weights/types.h"

namespace kvplan {

namespace {

// A config.json stands for the directory that holds it: that is what engines load.
std::string model_argument(const ModelSpec& model) {
  if (model.source == "-") return "MODEL";
  std::string source = model.source;
  if (source.ends_with("/config.json")) source.resize(source.size() - 12);
  return source;
}

// As the table of types spells it; as it was asked for where the table has no row of that name.
std::string type_name(const std::optional<std::string>& weights) {
  if (!weights) return "";
  const WeightType* type = find_weight_type(*weights);
  return type != nullptr ? std::string(type->name) : *weights;
}

std::string own_weights(const ModelSpec& model, Request request) {
  request.weights.reset();
  return make_plan(model, request).weights_dtype;
}

}  // namespace

Launch launch_of(const ModelSpec& model, const Plan& plan) {
  const Engine& engine = engine_of(plan.request);
  if (engine.launch == nullptr) {
    std::vector<std::string_view> known;
    for (const Engine& row : engines())
      if (row.launch != nullptr) known.push_back(row.name);
    Error error(Exit::kBadInput,
                "--format args and k8s write an engine's command line, and " + plan.request.engine + " has none here",
                "name one with --engine: " + join(known));
    error.set_source("command line");
    throw error;
  }
  const Request& request = plan.request;
  LaunchInput input;
  input.request = &request;
  input.load = plan.load;
  input.types = plan.types;
  input.draft_method = plan.draft_method;
  input.model = model_argument(model);
  if (request.extras.draft != nullptr) input.draft = model_argument(*request.extras.draft);
  input.is_gguf = model.is_gguf;
  input.weights = type_name(request.weights);
  input.draft_weights = type_name(request.extras.draft_weights);
  input.own_weights = !request.weights || own_weights(model, request) == plan.weights_dtype;
  if (plan.capacity && plan.kv_cache.bytes_per_sequence == Bytes(0)) input.tokens = plan.capacity->tokens;
  return engine.launch(input);
}

}  // namespace kvplan
