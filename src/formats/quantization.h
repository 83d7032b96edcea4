// A checkpoint's declaration of its quantization, in any dialect.
#ifndef KVPLAN_FORMATS_QUANTIZATION_H_
#define KVPLAN_FORMATS_QUANTIZATION_H_

#include <string_view>

#include "formats/fields.h"
#include "kvplan/quantization.h"

namespace kvplan {

// `hf_quant_config` is the text of the file next to the config; "" for none. Throws Error(kBadInput).
QuantDeclaration read_quantization(const Fields& root, const Fields& text, std::string_view hf_quant_config);

}  // namespace kvplan

#endif  // KVPLAN_FORMATS_QUANTIZATION_H_
