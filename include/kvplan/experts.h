// The shape of a mixture of experts, as far as a model says it; all 0 where its MLPs are dense.
#ifndef KVPLAN_EXPERTS_H_
#define KVPLAN_EXPERTS_H_

#include <cstdint>

namespace kvplan {

struct ExpertShape {
  std::uint64_t count = 0;         // routed experts of a layer
  std::uint64_t used = 0;          // of them, those that one token passes through
  std::uint64_t width = 0;         // of one expert
  std::uint64_t dense_layers = 0;  // layers with a dense MLP beside the others
};

}  // namespace kvplan

#endif  // KVPLAN_EXPERTS_H_
