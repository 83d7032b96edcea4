// All architectures, one file for each family, found by model_type or by a class's name.
#pragma once

#include <span>
#include <string_view>

#include "models/family.h"

namespace kvplan {

// Null for an unknown model_type.
const Family* find_family(std::string_view model_type);
// The function that reads a family's layers, by the name that reports show ("plain", "mla").
std::string_view rule_of(const Family& family);
// The row whose layers are read by this function; null if there is none.
const Family* find_family(void (*layers)(Reader& reader));
// The model_type that an architecture's name implies ("DeepseekV4ForCausalLM" -> "deepseek_v4"); empty for none.
std::string_view model_type_of(std::string_view class_name);
// The rows of every family's file.
std::span<const std::span<const Family>> families();

// The layer pattern of the decoder's class, or `otherwise` if it has none.
PatternRule pattern_of(const Reader& reader, const PatternRule& otherwise);

}  // namespace kvplan
