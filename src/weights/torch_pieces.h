// What PyTorch's caching allocator takes from a card for tensors that stay: engines that load a model through it print
// its figures, not the sum of the tensors.
#ifndef KVPLAN_WEIGHTS_TORCH_PIECES_H_
#define KVPLAN_WEIGHTS_TORCH_PIECES_H_

#include <set>
#include <vector>

#include "kvplan/quantity.h"

namespace kvplan {

// Sizes are rounded up to 512 B. Up to 1 MiB is cut out of segments of 2 MiB; below 10 MiB out of segments of 20 MiB;
// more gets a segment of its own, in whole 2 MiB. The smallest free piece that is large enough is taken, and what is
// left of it becomes a free piece only from 512 B (small) or beyond 1 MiB (large): otherwise the tensor keeps it.
// Source: PyTorch c10/cuda/CUDACachingAllocator.cpp (round_size, get_allocation_size, should_split).
class TorchPieces {
 public:
  void take(Bytes tensor);
  Bytes allocated() const { return allocated_; }                    // torch.cuda.memory_allocated
  Bytes reserved() const { return reserved_; }                      // what the card misses
  const std::vector<Bytes>& segments() const { return segments_; }  // of it, in the order of their allocation

 private:
  std::multiset<Bytes> small_, large_;  // free pieces
  Bytes allocated_, reserved_;
  std::vector<Bytes> segments_;
};

}  // namespace kvplan

#endif  // KVPLAN_WEIGHTS_TORCH_PIECES_H_
