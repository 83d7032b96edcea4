#include "measure/gpu_api.h"

#include "kvplan/strings.h"

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
  check(init(0), is_cuda() ? "cuInit" : "hipInit");
}

GpuApi::Found GpuApi::find(std::string_view cuda, std::string_view hip, bool needed) const {
  if (!library_) throw DeviceError(library_.error(), false);
  const std::string_view names = is_cuda() ? cuda : hip;
  Found out{nullptr};
  for (const std::string_view name : split(names))
    if (out.function == nullptr) out.function = library_.find<void()>(std::string(name).c_str());
  if (needed && !names.empty() && out.function == nullptr)
    throw DeviceError(path_ + " has no " + std::string(names), false);
  return out;
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
