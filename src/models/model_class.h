// The class of a config's decoder: by its own name, by the composite around it, or a substitute for a class without a
// row.
#pragma once

#include <string>
#include <string_view>

#include "formats/fields.h"

namespace kvplan {

// How a flat config of a composite class (text fields at the root) is classified.
std::string flat_class(const std::string& model_type);
// The class of a nested decoder: its own name, else the one that its architecture or the composite implies.
std::string text_class(const Fields& text, const std::string& root_type);

// A class's name as reports print it: made safe, since anybody can write a config and the name gets into terminals and
// web pages.
std::string class_word(std::string_view name);

// The class whose defaults a type has. The name that decides on the family stays the same; only a type without its own
// class uses another's.
std::string class_of(std::string type);
// The decoder of MiniCPM-V and -o, by their version; "" for all others.
std::string_view class_of_version(std::string_view type, const Fields& config);

}  // namespace kvplan
