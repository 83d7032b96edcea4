// The rotary tables that a config asks for.
#pragma once

#include <optional>
#include <vector>

#include "formulas/model.h"
#include "models/reader.h"

namespace kvplan {

// Tables of the decoder's attention layers, each distinct one once; empty for a decoder without rotation, or of a class
// for which that is not known. reader.model.layers must be filled.
std::vector<RotaryTable> read_rotary_tables(const Reader& reader);
// The rotation of a model with known tables, if there is only one and it is unscaled.
std::optional<PlainRotation> read_plain_rotation(const Reader& reader);

}  // namespace kvplan
