// Drafts that are not a whole model: EAGLE's layer and Medusa's heads.
#pragma once

#include <string_view>

#include "formats/fields.h"
#include "models/read.h"

namespace kvplan {

// Whether the config is of Medusa heads; and these as a model without layers.
bool is_medusa(const Fields& root);
ModelSpec read_medusa(const Fields& root, std::string_view source, const DraftRole& role);
// Turns a small decoder into the EAGLE head that its config means; leaves any other draft as it is.
void adapt_draft(const Fields& root, const DraftRole& role, ModelSpec& model);

}  // namespace kvplan
