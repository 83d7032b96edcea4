// CUDA's driver interface and HIP's, opened at run time. Both have the same calls under different names, so one table
// of entry points serves both.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

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
 private:
  // A function of the library, whatever its type.
  struct Found {
    void (*function)();
    template <class Function>
    operator Function*() const {  // NOLINT: the member that it initializes has the type
      return reinterpret_cast<Function*>(function);
    }
  };
  // By the first of its names in the API in use; null if that API has no such function. Throws DeviceError if the
  // library lacks one that is needed.
  Found find(std::string_view cuda, std::string_view hip, bool needed = true) const;

  GpuInterface kind_;
  std::string path_;
  Library library_;

 public:
  // Opens the library and initializes it. Throws DeviceError with the reason.
  explicit GpuApi(GpuInterface kind);

  bool is_cuda() const { return kind_ == GpuInterface::kCuda; }
  // Throws DeviceError with the call's name unless `code` is success.
  void check(int code, const char* call) const;

  int (*init)(unsigned) = find("cuInit", "hipInit");
  int (*device_count)(int*) = find("cuDeviceGetCount", "hipGetDeviceCount");
  int (*device_get)(int*, int) = find("cuDeviceGet", "hipDeviceGet");
  int (*device_name)(char*, int, int) = find("cuDeviceGetName", "hipDeviceGetName");
  int (*device_bus)(char*, int, int) = find("cuDeviceGetPCIBusId", "hipDeviceGetPCIBusId", false);
  int (*driver_version)(int*) = find("cuDriverGetVersion", "hipDriverGetVersion", false);
  int (*context_retain)(GpuHandle*, int) = find("cuDevicePrimaryCtxRetain", "");                            // CUDA
  int (*context_current)(GpuHandle) = find("cuCtxSetCurrent", "");                                          // CUDA
  int (*context_release)(int) = find("cuDevicePrimaryCtxRelease_v2 cuDevicePrimaryCtxRelease", "", false);  // CUDA
  int (*set_device)(int) = find("", "hipSetDevice");                                                        // HIP
  int (*memory_info)(std::size_t*, std::size_t*) = find("cuMemGetInfo_v2", "hipMemGetInfo");
  int (*allocate)(GpuAddress*, std::size_t) = find("cuMemAlloc_v2", "hipMalloc");
  int (*release)(GpuAddress) = find("cuMemFree_v2", "hipFree");
  int (*fill)(GpuAddress, unsigned char, std::size_t) = find("cuMemsetD8_v2", "hipMemsetD8");
  int (*write)(GpuAddress, const void*, std::size_t) = find("cuMemcpyHtoD_v2", "hipMemcpyHtoD");
  int (*read)(void*, GpuAddress, std::size_t) = find("cuMemcpyDtoH_v2", "hipMemcpyDtoH");
  int (*copy)(GpuAddress, GpuAddress, std::size_t) = find("cuMemcpyDtoD_v2", "hipMemcpyDtoD");
  int (*synchronize)() = find("cuCtxSynchronize", "hipDeviceSynchronize");
  int (*event_create)(GpuHandle*, unsigned) = find("cuEventCreate", "hipEventCreateWithFlags");
  int (*event_record)(GpuHandle, GpuHandle) = find("cuEventRecord", "hipEventRecord");
  int (*event_wait)(GpuHandle) = find("cuEventSynchronize", "hipEventSynchronize");
  int (*event_elapsed)(float*, GpuHandle, GpuHandle) = find("cuEventElapsedTime", "hipEventElapsedTime");
  int (*event_destroy)(GpuHandle) = find("cuEventDestroy_v2", "hipEventDestroy");
  int (*granularity)(std::size_t*, const GpuAllocationProperties*, int) = find("cuMemGetAllocationGranularity",
                                                                               "hipMemGetAllocationGranularity", false);
  // Only CUDA's: HIP renumbers them in each release.
  int (*device_attribute)(int*, int, int) = find("cuDeviceGetAttribute", "", false);
  int (*device_uuid)(unsigned char*, int) = find("cuDeviceGetUuid_v2 cuDeviceGetUuid", "", false);  // CUDA
  int (*module_load)(GpuHandle*, const void*) = find("cuModuleLoadData", "", false);
  int (*module_unload)(GpuHandle) = find("cuModuleUnload", "", false);
  int (*module_function)(GpuHandle*, GpuHandle, const char*) = find("cuModuleGetFunction", "", false);
  int (*launch)(GpuHandle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, GpuHandle, void**,
                void**) = find("cuLaunchKernel", "", false);
};

}  // namespace kvplan
