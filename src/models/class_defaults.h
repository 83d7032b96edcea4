// What a key is where a config leaves it out, because it equals the default of its class.
#ifndef KVPLAN_MODELS_CLASS_DEFAULTS_H_
#define KVPLAN_MODELS_CLASS_DEFAULTS_H_

#include <string_view>

#include "formats/fields.h"

namespace kvplan {

bool has_class(std::string_view model_type);

// The same fields, answering absent keys as the class of `model_type` does; as the file alone does where no class is
// known.
Fields with_class(const Fields& fields, std::string_view model_type);

}  // namespace kvplan

#endif  // KVPLAN_MODELS_CLASS_DEFAULTS_H_
