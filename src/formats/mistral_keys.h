// Mistral's own format, params.json, under Hugging Face's keys.
#ifndef KVPLAN_FORMATS_MISTRAL_KEYS_H_
#define KVPLAN_FORMATS_MISTRAL_KEYS_H_

#include <string_view>

#include "formats/fields.h"

namespace kvplan {

// Parses a config.json, or a params.json, which is translated.
Fields parse_config(std::string_view text);

}  // namespace kvplan

#endif  // KVPLAN_FORMATS_MISTRAL_KEYS_H_
