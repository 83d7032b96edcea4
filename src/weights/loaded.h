// A model in the memory of an engine that runs on PyTorch: its tensors as the engine makes them, the tables of rotary
// angles, and the allocator's blocks.
#pragma once

#include <cstdint>
#include <limits>
#include <set>
#include <span>
#include <vector>

#include "kvplan/quantity.h"
#include "weights/weigh.h"

namespace kvplan {

// PyTorch's caching allocator: what it takes from a GPU for tensors that stay. Sizes are rounded up to 512 B. Blocks of
// up to 1 MiB are cut from segments of 2 MiB, and blocks below 10 MiB from segments of 20 MiB. Larger blocks get their
// own segment in whole 2 MiB. The smallest free block that is large enough is used. What remains of it becomes a free
// block if it has at least 512 B (small) or more than 1 MiB (large). Otherwise the tensor keeps it, and tensors from
// `most_split` B on always do (max_split_size_mb). Source: PyTorch c10/cuda/CUDACachingAllocator.cpp (round_size,
// get_allocation_size, should_split).
class TorchPieces {
 public:
  explicit TorchPieces(std::uint64_t most_split = std::numeric_limits<std::uint64_t>::max())
      : most_split_(most_split) {}

  void take(Bytes tensor) {
    if (tensor == Bytes(0)) return;
    constexpr std::string_view kWhat = "the allocator's pieces";
    const std::uint64_t wanted = round_up(tensor.count(), 512, kWhat);
    const bool is_small = wanted <= kMiB;
    std::multiset<Bytes>& free = is_small ? small_ : large_;
    std::uint64_t piece = 0;
    if (const auto found = free.lower_bound(Bytes(wanted)); found != free.end()) {
      piece = found->count();
      free.erase(found);
    } else {
      piece = is_small ? 2 * kMiB : wanted < 10 * kMiB ? 20 * kMiB : round_up(wanted, 2 * kMiB, kWhat);
      reserved += Bytes(piece);
      segments.emplace_back(piece);
    }
    const std::uint64_t rest = piece - wanted;
    if (is_small ? rest >= 512 : rest > kMiB && wanted < most_split_) {
      free.insert(Bytes(rest));
      piece = wanted;
    }
    allocated += Bytes(piece);
  }

  Bytes allocated;              // torch.cuda.memory_allocated
  Bytes reserved;               // taken from the GPU
  std::vector<Bytes> segments;  // the blocks of `reserved`, in the order of allocation

 private:
  std::uint64_t most_split_;
  std::multiset<Bytes> small_, large_;  // free blocks
};

struct LoadedWeights {
  Bytes tensors;    // of the tensors themselves
  Bytes rotary;     // of the tables
  Bytes absorbed;   // of MLA's up-projection, copied in the model's type
  Bytes allocated;  // of all of these, in the allocator's blocks
  Bytes reserved;   // of the segments that contain the blocks
  std::vector<Bytes> segments;
  bool is_packed = false;  // some tensors are quantized: engines repack these while loading
};

// One rank's part, allocated in the order of vLLM and SGLang: the embedding, the layers, the head. There, queries, keys
// and values are one tensor, gate and up are one, and all experts of a layer are one. Zeros if the config does not
// determine the tensors.
//
// MLA multiplies by the two halves of kv_b_proj. vLLM views the matrix itself, and copies it only if it is quantized.
// SGLang always copies it (`copies_latents`).
//
// `tables`: bytes of each rotary table. `pieces`: the allocator as the engine sets it.
LoadedWeights loaded_weights(const WeightModel& model, const Weigher& weigher, const WeightRequest& request,
                             bool copies_latents, std::span<const Bytes> tables, TorchPieces pieces = TorchPieces());

}  // namespace kvplan
