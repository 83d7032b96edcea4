// Models that kvplan does not plan, however complete their config is.
#pragma once

#include "formats/fields.h"

namespace kvplan {

// Throws Error(kUnknownArchitecture) for a part of a diffusion model and for a model of images or sound without a
// language model.
void refuse_out_of_scope(const Fields& root);

}  // namespace kvplan
