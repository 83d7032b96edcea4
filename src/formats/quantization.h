// A checkpoint's declaration of its quantization, in any dialect.
#pragma once

#include <string_view>

#include "formats/fields.h"
#include "kvplan/quantization.h"

namespace kvplan {

// What config.json declares. Throws Error(kBadInput).
QuantDeclaration read_quantization(const Fields& root, const Fields& text);
// Whether config.json has a declaration at all: then vLLM and SGLang do not read hf_quant_config.json.
bool has_quantization(const Fields& root, const Fields& text);
// What the text of hf_quant_config.json declares. Throws Error(kBadInput).
QuantDeclaration read_quant_file(std::string_view hf_quant_config);

}  // namespace kvplan
