// Options that take more than a value: speculative decoding, LoRA, an image projector, overrides of the config.
#pragma once

#include <string_view>

#include "cli/options.h"
#include "formulas/model.h"

namespace kvplan {

void apply_speculative_method(Invocation& call, std::string_view value, std::string_view name);
void apply_speculative_config(Invocation& call, std::string_view value, std::string_view name);
void apply_lora_targets(Invocation& call, std::string_view value, std::string_view name);
void apply_overrides(Invocation& call, std::string_view value, std::string_view name);
void apply_backend(Invocation& call, std::string_view value, std::string_view name);
void apply_task(Invocation& call, std::string_view value, std::string_view name);
void apply_mm_limits(Invocation& call, std::string_view value, std::string_view name);

// A model, and the request with what its options name loaded: a draft model, adapters, a projector.
struct ModelAndRequest {
  ModelSpec model;
  Request request;
};
ModelAndRequest load_model_and_request(const std::string& argument, const Invocation& call);

}  // namespace kvplan
