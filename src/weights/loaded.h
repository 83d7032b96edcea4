// A model in the memory of an engine that runs on PyTorch: its tensors as the engine makes them, the table of rotary
// angles beside them, and the allocator's pieces.
#ifndef KVPLAN_WEIGHTS_LOADED_H_
#define KVPLAN_WEIGHTS_LOADED_H_

#include <span>
#include <vector>

#include "weights/weigh.h"

namespace kvplan {

struct LoadedWeights {
  Bytes tensors;    // their own bytes
  Bytes rotary;     // of the tables
  Bytes absorbed;   // of latent attention's up-projection, again in the model's type
  Bytes allocated;  // of both, in the allocator's pieces
  Bytes reserved;   // and the segments that those are cut from
  std::vector<Bytes> segments;
  bool is_packed = false;  // some tensors are quantized: engines repack those while they load
};

// One rank's share, in the order in which vLLM and SGLang make it: the embedding, layer by layer, the head. Queries,
// keys and values are one tensor there, gate and up another, and so are all experts of a layer. Zeros where the config
// does not name the tensors.
//
// Latent attention multiplies by kv_b_proj cut in two. vLLM looks at the matrix itself and keeps a second one only
// where it is quantized; SGLang always copies (`copies_latents`).
//
// `tables`: bytes of each rotary table.
LoadedWeights loaded_weights(const WeightModel& model, const Weigher& weigher, const WeightRequest& request,
                             bool copies_latents, std::span<const Bytes> tables);

}  // namespace kvplan

#endif  // KVPLAN_WEIGHTS_LOADED_H_
