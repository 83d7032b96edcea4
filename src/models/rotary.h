// The rotary tables that a config asks for.
#ifndef KVPLAN_MODELS_ROTARY_H_
#define KVPLAN_MODELS_ROTARY_H_

#include <optional>
#include <vector>

#include "formulas/model.h"
#include "models/reader.h"

namespace kvplan {

// Tables of the decoder's attention layers, each distinct one once; empty for a decoder without rotation, or of a class
// for which that is not known. reader.model.layers must be filled.
std::vector<RotaryTable> read_rotary_tables(const Reader& reader);
// The rotation of a model with known tables, where there is only one and it is unscaled.
std::optional<PlainRotation> read_plain_rotation(const Reader& reader);

}  // namespace kvplan

#endif  // KVPLAN_MODELS_ROTARY_H_
