// The cards of this machine, for --gpu auto: NVIDIA's through its management library, AMD's through sysfs. Nothing is
// linked and nothing is allocated on a card.
#ifndef KVPLAN_MEASURE_DETECT_H_
#define KVPLAN_MEASURE_DETECT_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "kvplan/quantity.h"
#include "kvplan/request.h"

namespace kvplan {

struct DetectedCard {
  std::string name;       // as the driver has it
  Bytes memory;           // as the driver reports it; 0 where it does not (unified memory)
  std::string uuid = "";  // "GPU-..." or "MIG-..."; empty where the driver tells none
  Bytes used = {};        // now, by whoever
  std::size_t index = 0;  // of the card; slices of one card share it
};

// The library: KVPLAN_NVML, else libnvidia-ml.so.1. The folder: /sys/class/drm. Empty where there is no card.
std::vector<DetectedCard> detect_cards();
std::vector<DetectedCard> detect_nvidia(const std::string& library);
std::vector<DetectedCard> detect_amd(const std::string& drm_folder);
// What a program sees of them with CUDA_VISIBLE_DEVICES (HIP_VISIBLE_DEVICES) set to `list`: numbers, or beginnings of
// UUIDs; nothing behind a word that is neither.
std::vector<DetectedCard> visible_cards(const std::vector<DetectedCard>& cards, std::string_view list);

// Plans on these cards: the smallest decides, and a note says what was found. A card of the catalogue brings what a
// program sees of it. Error(kBadInput) where there is none, or its memory is not known.
void use_cards(const std::vector<DetectedCard>& cards, Request& request);

}  // namespace kvplan

#endif  // KVPLAN_MEASURE_DETECT_H_
