#include "engines/vllm/card.h"

#include "kvplan/gpus.h"

namespace kvplan {

unsigned vllm_capability(const Request& request) {
  return compute_capability(request.card.name);
}

bool vllm_is_hopper(const Request& request) {
  return vllm_capability(request) == 90;
}

bool vllm_is_data_blackwell(const Request& request) {
  return vllm_capability(request) / 10 == 10;
}

}  // namespace kvplan
