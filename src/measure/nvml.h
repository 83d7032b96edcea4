// The part of NVIDIA's management library that kvplan uses, as its C interface declares it. Its layout has not changed
// since 2012. Newer calls are used if they exist.
#pragma once

#include <sys/types.h>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/library.h"
#include "kvplan/quantity.h"

namespace kvplan {

struct NvmlMemory {
  Bytes total;
  Bytes used;                     // used by programs; in older drivers including the driver's own
  std::optional<Bytes> reserved;  // used by the driver; absent in older drivers
};

struct NvmlProcess {
  pid_t pid = 0;  // the PID outside of the container
  Bytes used;     // 0 if unknown (Windows' driver model)
};

class Nvml {
 public:
  using Device = void*;

  explicit Nvml(const std::string& library);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  bool is_open() const { return is_open_; }
  std::string driver() const;  // "" if unknown
  std::vector<Device> cards() const;
  std::vector<Device> slices(Device card) const;  // of a partitioned GPU (MIG); empty for others
  Device of_pci(const std::string& address) const;
  Device of_uuid(const std::string& uuid) const;  // "GPU-..." or "MIG-..."; null if there is none

  std::string name(Device device) const;
  std::string uuid(Device device) const;
  std::optional<bool> is_cut(Device card) const;
  std::optional<bool> corrects_errors(Device card) const;  // ECC
  std::optional<NvmlMemory> memory(Device device) const;
  // Processes that compute on it, and with `graphics` also those that draw. Nothing if unknown.
  std::optional<std::vector<NvmlProcess>> processes(Device device, bool graphics = false) const;

 private:
  Library library_;
  bool is_open_ = false;
};

// A GPU's memory as seen from outside the programs on it, by NVIDIA's management library or AMD's sysfs. It shows how
// much memory opening the GPU takes, and how much others use.

struct GpuMemoryView {
  Bytes total;
  Bytes used;  // by programs
  std::optional<std::uint64_t> processes;
  std::optional<std::uint64_t> computing;  // those that compute
  std::optional<Bytes> reserved;           // kept by the driver for itself
  std::vector<std::pair<std::int64_t, Bytes>>
      by_process;  // each under the PID outside of the container; 0 bytes: not known
};

class GpuView {
 public:
  GpuView() = default;
  GpuView(const GpuView&) = delete;
  GpuView& operator=(const GpuView&) = delete;
  virtual ~GpuView() = default;
  virtual std::string driver() const = 0;  // "" if unknown
  virtual std::optional<GpuMemoryView> memory() const = 0;
  virtual std::string uuid() const { return ""; }
  virtual std::optional<bool> corrects_errors() const { return std::nullopt; }  // ECC
};

// Finds a GPU or slice by its UUID, which the driver gives without a prefix. If that is "" or unknown, finds the GPU by
// its PCI address ("0000:17:00.0"). Null if there is none.
std::unique_ptr<GpuView> nvidia_view(const std::string& library, const std::string& uuid, const std::string& pci);
// `devices`: /sys/bus/pci/devices.
std::unique_ptr<GpuView> amd_view(const std::string& devices, const std::string& pci);

}  // namespace kvplan
