// Which class a config's decoder is of: what its files and composites call it, and what stands in for a class that has
// no row of its own.
#ifndef KVPLAN_MODELS_MODEL_CLASS_H_
#define KVPLAN_MODELS_MODEL_CLASS_H_

#include <string>
#include <string_view>

#include "formats/fields.h"

namespace kvplan {

// How a flat config of a composite class (text fields at the root) is classified.
std::string flat_class(const std::string& model_type);
// The class of a nested decoder: its own word, else what its architecture or the composite implies.
std::string text_class(const Fields& text, const std::string& root_type);

// A class's name, as reports print it: a config is anybody's, and a name has no business with a terminal or a page.
std::string class_word(std::string_view name);

// The class whose defaults hold for a type. The name that a family's rule goes by stays; only a type without a class of
// its own borrows one.
std::string class_of(std::string type);
// MiniCPM-V and -o go by a version: which decoder they have; "" for all others.
std::string_view class_of_version(std::string_view type, const Fields& config);

}  // namespace kvplan

#endif  // KVPLAN_MODELS_MODEL_CLASS_H_
