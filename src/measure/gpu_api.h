// CUDA's driver interface and HIP's, opened at run time. Both have the same calls under different names, so one table
// of entry points serves both.
#pragma once

#include <cstddef>
#include <string>

#include "base/library.h"
#include "measure/device.h"

namespace kvplan {

// Device addresses and handles are 64 bit numbers or pointers on both sides.
using GpuAddress = unsigned long long;
using GpuHandle = void*;

// The driver's description of physical memory, to ask for its granularity (CUmemAllocationProp, hipMemAllocationProp).
struct GpuAllocationProperties {
  int type = 1;  // pinned: on a device
  int requested_handle_types = 0;
  int location_type = 1;  // a device
  int location_id = 0;
  void* win32_data = nullptr;
  unsigned char flags[32] = {};  // 8 bytes in the headers; the rest is not read
};

class GpuApi {
 public:
  // Opens the library and initializes it. Throws DeviceError with the reason.
  explicit GpuApi(GpuInterface kind);

  bool is_cuda() const { return kind_ == GpuInterface::kCuda; }
  // Throws DeviceError with the call's name unless `code` is success.
  void check(int code, const char* call) const;

  int (*device_count)(int*) = nullptr;
  int (*device_get)(int*, int) = nullptr;
  int (*device_name)(char*, int, int) = nullptr;
  int (*device_bus)(char*, int, int) = nullptr;
  int (*driver_version)(int*) = nullptr;
  int (*context_retain)(GpuHandle*, int) = nullptr;  // CUDA
  int (*context_current)(GpuHandle) = nullptr;       // CUDA
  int (*context_release)(int) = nullptr;             // CUDA
  int (*set_device)(int) = nullptr;                  // HIP
  int (*memory_info)(std::size_t*, std::size_t*) = nullptr;
  int (*allocate)(GpuAddress*, std::size_t) = nullptr;
  int (*release)(GpuAddress) = nullptr;
  int (*fill)(GpuAddress, unsigned char, std::size_t) = nullptr;
  int (*write)(GpuAddress, const void*, std::size_t) = nullptr;
  int (*read)(void*, GpuAddress, std::size_t) = nullptr;
  int (*copy)(GpuAddress, GpuAddress, std::size_t) = nullptr;
  int (*synchronize)() = nullptr;
  int (*event_create)(GpuHandle*, unsigned) = nullptr;
  int (*event_record)(GpuHandle, GpuHandle) = nullptr;
  int (*event_wait)(GpuHandle) = nullptr;
  int (*event_elapsed)(float*, GpuHandle, GpuHandle) = nullptr;
  int (*event_destroy)(GpuHandle) = nullptr;
  // Calls that may be absent.
  int (*granularity)(std::size_t*, const GpuAllocationProperties*, int) = nullptr;
  int (*device_attribute)(int*, int, int) = nullptr;  // only CUDA's: HIP renumbers them in each release
  int (*device_uuid)(unsigned char*, int) = nullptr;  // CUDA
  int (*module_load)(GpuHandle*, const void*) = nullptr;
  int (*module_unload)(GpuHandle) = nullptr;
  int (*module_function)(GpuHandle*, GpuHandle, const char*) = nullptr;
  int (*launch)(GpuHandle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, GpuHandle, void**,
                void**) = nullptr;

 private:
  GpuInterface kind_;
  std::string path_;
  Library library_;
};

}  // namespace kvplan
