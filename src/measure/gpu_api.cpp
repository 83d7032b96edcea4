#include "measure/gpu_api.h"

namespace kvplan {

constexpr int kDriverOutOfMemory = 2;  // CUDA_ERROR_OUT_OF_MEMORY, hipErrorOutOfMemory

// AMD's runtime packages install the library only under a name with its release.
static std::string path_of(GpuInterface kind) {
  if (kind == GpuInterface::kCuda) return environment_or("KVPLAN_LIBCUDA", "libcuda.so.1");
  const std::string named = environment_or("KVPLAN_LIBHIP", "");
  if (!named.empty()) return named;
  for (const char* name :
       {"libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "/opt/rocm/lib/libamdhip64.so"})
    if (Library(name, true)) return name;
  return "libamdhip64.so";
}

GpuApi::GpuApi(GpuInterface kind) : kind_(kind), path_(path_of(kind)), library_(path_, true) {
  if (!library_) throw DeviceError(library_.error(), false);
  const auto find = [&]<class Function>(Function*& entry, const char* cuda, const char* hip, bool needed = true) {
    const char* name = is_cuda() ? cuda : hip;
    entry = name == nullptr ? nullptr : library_.find<Function>(name);
    if (needed && name != nullptr && entry == nullptr) throw DeviceError(path_ + " has no " + name, false);
  };
  int (*init)(unsigned) = nullptr;
  find(init, "cuInit", "hipInit");
  find(device_count, "cuDeviceGetCount", "hipGetDeviceCount");
  find(device_get, "cuDeviceGet", "hipDeviceGet");
  find(device_name, "cuDeviceGetName", "hipDeviceGetName");
  find(device_bus, "cuDeviceGetPCIBusId", "hipDeviceGetPCIBusId", false);
  find(driver_version, "cuDriverGetVersion", "hipDriverGetVersion", false);
  find(context_retain, "cuDevicePrimaryCtxRetain", nullptr);
  find(context_current, "cuCtxSetCurrent", nullptr);
  find(context_release, "cuDevicePrimaryCtxRelease_v2", nullptr, false);
  if (is_cuda() && context_release == nullptr) find(context_release, "cuDevicePrimaryCtxRelease", nullptr);
  find(set_device, nullptr, "hipSetDevice");
  find(memory_info, "cuMemGetInfo_v2", "hipMemGetInfo");
  find(allocate, "cuMemAlloc_v2", "hipMalloc");
  find(release, "cuMemFree_v2", "hipFree");
  find(fill, "cuMemsetD8_v2", "hipMemsetD8");
  find(write, "cuMemcpyHtoD_v2", "hipMemcpyHtoD");
  find(read, "cuMemcpyDtoH_v2", "hipMemcpyDtoH");
  find(copy, "cuMemcpyDtoD_v2", "hipMemcpyDtoD");
  find(synchronize, "cuCtxSynchronize", "hipDeviceSynchronize");
  find(event_create, "cuEventCreate", "hipEventCreateWithFlags");
  find(event_record, "cuEventRecord", "hipEventRecord");
  find(event_wait, "cuEventSynchronize", "hipEventSynchronize");
  find(event_elapsed, "cuEventElapsedTime", "hipEventElapsedTime");
  find(event_destroy, "cuEventDestroy_v2", "hipEventDestroy");
  find(granularity, "cuMemGetAllocationGranularity", "hipMemGetAllocationGranularity", false);
  find(device_attribute, "cuDeviceGetAttribute", nullptr, false);
  find(device_uuid, "cuDeviceGetUuid_v2", nullptr, false);
  if (is_cuda() && device_uuid == nullptr) find(device_uuid, "cuDeviceGetUuid", nullptr, false);
  find(module_load, "cuModuleLoadData", nullptr, false);
  find(module_unload, "cuModuleUnload", nullptr, false);
  find(module_function, "cuModuleGetFunction", nullptr, false);
  find(launch, "cuLaunchKernel", nullptr, false);
  check(init(0), is_cuda() ? "cuInit" : "hipInit");
}

void GpuApi::check(int code, const char* call) const {
  if (code == 0) return;
  std::string name;
  if (is_cuda()) {
    const auto error_name = library_.find<int(int, const char**)>("cuGetErrorName");
    const char* text = nullptr;
    if (error_name != nullptr && error_name(code, &text) == 0 && text != nullptr) name = text;
  } else {
    const auto error_name = library_.find<const char*(int)>("hipGetErrorName");
    const char* text = error_name == nullptr ? nullptr : error_name(code);
    if (text != nullptr) name = text;
  }
  throw DeviceError(std::string(call) + ": error " + std::to_string(code) + (name.empty() ? "" : " (" + name + ")"),
                    code == kDriverOutOfMemory);
}

}  // namespace kvplan
