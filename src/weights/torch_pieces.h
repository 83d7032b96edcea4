// What PyTorch's caching allocator takes from a card for tensors that stay: engines that load a model through it print
// its figures rather than the sum of the tensors.
#pragma once

#include <set>
#include <vector>

#include "kvplan/quantity.h"

namespace kvplan {

// Sizes are rounded up to 512 B. Blocks up to 1 MiB are cut from segments of 2 MiB, below 10 MiB from segments of 20
// MiB; larger ones get their own segment in whole 2 MiB. The smallest free block that is large enough is used; the rest
// becomes a free block only if it has at least 512 B (small) or more than 1 MiB (large): otherwise the tensor keeps it.
// Source: PyTorch c10/cuda/CUDACachingAllocator.cpp (round_size, get_allocation_size, should_split).
class TorchPieces {
 public:
  void take(Bytes tensor);
  Bytes allocated() const { return allocated_; }                    // torch.cuda.memory_allocated
  Bytes reserved() const { return reserved_; }                      // taken from the card
  const std::vector<Bytes>& segments() const { return segments_; }  // of reserved(), in the order of allocation

 private:
  std::multiset<Bytes> small_, large_;  // free blocks
  Bytes allocated_, reserved_;
  std::vector<Bytes> segments_;
};

}  // namespace kvplan
