// NVIDIA's management library, the part of its C interface that is used here. Its layout is stable since 2012; newer
// calls are asked for and done without.
#ifndef KVPLAN_MEASURE_NVML_H_
#define KVPLAN_MEASURE_NVML_H_

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
  Bytes used;                     // by programs; of older drivers with what the driver keeps
  std::optional<Bytes> reserved;  // that the driver keeps; absent of older ones
};

struct NvmlProcess {
  pid_t pid = 0;  // as the host numbers it
  Bytes used;     // 0 where it is not told (Windows' driver model)
};

class Nvml {
 public:
  using Device = void*;

  explicit Nvml(const std::string& library);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  bool is_open() const { return is_open_; }
  std::string driver() const;  // its version; "" where nobody says
  std::vector<Device> cards() const;
  std::vector<Device> slices(Device card) const;  // of a card that is cut (MIG); empty of one that is not
  Device of_pci(const std::string& address) const;
  Device of_uuid(const std::string& uuid) const;  // "GPU-..." or "MIG-..."; null where there is none

  std::string name(Device device) const;
  std::string uuid(Device device) const;
  std::optional<bool> is_cut(Device card) const;
  std::optional<bool> corrects_errors(Device card) const;  // ECC
  std::optional<NvmlMemory> memory(Device device) const;
  // That compute on it, and where `graphics` is set those that draw; nothing where it is not told.
  std::optional<std::vector<NvmlProcess>> processes(Device device, bool graphics = false) const;

 private:
  Library library_;
  bool is_open_ = false;
};

}  // namespace kvplan

#endif  // KVPLAN_MEASURE_NVML_H_
