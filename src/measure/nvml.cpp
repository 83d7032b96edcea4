#include "measure/nvml.h"

#include <algorithm>

#include "kvplan/error.h"
#include "measure/proc.h"

namespace kvplan {

namespace {

constexpr int kSuccess = 0;
constexpr int kInsufficientSize = 7;
constexpr unsigned int kMostCards = 64;
constexpr unsigned int kMostProcesses = 4096;
constexpr unsigned long long kNotAvailable = ~0ULL;  // under Windows' driver model

struct Memory {
  unsigned long long total, free, used;
};
struct Memory2 {
  unsigned int version;
  unsigned long long total, reserved, free, used;
};
constexpr unsigned int kMemory2Version = sizeof(Memory2) | (2u << 24);
struct ProcessInfo {
  unsigned int pid;
  unsigned long long used;
  unsigned int gpu_instance, compute_instance;
};

using RunningCall = int(Nvml::Device, unsigned int*, ProcessInfo*);

std::optional<std::vector<ProcessInfo>> running(RunningCall* ask, Nvml::Device device) {
  if (ask == nullptr) return std::nullopt;
  unsigned int count = 0;
  const int answer = ask(device, &count, nullptr);
  if (answer != kSuccess && answer != kInsufficientSize) return std::nullopt;
  // More may start between the two calls.
  count = std::min(count + 16, kMostProcesses);
  std::vector<ProcessInfo> out(count);
  if (ask(device, &count, out.data()) != kSuccess) return std::nullopt;
  out.resize(std::min<std::size_t>(count, out.size()));
  return out;
}

// Whether the library has the call and it succeeds.
template <class... Arguments>
bool call(const Library& library, const char* name, Arguments... arguments) {
  const auto function = library.find<int(Arguments...)>(name);
  return function != nullptr && function(arguments...) == kSuccess;
}

// A setting with a current and a pending value.
std::optional<bool> is_on(const Library& library, const char* name, Nvml::Device device) {
  unsigned int now = 0;
  unsigned int pending = 0;
  if (!call(library, name, device, &now, &pending)) return std::nullopt;
  return now == 1;
}

}  // namespace

Nvml::Nvml(const std::string& library) : library_(library), is_open_(call(library_, "nvmlInit_v2")) {}

Nvml::~Nvml() {
  if (is_open_) call(library_, "nvmlShutdown");
}

std::string Nvml::driver() const {
  char text[96] = {};
  const bool is_known = is_open_ && call(library_, "nvmlSystemGetDriverVersion", &text[0], unsigned{sizeof text - 1});
  return is_known ? one_line(text, 40) : "";
}

std::vector<Nvml::Device> Nvml::cards() const {
  std::vector<Device> out;
  unsigned int number = 0;
  if (!is_open_ || !call(library_, "nvmlDeviceGetCount_v2", &number)) return out;
  // A GPU that cannot be queried keeps its number, because programs number all GPUs.
  for (unsigned int i = 0; i < std::min(number, kMostCards); ++i) {
    Device device = nullptr;
    out.push_back(call(library_, "nvmlDeviceGetHandleByIndex_v2", i, &device) ? device : nullptr);
  }
  return out;
}

std::optional<bool> Nvml::is_cut(Device card) const {
  return is_on(library_, "nvmlDeviceGetMigMode", card);
}

std::optional<bool> Nvml::corrects_errors(Device card) const {
  return is_on(library_, "nvmlDeviceGetEccMode", card);
}

std::vector<Nvml::Device> Nvml::slices(Device card) const {
  std::vector<Device> out;
  unsigned int most = 0;
  if (!is_cut(card).value_or(false) || !call(library_, "nvmlDeviceGetMaxMigDeviceCount", card, &most)) return out;
  for (unsigned int i = 0; i < std::min(most, kMostCards); ++i)
    if (Device slice = nullptr; call(library_, "nvmlDeviceGetMigDeviceHandleByIndex", card, i, &slice))
      out.push_back(slice);
  return out;
}

Nvml::Device Nvml::of_pci(const std::string& address) const {
  Device out = nullptr;
  return is_open_ && call(library_, "nvmlDeviceGetHandleByPciBusId_v2", address.c_str(), &out) ? out : nullptr;
}

Nvml::Device Nvml::of_uuid(const std::string& uuid) const {
  Device out = nullptr;
  return is_open_ && call(library_, "nvmlDeviceGetHandleByUUID", uuid.c_str(), &out) ? out : nullptr;
}

std::string Nvml::name(Device device) const {
  char text[128] = {};
  return call(library_, "nvmlDeviceGetName", device, &text[0], unsigned{sizeof text - 1}) ? one_line(text, 80) : "";
}

std::string Nvml::uuid(Device device) const {
  char text[128] = {};
  return call(library_, "nvmlDeviceGetUUID", device, &text[0], unsigned{sizeof text - 1}) ? one_line(text, 100) : "";
}

std::optional<NvmlMemory> Nvml::memory(Device device) const {
  // The newer call separates the driver's memory from the programs' memory.
  Memory2 detailed{};
  detailed.version = kMemory2Version;
  if (call(library_, "nvmlDeviceGetMemoryInfo_v2", device, &detailed))
    return NvmlMemory{Bytes(detailed.total), Bytes(detailed.used), Bytes(detailed.reserved)};
  Memory plain{};
  if (call(library_, "nvmlDeviceGetMemoryInfo", device, &plain))
    return NvmlMemory{Bytes(plain.total), Bytes(plain.used), std::nullopt};
  return std::nullopt;
}

std::optional<std::vector<NvmlProcess>> Nvml::processes(Device device, bool graphics) const {
  std::optional<std::vector<NvmlProcess>> out;
  const auto add = [&](const char* call) {
    const auto found = running(library_.find<RunningCall>(call), device);
    if (!found) return;
    if (!out) out.emplace();
    for (const ProcessInfo& each : *found) {
      const auto pid = static_cast<pid_t>(each.pid);
      const bool known = std::any_of(out->begin(), out->end(), [&](const NvmlProcess& one) { return one.pid == pid; });
      if (!known) out->push_back({pid, Bytes(each.used == kNotAvailable ? 0 : each.used)});
    }
  };
  add("nvmlDeviceGetComputeRunningProcesses_v3");
  if (graphics) add("nvmlDeviceGetGraphicsRunningProcesses_v3");
  return out;
}

namespace {

class NvidiaView : public GpuView {
 public:
  NvidiaView(const std::string& library, const std::string& uuid, const std::string& pci) : nvml_(library) {
    // A slice has its GPU's PCI address. For that address, the library reports all slices or refuses.
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
