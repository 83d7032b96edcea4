#include "measure/device.h"

#include <charconv>

#include "kvplan/error.h"

namespace kvplan {

[[noreturn]] static void bad_name(const std::string& name) {
  usage_error("--device: \"" + one_line(name, 40) + "\" is not a device", "use cuda:0, hip:0 or host");
}

// The number after "cuda:" or "hip:"; 0 if there is none.
static unsigned index_of(const std::string& name, std::size_t prefix) {
  if (name.size() == prefix) return 0;
  unsigned out = 0;
  const char* first = name.data() + prefix + 1;
  const char* last = name.data() + name.size();
  const auto [end, error] = std::from_chars(first, last, out);
  if (name[prefix] != ':' || first == last || end != last || error != std::errc() || out > 1023) bad_name(name);
  return out;
}

[[noreturn]] static void no_device(const std::string& what, const std::string& remedy) {
  fail_in("--measure", Exit::kNoDevice, what, remedy);
}

static std::unique_ptr<Device> open_named(GpuInterface kind, unsigned index, const std::string& name, bool shares) {
  try {
    return open_gpu(kind, index, shares);
  } catch (const DeviceError& error) {
    no_device(name + " cannot be used (" + one_line(error.what(), 240) + ")",
              "name another --device, or use --device host to measure in main memory");
  }
}

static std::unique_ptr<Device> open_any(const std::string& name, bool shares) {
  if (name == "host") return open_host();
  if (name.starts_with("cuda")) return open_named(GpuInterface::kCuda, index_of(name, 4), name, shares);
  if (name.starts_with("hip")) return open_named(GpuInterface::kHip, index_of(name, 3), name, shares);
  if (!name.empty()) bad_name(name);
  std::string tried;
  for (const GpuInterface kind : {GpuInterface::kCuda, GpuInterface::kHip}) {
    try {
      return open_gpu(kind, 0, shares);
    } catch (const DeviceError& error) {
      tried += (tried.empty() ? "" : ", ") + one_line(error.what(), 160);
    }
  }
  no_device("no GPU to measure on (" + tried + ")", "use --device host to measure in main memory");
}

std::unique_ptr<Device> open_device(const std::string& name, bool shares) {
  try {
    return open_any(name, shares);
  } catch (const SharedDevice& error) {
    no_device((name.empty() ? "the GPU" : name) + " is in use: " + one_line(error.what(), 160) +
                  ", and measuring takes memory from them",
              "use --share to measure anyway, or name another --device");
  }
}

}  // namespace kvplan
