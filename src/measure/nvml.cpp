#include "measure/nvml.h"

#include <algorithm>

#include "kvplan/error.h"

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
  // Some may start between the two calls.
  count = std::min(count + 16, kMostProcesses);
  std::vector<ProcessInfo> out(count);
  if (ask(device, &count, out.data()) != kSuccess) return std::nullopt;
  out.resize(std::min<std::size_t>(count, out.size()));
  return out;
}

}  // namespace

Nvml::Nvml(const std::string& library) : library_(library) {
  const auto init = library_.find<int()>("nvmlInit_v2");
  is_open_ = init != nullptr && init() == kSuccess;
}

Nvml::~Nvml() {
  const auto shutdown = library_.find<int()>("nvmlShutdown");
  if (is_open_ && shutdown != nullptr) shutdown();
}

std::string Nvml::driver() const {
  const auto version = library_.find<int(char*, unsigned int)>("nvmlSystemGetDriverVersion");
  char text[96] = {};
  if (!is_open_ || version == nullptr || version(text, sizeof text - 1) != kSuccess) return "";
  return one_line(text, 40);
}

std::vector<Nvml::Device> Nvml::cards() const {
  std::vector<Device> out;
  const auto count = library_.find<int(unsigned int*)>("nvmlDeviceGetCount_v2");
  const auto handle = library_.find<int(unsigned int, Device*)>("nvmlDeviceGetHandleByIndex_v2");
  unsigned int number = 0;
  if (!is_open_ || count == nullptr || handle == nullptr || count(&number) != kSuccess) return out;
  // A card that cannot be queried keeps its place: programs number the cards.
  for (unsigned int i = 0; i < std::min(number, kMostCards); ++i) {
    Device device = nullptr;
    if (handle(i, &device) != kSuccess) device = nullptr;
    out.push_back(device);
  }
  return out;
}

std::optional<bool> Nvml::is_cut(Device card) const {
  const auto mode = library_.find<int(Device, unsigned int*, unsigned int*)>("nvmlDeviceGetMigMode");
  unsigned int now = 0;
  unsigned int pending = 0;
  if (mode == nullptr || mode(card, &now, &pending) != kSuccess) return std::nullopt;
  return now == 1;
}

std::vector<Nvml::Device> Nvml::slices(Device card) const {
  std::vector<Device> out;
  const auto count = library_.find<int(Device, unsigned int*)>("nvmlDeviceGetMaxMigDeviceCount");
  const auto handle = library_.find<int(Device, unsigned int, Device*)>("nvmlDeviceGetMigDeviceHandleByIndex");
  unsigned int most = 0;
  if (!is_cut(card).value_or(false) || count == nullptr || handle == nullptr || count(card, &most) != kSuccess)
    return out;
  for (unsigned int i = 0; i < std::min(most, kMostCards); ++i)
    if (Device slice = nullptr; handle(card, i, &slice) == kSuccess) out.push_back(slice);
  return out;
}

Nvml::Device Nvml::of_pci(const std::string& address) const {
  const auto handle = library_.find<int(const char*, Device*)>("nvmlDeviceGetHandleByPciBusId_v2");
  Device out = nullptr;
  return is_open_ && handle != nullptr && handle(address.c_str(), &out) == kSuccess ? out : nullptr;
}

Nvml::Device Nvml::of_uuid(const std::string& uuid) const {
  const auto handle = library_.find<int(const char*, Device*)>("nvmlDeviceGetHandleByUUID");
  Device out = nullptr;
  return is_open_ && handle != nullptr && handle(uuid.c_str(), &out) == kSuccess ? out : nullptr;
}

std::string Nvml::name(Device device) const {
  const auto name = library_.find<int(Device, char*, unsigned int)>("nvmlDeviceGetName");
  char text[128] = {};
  return name != nullptr && name(device, text, sizeof text - 1) == kSuccess ? one_line(text, 80) : "";
}

std::string Nvml::uuid(Device device) const {
  const auto uuid = library_.find<int(Device, char*, unsigned int)>("nvmlDeviceGetUUID");
  char text[128] = {};
  return uuid != nullptr && uuid(device, text, sizeof text - 1) == kSuccess ? one_line(text, 100) : "";
}

std::optional<bool> Nvml::corrects_errors(Device card) const {
  const auto mode = library_.find<int(Device, unsigned int*, unsigned int*)>("nvmlDeviceGetEccMode");
  unsigned int now = 0;
  unsigned int pending = 0;
  if (mode == nullptr || mode(card, &now, &pending) != kSuccess) return std::nullopt;
  return now == 1;
}

std::optional<NvmlMemory> Nvml::memory(Device device) const {
  // The newer call separates the driver's memory from that of programs.
  const auto newer = library_.find<int(Device, Memory2*)>("nvmlDeviceGetMemoryInfo_v2");
  const auto older = library_.find<int(Device, Memory*)>("nvmlDeviceGetMemoryInfo");
  Memory2 detailed{};
  detailed.version = kMemory2Version;
  if (newer != nullptr && newer(device, &detailed) == kSuccess)
    return NvmlMemory{Bytes(detailed.total), Bytes(detailed.used), Bytes(detailed.reserved)};
  Memory plain{};
  if (older != nullptr && older(device, &plain) == kSuccess)
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

}  // namespace kvplan
