#include "plan/questions.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "engines/engine.h"
#include "engines/launch_input.h"
#include "formats/file.h"
#include "kvplan/error.h"
#include "kvplan/strings.h"
#include "plan/steps.h"
#include "sources/hub_settings.h"
#include "sources/local_stores.h"
#include "weights/types.h"

namespace kvplan {

static void from_hub(LaunchModel& out) {
  try {
    const HubId id = parse_hub_id(out.name, read_hub_settings({}).endpoint);
    out.is_hub = true;
    out.name = id.repo;
    if (id.gguf.ends_with(".gguf"))
      out.file = id.gguf;
    else if (!id.gguf.empty())
      out.name += ":" + id.gguf;
    out.revision = id.revision;
  } catch (const Error&) {
    out.is_placeholder = true;  // callers of the library may pass any text as a name
  }
}

// Engines load the directory of a config.json. Another NAME.json means the model NAME.
static LaunchModel launch_model(const ModelSpec& model) {
  LaunchModel out;
  out.is_gguf = model.is_gguf;
  out.name = model.source;
  if (out.name == "-" || out.name.empty()) {
    out.name = "MODEL";
    out.is_placeholder = true;
  } else if (is_in_store(out.name) && !exists(out.name)) {
    out.name = find_in_store(out.name);
  } else if (is_hub_url(out.name) || !is_local_path(out.name)) {
    from_hub(out);
  } else if (const std::string file = out.name.substr(out.name.rfind('/') + 1);
             file == "config.json" || file == "params.json") {
    const std::size_t folder = out.name.size() - file.size();
    out.name = folder == 0 ? "." : out.name.substr(0, std::max<std::size_t>(1, folder - 1));
  } else if (file.ends_with(".json")) {
    out.name.resize(out.name.size() - std::string_view(".json").size());
    out.is_placeholder = true;
  }
  if (out.name.starts_with('-')) out.name.insert(0, "./");  // so that it is not an option
  return out;
}

// As the table of types spells it; as typed if the table lacks it.
static std::string type_name(const std::optional<std::string>& weights) {
  if (!weights) return "";
  const WeightType* type = find_weight_type(*weights);
  return type != nullptr ? std::string(type->name) : *weights;
}

static std::string own_weights(const ModelSpec& model, Request request) {
  request.weights.reset();
  return make_plan(model, request).weights_dtype;
}

Launch launch_of(const ModelSpec& model, const Plan& plan) {
  const Engine& engine = engine_of(plan.request);
  if (engine.launch == nullptr) {
    std::vector<std::string_view> known;
    for (const Engine& row : engines())
      if (row.launch != nullptr) known.push_back(row.name);
    usage_error("--format args and k8s write an engine's command line, and " +
                    std::string(engine_of(plan.request).name) + " has none here",
                "name one with --engine: " + join(known));
  }
  const Request& request = plan.request;
  LaunchInput input;
  input.request = &request;
  input.load = plan.load;
  input.types = plan.types;
  input.draft_method = plan.draft_method;
  input.model = launch_model(model);
  if (request.extras.draft != nullptr) input.draft = launch_model(*request.extras.draft);
  input.model_name = plan.model->name;
  input.architecture = model.architecture;
  input.max_model_len = model.max_model_len;
  input.plain_rotation = model.plain_rotation;
  input.weights = type_name(request.weights);
  input.draft_weights = type_name(request.extras.draft_weights);
  input.places_itself = plan.asked_placement && !plan.asked_placement->first.gpu_layers;
  std::vector<std::string> remarks;
  // If the engine cannot make a type while loading, the command names a checkpoint in that type.
  const auto is_own = [&](const std::string& type, const std::string& declared, const std::string& name,
                          LaunchModel& loaded) {
    if (has_word(engine.loading.made_at_load, type) && declared.empty()) return false;
    loaded = {name + "-" + type + (loaded.is_gguf ? ".gguf" : ""), "", "", false, loaded.is_gguf, false};
    remarks.push_back(std::string(engine.name) + " cannot convert to " + type + " while loading: replace " +
                      loaded.name + " with a checkpoint of that type");
    return true;
  };
  // For other checkpoints llama.cpp's command names a GGUF in the planned type.
  const bool is_converted = engine.loading.embedding_on_host && !model.is_gguf;
  if (request.weights && !is_converted && own_weights(model, request) != plan.weights_dtype)
    input.own_weights = is_own(input.weights, model.quantization.dialect, plan.model->name, input.model);
  if (request.extras.draft_weights && input.draft)
    input.own_draft_weights = is_own(input.draft_weights, request.extras.draft->quantization.dialect,
                                     name_of(request.extras.draft->source), *input.draft);
  if (plan.capacity && plan.kv_cache.bytes_per_sequence == Bytes(0)) input.tokens = plan.capacity->tokens;
  Launch out = engine.launch(input);
  out.remarks.insert(out.remarks.end(), remarks.begin(), remarks.end());
  return out;
}

void add_launch(const ModelSpec& model, Answers& answers) {
  Plan* chosen = answers.users ? &answers.rows.front().plan : answers.asked.verdict.holds() ? &answers.asked : nullptr;
  const bool named = answers.asked.request.max_model_len || answers.asked.request.llama_cpp.ctx_size;
  const std::string_view first = named ? "layout" : "longest_context";
  const std::string_view second = named ? "longest_context" : "layout";
  for (const std::string_view name : {first, second, std::string_view("card")}) {
    if (chosen != nullptr) break;
    for (Answer& answer : answers.rows) {
      if (answer.name != name || !answer.plan.verdict.holds()) continue;
      chosen = &answer.plan;
      break;
    }
  }
  if (chosen == nullptr)
    fail_in(model.source, Exit::kDoesNotFit, "nothing fits, so there is no command to print",
            "name another GPU, or see what is short with kvplan fit");
  chosen->launch = launch_of(model, *chosen);
}

}  // namespace kvplan
