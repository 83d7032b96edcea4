// Options that take more than a value: lists, speculative decoding, LoRA, an image projector, overrides of the config.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "cli/options.h"
#include "formulas/model.h"
#include "kvplan/quantity.h"
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

// Values as people type them: 32k tokens, 24GiB, 0.9, one of several words.

// A positive whole number, with k, m or g for powers of 1024 ("32k", "128K", "1M"). Throws Error that names `option`.
std::uint64_t parse_count(std::string_view text, std::string_view option);
// 0 to 1,023, which is vLLM's own limit.
std::uint64_t parse_redundant_experts(std::string_view text, std::string_view option);
Tokens parse_tokens(std::string_view text, std::string_view option);
// Bytes: "24GiB", "24G", "512MiB", "80GB" (10^9), "1.5GiB", or a bare number of bytes, 2^20 or more.
Bytes parse_size(std::string_view text, std::string_view option);
// The same, and "0" in any unit.
Bytes parse_size_or_none(std::string_view text, std::string_view option);
// "5%"; not negative.
double parse_percent(std::string_view text, std::string_view option);
// GB/s or TFLOPS: 0.01 to 1,000,000.
double parse_rate(std::string_view text, std::string_view option);
// Bytes; a bare number counts GiB, as in vLLM's options. 0 is allowed.
Bytes parse_gib(std::string_view text, std::string_view option);
// A fraction in (0, 1].
double parse_share(std::string_view text, std::string_view option);

// The number of the word among those of a list ("on|off|auto"). Throws Error that lists them.
std::size_t chosen(std::string_view value, std::string_view name, std::string_view words);

}  // namespace kvplan
