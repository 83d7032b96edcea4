// Slices of NVIDIA's cards (MIG). Memory is what `nvidia-smi mig -lgip` prints for a profile; a profile has one, two,
// four or all of eight memory slices, and that share of the bandwidth. A 4g slice has the memory of a 3g one.
#include "kvplan/gpus.h"

namespace kvplan {

namespace {

using std::string_view;

constexpr Gpu slice(std::uint32_t capability, string_view name, string_view aliases, double gib, int eighths,
                    double bandwidth) {
  Gpu out{"NVIDIA",
          name,
          aliases,
          static_cast<std::uint64_t>(gib * 1024),
          0,
          true,
          false,
          bandwidth * eighths / 8,
          "nvidia-smi mig -lgip",
          capability,
          {}};
  return out;
}

constexpr double kA100 = 1555, kA100Large = 2039, kH100 = 3350, kH200 = 4800;

constexpr Gpu kSlices[] = {
    slice(80, "a100-1g.5gb", "a100-sxm4-40gb-mig-1g.5gb a100-pcie-40gb-mig-1g.5gb", 4.75, 1, kA100),
    slice(80, "a100-2g.10gb", "a100-sxm4-40gb-mig-2g.10gb a100-pcie-40gb-mig-2g.10gb", 9.75, 2, kA100),
    slice(80, "a100-3g.20gb", "a100-sxm4-40gb-mig-3g.20gb a100-pcie-40gb-mig-3g.20gb", 19.62, 4, kA100),
    slice(80, "a100-4g.20gb", "a100-sxm4-40gb-mig-4g.20gb a100-pcie-40gb-mig-4g.20gb", 19.62, 4, kA100),
    slice(80, "a100-1g.10gb", "a100-80gb-1g.10gb a100-sxm4-80gb-mig-1g.10gb a100-80gb-pcie-mig-1g.10gb", 9.5, 1,
          kA100Large),
    slice(80, "a100-2g.20gb", "a100-80gb-2g.20gb a100-sxm4-80gb-mig-2g.20gb a100-80gb-pcie-mig-2g.20gb", 19.5, 2,
          kA100Large),
    slice(80, "a100-3g.40gb", "a100-80gb-3g.40gb a100-sxm4-80gb-mig-3g.40gb a100-80gb-pcie-mig-3g.40gb", 39.25, 4,
          kA100Large),
    slice(80, "a100-4g.40gb", "a100-80gb-4g.40gb a100-sxm4-80gb-mig-4g.40gb a100-80gb-pcie-mig-4g.40gb", 39.25, 4,
          kA100Large),
    slice(90, "h100-1g.10gb", "h100-80gb-1g.10gb h100-80gb-hbm3-mig-1g.10gb", 9.75, 1, kH100),
    slice(90, "h100-1g.20gb", "h100-80gb-1g.20gb h100-80gb-hbm3-mig-1g.20gb", 19.62, 2, kH100),
    slice(90, "h100-2g.20gb", "h100-80gb-2g.20gb h100-80gb-hbm3-mig-2g.20gb", 19.62, 2, kH100),
    slice(90, "h100-3g.40gb", "h100-80gb-3g.40gb h100-80gb-hbm3-mig-3g.40gb", 39.5, 4, kH100),
    slice(90, "h100-4g.40gb", "h100-80gb-4g.40gb h100-80gb-hbm3-mig-4g.40gb", 39.5, 4, kH100),
    slice(90, "h200-1g.18gb", "h200-141gb-1g.18gb h200-mig-1g.18gb", 16, 1, kH200),
};

}  // namespace

std::span<const Gpu> gpu_slices() {
  return kSlices;
}

}  // namespace kvplan
