// Options that take one value or several: "vllm,sglang", "fp8,int4".
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "cli/options.h"
#include "kvplan/storage.h"

namespace kvplan {

// The parts of a list, including empty ones.
std::vector<std::string_view> parts_of(std::string_view list, char separator);
// A cache type; nothing for "auto".
std::optional<Dtype> type_or_auto(std::string_view value, std::string_view name);

void set_engines(Invocation& call, std::string_view list, std::string_view option);
void set_weights(Invocation& call, std::string_view list, std::string_view option);
void set_kv_types(Invocation& call, std::string_view list, std::string_view option);

}  // namespace kvplan
