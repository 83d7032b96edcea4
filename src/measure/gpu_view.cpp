#include "measure/gpu_view.h"

#include "kvplan/error.h"
#include "measure/nvml.h"
#include "measure/value_file.h"

namespace kvplan {

namespace {

class NvidiaView : public GpuView {
 public:
  NvidiaView(const std::string& library, const std::string& uuid, const std::string& pci) : nvml_(library) {
    // A slice has its card's address: asked by that, the library reports all slices, or refuses.
    for (const char* kind : {"GPU-", "MIG-"})
      if (device_ == nullptr && !uuid.empty()) device_ = nvml_.of_uuid(kind + uuid);
    if (device_ == nullptr) device_ = nvml_.of_pci(pci);
  }
  bool found() const { return device_ != nullptr; }
  std::string driver() const override { return nvml_.driver(); }
  std::string uuid() const override { return nvml_.uuid(device_); }
  std::optional<bool> corrects_errors() const override { return nvml_.corrects_errors(device_); }

  std::optional<GpuMemoryView> memory() const override {
    const std::optional<NvmlMemory> memory = nvml_.memory(device_);
    if (!memory) return std::nullopt;
    GpuMemoryView out{memory->total, memory->used, std::nullopt, std::nullopt, std::nullopt, {}};
    out.reserved = memory->reserved;
    if (const auto computing = nvml_.processes(device_)) out.computing = computing->size();
    if (const auto running = nvml_.processes(device_, true)) {
      out.processes = running->size();
      for (const NvmlProcess& each : *running) out.by_process.push_back({each.pid, each.used});
    }
    return out;
  }

 private:
  Nvml nvml_;
  Nvml::Device device_ = nullptr;
};

class AmdView : public GpuView {
 public:
  AmdView(std::string folder, const std::string& module) : folder_(std::move(folder)), driver_(first_line(module)) {}
  std::string driver() const override { return one_line(driver_, 40); }
  std::optional<GpuMemoryView> memory() const override {
    const auto total = number_in(folder_ + "/mem_info_vram_total");
    const auto used = number_in(folder_ + "/mem_info_vram_used");
    if (!total || !used) return std::nullopt;
    return GpuMemoryView{Bytes(*total), Bytes(*used), std::nullopt, std::nullopt, std::nullopt, {}};
  }

 private:
  std::string folder_;
  std::string driver_;
};

}  // namespace

std::unique_ptr<GpuView> nvidia_view(const std::string& library, const std::string& uuid, const std::string& pci) {
  auto out = std::make_unique<NvidiaView>(library, uuid, pci);
  if (!out->found()) return nullptr;
  return out;
}

std::unique_ptr<GpuView> amd_view(const std::string& devices, const std::string& pci) {
  // A bus id comes from a driver; it must be the name of a folder and nothing else.
  if (pci.empty() || pci.find('/') != std::string::npos) return nullptr;
  auto out = std::make_unique<AmdView>(devices + "/" + pci, "/sys/module/amdgpu/version");
  if (!out->memory()) return nullptr;
  return out;
}

}  // namespace kvplan
