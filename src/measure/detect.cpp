#include "measure/detect.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "kvplan/error.h"
#include "kvplan/gpus.h"
#include "kvplan/spoken.h"
#include "measure/library.h"
#include "measure/value_file.h"

namespace kvplan {

namespace {

namespace fs = std::filesystem;

// The part of NVML's C interface that is used here; its layout is stable since 2012.
struct NvmlMemory {
  unsigned long long total, free, used;
};
using NvmlDevice = void*;
constexpr int kNvmlSuccess = 0;
constexpr unsigned int kMaxCards = 64;

// The catalogue's card of that name, where it has the memory that was found: makers sell two sizes under one name.
const Gpu* in_catalogue(const DetectedCard& card) {
  const Gpu* gpu = find_gpu(card.name);
  if (gpu == nullptr || card.memory == Bytes(0)) return gpu;
  const double ratio = static_cast<double>(card.memory.count()) / static_cast<double>(gpu->memory_mib * kMiB);
  return ratio > 0.97 && ratio < 1.03 ? gpu : nullptr;
}

}  // namespace

std::vector<DetectedCard> detect_nvidia(const std::string& library) {
  std::vector<DetectedCard> out;
  const Library nvml(library);
  const auto init = nvml.find<int()>("nvmlInit_v2");
  const auto shutdown = nvml.find<int()>("nvmlShutdown");
  const auto count = nvml.find<int(unsigned int*)>("nvmlDeviceGetCount_v2");
  const auto handle = nvml.find<int(unsigned int, NvmlDevice*)>("nvmlDeviceGetHandleByIndex_v2");
  const auto name = nvml.find<int(NvmlDevice, char*, unsigned int)>("nvmlDeviceGetName");
  const auto memory = nvml.find<int(NvmlDevice, NvmlMemory*)>("nvmlDeviceGetMemoryInfo");
  if (init == nullptr || count == nullptr || handle == nullptr || name == nullptr || memory == nullptr) return out;
  if (init() != kNvmlSuccess) return out;
  unsigned int cards = 0;
  if (count(&cards) != kNvmlSuccess) cards = 0;
  for (unsigned int i = 0; i < std::min(cards, kMaxCards); ++i) {
    NvmlDevice device = nullptr;
    char text[128] = {};
    NvmlMemory found{};
    if (handle(i, &device) != kNvmlSuccess || name(device, text, sizeof text - 1) != kNvmlSuccess) continue;
    // A card of unified memory answers "not supported".
    if (memory(device, &found) != kNvmlSuccess) found.total = 0;
    out.push_back({one_line(text, 80), Bytes(found.total)});
  }
  if (shutdown != nullptr) shutdown();
  return out;
}

std::vector<DetectedCard> detect_amd(const std::string& drm_folder) {
  // Beside a card, a processor's own graphics with its small carve-out are no place for a model.
  constexpr std::uint64_t kLeast = 2 * kGiB;
  std::vector<fs::path> folders;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(drm_folder, ignored))
    if (fs::exists(entry.path() / "device" / "mem_info_vram_total", ignored))
      folders.push_back(entry.path() / "device");
  std::sort(folders.begin(), folders.end());
  std::vector<DetectedCard> cards;
  std::vector<DetectedCard> integrated;
  for (const fs::path& folder : folders) {
    // card0 and renderD128 lead to the same device.
    if (folder.parent_path().filename().string().rfind("card", 0) != 0) continue;
    const auto memory = number_in(folder / "mem_info_vram_total");
    if (!memory || *memory == 0) continue;
    std::string name = one_line(first_line(folder / "product_name"), 80);
    if (name.empty()) name = "AMD GPU";
    if (*memory >= kLeast)
      cards.push_back({name, Bytes(*memory)});
    else
      integrated.push_back({name, Bytes(std::max(*memory, number_in(folder / "mem_info_gtt_total").value_or(0)))});
  }
  return cards.empty() ? integrated : cards;
}

std::vector<DetectedCard> detect_cards() {
  std::vector<DetectedCard> cards = detect_nvidia(environment_or("KVPLAN_NVML", "libnvidia-ml.so.1"));
  return cards.empty() ? detect_amd("/sys/class/drm") : cards;
}

void use_cards(const std::vector<DetectedCard>& cards, Request& request) {
  if (cards.empty())
    fail("--gpu auto: no card was found on this machine", "name a card (kvplan gpus), or a size with --gpu-memory");
  const Gpu* best = nullptr;
  std::optional<Bytes> least;
  bool uneven = false;
  std::string found;
  for (const DetectedCard& card : cards) {
    const Gpu* gpu = in_catalogue(card);
    if (gpu == nullptr && card.memory == Bytes(0))
      fail("--gpu auto: the driver does not say how much memory \"" + card.name + "\" has",
           "give it with --gpu-memory SIZE");
    const Bytes memory = gpu != nullptr ? gpu->budget() : card.memory;
    found += (found.empty() ? "" : ", ") + card.name + " (" + spoken_gib(memory) + ")";
    uneven = uneven || (least && memory != *least);
    if (!least || memory < *least) {
      least = memory;
      best = gpu;
    }
  }
  if (best != nullptr)
    request.gpu = std::string(best->name);
  else
    request.gpu_memory = *least;
  request.gpu_count = cards.size();
  request.gpu_note = "found on this machine: " + found;
  if (uneven) request.gpu_note += "; the smallest decides for all";
}

}  // namespace kvplan
