// What a key is where a config leaves it out, because it equals the default of its class.
#ifndef KVPLAN_MODELS_CLASS_DEFAULTS_H_
#define KVPLAN_MODELS_CLASS_DEFAULTS_H_

#include <span>
#include <string_view>

#include "formats/fields.h"

namespace kvplan {

// class_defaults.txt, which scripts/class_defaults.py writes: its first line names the release of transformers, every
// other one is "model_type: key=value key=value" (Fields::with_defaults), sorted by type. "outer type/key/model_type"
// is a nested config that the outer class fills in its own way.
std::span<const std::string_view> class_default_lines();

bool has_class(std::string_view model_type);

// The same fields, answering absent keys as the class of `model_type` does; as the file alone does where no class is
// known.
Fields with_class(const Fields& fields, std::string_view model_type);
// A `model_type` that is read as `another` is, and may have a class of its own.
Fields with_class_as(const Fields& fields, std::string_view model_type, std::string_view another);
// Of a nested config: as the class around it fills its parts.
Fields with_class_inside(const Fields& nested, std::string_view outer_type, std::string_view model_type);

}  // namespace kvplan

#endif  // KVPLAN_MODELS_CLASS_DEFAULTS_H_
