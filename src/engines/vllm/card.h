// What vLLM decides by the card: its compute capability determines the kernels, and these the cache's blocks, its types
// and what is refused.
#ifndef KVPLAN_ENGINES_VLLM_CARD_H_
#define KVPLAN_ENGINES_VLLM_CARD_H_

#include "kvplan/gpu.h"
#include "kvplan/request.h"

namespace kvplan {

// Whether vLLM runs on it: CUDA from compute capability 7.0, the gfx numbers that its ROCm build names
// (docs/getting_started/installation), XPU; Gaudi by a plugin.
bool vllm_supports(const Gpu& card);

// The compute capability of an NVIDIA card, as CUDA gives it: 90 is 9.0. 0: no card is named, only a size, or another
// vendor's.
unsigned vllm_capability(const Request& request);

bool vllm_is_rocm(const Request& request);

// Families of cards with the same kernels. All are true where no card is named.
bool vllm_is_hopper(const Request& request);          // 9.0
bool vllm_is_data_blackwell(const Request& request);  // 10.0 and 10.3, B200 and B300

}  // namespace kvplan

#endif  // KVPLAN_ENGINES_VLLM_CARD_H_
