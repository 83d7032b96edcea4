// Options that take more than a value: lists, speculative decoding, LoRA, an image projector, overrides of the config.
#pragma once

#include <optional>
#include <string_view>

#include "cli/options.h"
#include "formulas/model.h"
#include "kvplan/storage.h"

namespace kvplan {

void apply_speculative_method(Invocation& call, std::string_view value, std::string_view name);
void apply_speculative_config(Invocation& call, std::string_view value, std::string_view name);
void apply_lora_targets(Invocation& call, std::string_view value, std::string_view name);
void apply_overrides(Invocation& call, std::string_view value, std::string_view name);
void apply_mm_limits(Invocation& call, std::string_view value, std::string_view name);

// A model, and the request with everything that its options name: a draft model, adapters, a projector.
struct ModelAndRequest {
  ModelSpec model;
  Request request;
};
ModelAndRequest load_model_and_request(const std::string& argument, const Invocation& call);

// A cache type; nothing for "auto".
std::optional<Dtype> type_or_auto(std::string_view value, std::string_view name);

void set_gpus(Invocation& call, std::string_view list, std::string_view option);
void set_engines(Invocation& call, std::string_view list, std::string_view option);
void set_weights(Invocation& call, std::string_view list, std::string_view option);
void set_kv_types(Invocation& call, std::string_view list, std::string_view option);

}  // namespace kvplan
