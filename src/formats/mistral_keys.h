// Mistral's own format, params.json, under Hugging Face's keys.
#pragma once

#include <string_view>

#include "formats/fields.h"

namespace kvplan {

// Parses a config.json, or a params.json, which is translated.
Fields parse_config(std::string_view text);

}  // namespace kvplan
