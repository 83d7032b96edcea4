// The shape of a mixture of experts, as far as the model gives it; all 0 if every MLP is dense.
#pragma once

#include <cstdint>

namespace kvplan {

struct ExpertShape {
  std::uint64_t count = 0;         // routed experts of a layer
  std::uint64_t used = 0;          // experts that one token passes through
  std::uint64_t width = 0;         // of one expert
  std::uint64_t dense_layers = 0;  // layers that have a dense MLP instead
};

}  // namespace kvplan
