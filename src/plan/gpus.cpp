#include "plan/gpus.h"

#include <array>
#include <cctype>
#include <string>

#include "kvplan/error.h"

namespace kvplan {

namespace {

// memory_mib: nvidia-smi's "Memory total" where `reported`.
constexpr std::array kGpus{
    Gpu{"rtx-3090", "3090", 24576, true, 936, "NVIDIA data sheet; nvidia-smi"},
    Gpu{"rtx-4090", "4090", 24564, true, 1008, "NVIDIA data sheet; nvidia-smi"},
    Gpu{"rtx-5090", "5090", 32607, true, 1792, "NVIDIA data sheet; nvidia-smi"},
    Gpu{"l4", "l4-24gb", 23034, true, 300, "NVIDIA data sheet; nvidia-smi"},
    Gpu{"l40s", "l40s-48gb", 46068, true, 864, "NVIDIA data sheet; nvidia-smi"},
    Gpu{"a100-40gb", "a100-40g", 40960, true, 1555, "NVIDIA data sheet; nvidia-smi"},
    Gpu{"a100-80gb", "a100 a100-80g", 81920, true, 2039, "NVIDIA data sheet; nvidia-smi"},
    Gpu{"h100-80gb", "h100 h100-sxm", 81559, true, 3350, "NVIDIA data sheet; nvidia-smi"},
    Gpu{"h200-141gb", "h200", 143771, true, 4800, "NVIDIA data sheet; nvidia-smi"},
    Gpu{"b200-180gb", "b200", 183359, true, 8000, "NVIDIA data sheet; nvidia-smi"},
    Gpu{"mi300x-192gb", "mi300x", 196592, true, 5300, "AMD data sheet; rocm-smi"},
};

std::string folded(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

}  // namespace

std::span<const Gpu> gpus() {
  return kGpus;
}

const Gpu* find_gpu(std::string_view text) {
  const std::string wanted = folded(text);
  if (wanted.empty()) return nullptr;
  for (const Gpu& gpu : kGpus) {
    if (folded(gpu.name) == wanted) return &gpu;
    for (std::string_view rest = gpu.aliases; !rest.empty();) {
      const auto space = rest.find(' ');
      if (folded(rest.substr(0, space)) == wanted) return &gpu;
      rest = space == std::string_view::npos ? std::string_view() : rest.substr(space + 1);
    }
  }
  return nullptr;
}

const Gpu& parse_gpu(std::string_view text) {
  if (const Gpu* gpu = find_gpu(text)) return *gpu;
  std::string known;
  for (const Gpu& gpu : kGpus) known += (known.empty() ? "" : ", ") + std::string(gpu.name);
  fail("--gpu: there is no card \"" + std::string(text) + "\" in the catalogue",
       "use --gpu-memory SIZE, or one of " + known);
}

}  // namespace kvplan
