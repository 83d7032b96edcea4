#include "measure/gpu_view.h"

#include "kvplan/error.h"
#include "measure/value_file.h"

namespace kvplan {

namespace {

// The part of NVML's C interface that is used here.
using NvmlDevice = void*;
constexpr int kSuccess = 0;
constexpr int kInsufficientSize = 7;
struct NvmlMemory {
  unsigned long long total, free, used;
};
struct NvmlMemory2 {
  unsigned int version;
  unsigned long long total, reserved, free, used;
};
constexpr unsigned int kMemory2Version = sizeof(NvmlMemory2) | (2u << 24);

class NvidiaView : public GpuView {
 public:
  NvidiaView(const std::string& library, const std::string& pci) : nvml_(library) {
    const auto init = nvml_.find<int()>("nvmlInit_v2");
    const auto handle = nvml_.find<int(const char*, NvmlDevice*)>("nvmlDeviceGetHandleByPciBusId_v2");
    if (init == nullptr || handle == nullptr || init() != kSuccess) return;
    open_ = true;
    if (handle(pci.c_str(), &device_) != kSuccess) device_ = nullptr;
  }
  ~NvidiaView() override {
    const auto shutdown = nvml_.find<int()>("nvmlShutdown");
    if (open_ && shutdown != nullptr) shutdown();
  }
  bool found() const { return device_ != nullptr; }

  std::string driver() const override {
    const auto version = nvml_.find<int(char*, unsigned int)>("nvmlSystemGetDriverVersion");
    char text[96] = {};
    return version != nullptr && version(text, sizeof text - 1) == kSuccess ? one_line(text, 40) : std::string();
  }

  std::optional<GpuMemoryView> memory() const override {
    GpuMemoryView out;
    // The newer call tells what the driver keeps from what programs hold.
    const auto newer = nvml_.find<int(NvmlDevice, NvmlMemory2*)>("nvmlDeviceGetMemoryInfo_v2");
    NvmlMemory2 detailed{};
    detailed.version = kMemory2Version;
    const auto older = nvml_.find<int(NvmlDevice, NvmlMemory*)>("nvmlDeviceGetMemoryInfo");
    NvmlMemory plain{};
    if (newer != nullptr && newer(device_, &detailed) == kSuccess) {
      out.total = Bytes(detailed.total);
      out.used = Bytes(detailed.used);
    } else if (older != nullptr && older(device_, &plain) == kSuccess) {
      out.total = Bytes(plain.total);
      out.used = Bytes(plain.used);
    } else {
      return std::nullopt;
    }
    std::uint64_t processes = 0;
    bool known = false;
    for (const char* call : {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v3"}) {
      const auto count = nvml_.find<int(NvmlDevice, unsigned int*, void*)>(call);
      unsigned int number = 0;
      if (count == nullptr) continue;
      const int answer = count(device_, &number, nullptr);
      if (answer != kSuccess && answer != kInsufficientSize) continue;
      processes += number;
      known = true;
    }
    if (known) out.processes = processes;
    return out;
  }

 private:
  Library nvml_;
  NvmlDevice device_ = nullptr;
  bool open_ = false;
};

class AmdView : public GpuView {
 public:
  AmdView(std::string folder, const std::string& module) : folder_(std::move(folder)), driver_(first_line(module)) {}
  std::string driver() const override { return one_line(driver_, 40); }
  std::optional<GpuMemoryView> memory() const override {
    const auto total = number_in(folder_ + "/mem_info_vram_total");
    const auto used = number_in(folder_ + "/mem_info_vram_used");
    if (!total || !used) return std::nullopt;
    return GpuMemoryView{Bytes(*total), Bytes(*used), std::nullopt};
  }

 private:
  std::string folder_;
  std::string driver_;
};

}  // namespace

std::unique_ptr<GpuView> nvidia_view(const std::string& library, const std::string& pci) {
  auto out = std::make_unique<NvidiaView>(library, pci);
  if (!out->found()) return nullptr;
  return out;
}

std::unique_ptr<GpuView> amd_view(const std::string& devices, const std::string& pci) {
  // A bus id comes from a driver; it names a folder and nothing else.
  if (pci.empty() || pci.find('/') != std::string::npos) return nullptr;
  auto out = std::make_unique<AmdView>(devices + "/" + pci, "/sys/module/amdgpu/version");
  if (!out->memory()) return nullptr;
  return out;
}

}  // namespace kvplan
