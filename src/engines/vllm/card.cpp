#include "engines/vllm/card.h"

#include <algorithm>
#include <iterator>

#include "kvplan/gpus.h"

namespace kvplan {

bool vllm_supports(const Gpu& card) {
  constexpr unsigned kOldest = 70;
  constexpr unsigned kRocm[] = {0x90a, 0x942, 0x950, 0x1100, 0x1101, 0x1151, 0x1200, 0x1201};
  if (card.capability == 0) return true;
  if (card.vendor == "NVIDIA") return card.capability >= kOldest;
  return card.vendor != "AMD" || std::find(std::begin(kRocm), std::end(kRocm), card.capability) != std::end(kRocm);
}

unsigned vllm_capability(const Request& request) {
  return request.card.capability();
}

bool vllm_is_hopper(const Request& request) {
  return vllm_capability(request) == 90;
}

bool vllm_is_data_blackwell(const Request& request) {
  return vllm_capability(request) / 10 == 10;
}

bool vllm_is_rocm(const Request& request) {
  return request.card.is_amd();
}

}  // namespace kvplan
