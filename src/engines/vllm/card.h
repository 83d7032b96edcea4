// What vLLM asks of a card: its compute capability decides which kernels there are, and with them blocks of the cache,
// types and what it refuses.
#ifndef KVPLAN_ENGINES_VLLM_CARD_H_
#define KVPLAN_ENGINES_VLLM_CARD_H_

#include "kvplan/gpu.h"
#include "kvplan/request.h"

namespace kvplan {

// CUDA from compute capability 7.0, the gfx numbers that its ROCm build names (docs/getting_started/installation), XPU;
// Gaudi by a plugin.
bool vllm_supports(const Gpu& card);

// Of an NVIDIA card, as CUDA has it: 90 is 9.0. 0: no card is named, only its size, or it is another maker's.
unsigned vllm_capability(const Request& request);

bool vllm_is_rocm(const Request& request);

// Families of kernels. Where no card is named they are all there.
bool vllm_is_hopper(const Request& request);          // 9.0
bool vllm_is_data_blackwell(const Request& request);  // 10.0 and 10.3, B200 and B300

}  // namespace kvplan

#endif  // KVPLAN_ENGINES_VLLM_CARD_H_
