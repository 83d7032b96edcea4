// A model in the memory of an engine that runs on PyTorch: its tensors as the engine makes them, the tables of rotary
// angles, and the allocator's blocks.
#pragma once

#include <span>
#include <vector>

#include "weights/weigh.h"

namespace kvplan {

struct LoadedWeights {
  Bytes tensors;    // of the tensors themselves
  Bytes rotary;     // of the tables
  Bytes absorbed;   // of MLA's up-projection, copied in the model's type
  Bytes allocated;  // of all of these, in the allocator's blocks
  Bytes reserved;   // of the segments that contain the blocks
  std::vector<Bytes> segments;
  bool is_packed = false;  // some tensors are quantized: engines repack these while loading
};

// One rank's share, allocated in the order of vLLM and SGLang: the embedding, the layers, the head. Queries, keys and
// values are one tensor there, gate and up another, and all experts of a layer a third. Zeros where the config does not
// determine the tensors.
//
// MLA multiplies by the two halves of kv_b_proj. vLLM views the matrix itself, and makes a copy only where it is
// quantized; SGLang always makes one (`copies_latents`).
//
// `tables`: bytes of each rotary table.
LoadedWeights loaded_weights(const WeightModel& model, const Weigher& weigher, const WeightRequest& request,
                             bool copies_latents, std::span<const Bytes> tables);

}  // namespace kvplan
