// The part of NVIDIA's management library that is used here, as its C interface declares it. Its layout is stable since
// 2012; newer calls are used where they exist.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/library.h"
#include "kvplan/quantity.h"

namespace kvplan {

struct NvmlMemory {
  Bytes total;
  Bytes used;                     // by programs; in older drivers including the driver's own
  std::optional<Bytes> reserved;  // by the driver; absent in older ones
};

struct NvmlProcess {
  pid_t pid = 0;  // the host's number
  Bytes used;     // 0 where unknown (Windows' driver model)
};

class Nvml {
 public:
  using Device = void*;

  explicit Nvml(const std::string& library);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  bool is_open() const { return is_open_; }
  std::string driver() const;  // "" where unknown
  std::vector<Device> cards() const;
  std::vector<Device> slices(Device card) const;  // of a partitioned card (MIG); empty for others
  Device of_pci(const std::string& address) const;
  Device of_uuid(const std::string& uuid) const;  // "GPU-..." or "MIG-..."; null where there is none

  std::string name(Device device) const;
  std::string uuid(Device device) const;
  std::optional<bool> is_cut(Device card) const;
  std::optional<bool> corrects_errors(Device card) const;  // ECC
  std::optional<NvmlMemory> memory(Device device) const;
  // Processes that compute on it, and with `graphics` also those that draw; nothing where unknown.
  std::optional<std::vector<NvmlProcess>> processes(Device device, bool graphics = false) const;

 private:
  Library library_;
  bool is_open_ = false;
};

}  // namespace kvplan
