// The value of a key that a config leaves out because it equals its class's default.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "formats/fields.h"

namespace kvplan {

// class_defaults.txt, written by scripts/class_defaults.py: the first line names the release of transformers, every
// other line is "model_type: key=value key=value" (Fields::with_defaults), sorted by type. "outer type/key/model_type"
// is a nested config for which the outer class has its own defaults.
std::span<const std::string_view> class_default_lines();

bool has_class(std::string_view model_type);

// The same fields with the defaults of the class `model_type` for absent keys; unchanged if the class is not known.
Fields with_class(const Fields& fields, std::string_view model_type);
// As with_class, for a `model_type` that is read like `another` but may have its own class.
Fields with_class_as(const Fields& fields, std::string_view model_type, std::string_view another);
// As with_class, for a nested config, with the defaults that the class around it sets.
Fields with_class_inside(const Fields& nested, std::string_view outer_type, std::string_view model_type);

// The class of a config's decoder: the class that it names, or the one that the composite around it implies, or a
// substitute if that class has no row.

// How a flat config of a composite class (text fields at the root) is classified.
std::string flat_class(const std::string& model_type);
// The class of a nested decoder: its own name, or the one that its architecture or the composite implies.
std::string text_class(const Fields& text, const std::string& root_type);

// A class's name as reports print it. It is made safe, because anybody can write a config, and terminals and web pages
// show the name.
std::string class_word(std::string_view name);

// The class whose defaults a type has. The type's own name still chooses the family. Only types without a class use
// another class's defaults.
std::string class_of(std::string type);
// The decoder of MiniCPM-V and -o for their version; "" for all other models.
std::string_view class_of_version(std::string_view type, const Fields& config);

}  // namespace kvplan
