// The GPUs of this machine, for --gpu auto: NVIDIA's through its management library, AMD's through sysfs. No library
// is linked, and nothing is allocated on a GPU.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "kvplan/quantity.h"
#include "kvplan/request.h"

namespace kvplan {

struct DetectedCard {
  std::string name;       // the driver's name for it
  Bytes memory;           // as the driver reports it; 0 if it does not (unified memory)
  std::string uuid = "";  // "GPU-..." or "MIG-..."; empty if the driver gives none
  Bytes used = {};        // at present, by any process
  std::size_t index = 0;  // of the GPU, the same for all its slices
};

// The library is KVPLAN_NVML, else libnvidia-ml.so.1; the folder is /sys/class/drm. Empty if there is no GPU.
std::vector<DetectedCard> detect_cards();
// The same in a separate process, which is killed after `longest`: a driver may hang. Empty if it takes longer.
std::vector<DetectedCard> detect_cards_within(std::chrono::milliseconds longest);
std::vector<DetectedCard> detect_nvidia(const std::string& library);
std::vector<DetectedCard> detect_amd(const std::string& drm_folder);
// The GPUs that a program sees with CUDA_VISIBLE_DEVICES (HIP_VISIBLE_DEVICES) set to `list`: numbers, or beginnings
// of UUIDs. An invalid word ends the list.
std::vector<DetectedCard> visible_cards(const std::vector<DetectedCard>& cards, std::string_view list);

// Puts these GPUs into the request. The smallest one decides, and a note says what was found. For a GPU in the
// catalogue the memory is what a program sees. Throws Error(kBadInput) if there is no GPU, or its memory is not known.
void use_cards(const std::vector<DetectedCard>& cards, Request& request);

}  // namespace kvplan
