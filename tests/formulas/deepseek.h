// Dimensions of a model that several tests take.
#ifndef KVPLAN_TESTS_FORMULAS_DEEPSEEK_H_
#define KVPLAN_TESTS_FORMULAS_DEEPSEEK_H_

#include "formulas/mla.h"

namespace kvplan {

inline constexpr Latent kDeepSeekV3{128, 512, 64, 128, 128, 1536};

}  // namespace kvplan

#endif  // KVPLAN_TESTS_FORMULAS_DEEPSEEK_H_
