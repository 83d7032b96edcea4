// A GPU's memory as seen from outside of the programs on it: by NVIDIA's management library or AMD's sysfs. It shows
// what opening the card takes, and that others use some of it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kvplan/quantity.h"

namespace kvplan {

struct GpuMemoryView {
  Bytes total;
  Bytes used;  // by programs
  std::optional<std::uint64_t> processes;
  std::optional<std::uint64_t> computing;                  // those of them that compute
  std::optional<Bytes> reserved;                           // kept by the driver for itself
  std::vector<std::pair<std::int64_t, Bytes>> by_process;  // each under the host's number; 0 bytes: not known
};

class GpuView {
 public:
  GpuView() = default;
  GpuView(const GpuView&) = delete;
  GpuView& operator=(const GpuView&) = delete;
  virtual ~GpuView() = default;
  virtual std::string driver() const = 0;  // "" where unknown
  virtual std::optional<GpuMemoryView> memory() const = 0;
  virtual std::string uuid() const { return ""; }
  virtual std::optional<bool> corrects_errors() const { return std::nullopt; }  // ECC
};

// The card or slice with a UUID, which the driver gives without a prefix; where that is "" or unknown, the card at a
// PCI address ("0000:17:00.0"). Null where there is no such view.
std::unique_ptr<GpuView> nvidia_view(const std::string& library, const std::string& uuid, const std::string& pci);
// `devices`: /sys/bus/pci/devices.
std::unique_ptr<GpuView> amd_view(const std::string& devices, const std::string& pci);

}  // namespace kvplan
