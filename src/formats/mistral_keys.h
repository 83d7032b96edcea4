// Mistral's own format, params.json, under Hugging Face's keys.
#pragma once

#include <string_view>

#include "formats/fields.h"

namespace kvplan {

// Parses a config.json, or a params.json, which is translated. The members of `overrides`, a JSON object or "", replace
// the config's, those of a nested config one by one, as vLLM's --hf-overrides does.
Fields parse_config(std::string_view text, std::string_view overrides = "");

}  // namespace kvplan
