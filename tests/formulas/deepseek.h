// Dimensions of a model that several tests use.
#pragma once

#include "formulas/mla.h"

namespace kvplan {

inline constexpr Latent kDeepSeekV3{128, 512, 64, 128, 128, 1536};

}  // namespace kvplan
