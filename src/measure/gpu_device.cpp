// A GPU: its own context, its own buffers, and nothing of anybody else's.
#include <algorithm>
#include <map>

#include "kvplan/error.h"
#include "kvplan/strings.h"
#include "measure/gpu_api.h"
#include "measure/gpu_view.h"

namespace kvplan {

namespace {

constexpr std::uint64_t kUsualGranularity = 2 * kMiB;

class GpuDevice : public Device {
 public:
  GpuDevice(GpuInterface kind, unsigned index) : api_(kind) {
    int count = 0;
    api_.check(api_.device_count(&count), "the count of devices");
    if (count <= 0) throw DeviceError("the driver sees no device", false);
    if (index >= static_cast<unsigned>(count))
      throw DeviceError("the driver sees " + std::to_string(count) + " device" + (count == 1 ? "" : "s"), false);
    api_.check(api_.device_get(&device_, static_cast<int>(index)), "the device's handle");
    char text[256] = {};
    api_.check(api_.device_name(text, sizeof text - 1, device_), "the device's name");
    facts_.id = (api_.is_cuda() ? "cuda:" : "hip:") + std::to_string(index);
    facts_.name = one_line(text, 80);
    facts_.granularity = Bytes(granularity());
    find_view();

    const auto before = view_ ? view_->memory() : std::nullopt;
    open();
    warm_up();
    const auto after = view_ ? view_->memory() : std::nullopt;
    std::size_t free = 0;
    std::size_t total = 0;
    try {
      api_.check(api_.memory_info(&free, &total), "the device's memory");
    } catch (const DeviceError&) {
      close();
      throw;
    }
    facts_.usable = Bytes(total);
    facts_.driver = view_ ? view_->driver() : "";
    if (facts_.driver.empty()) facts_.driver = version();
    if (before && after) {
      facts_.nominal = after->total;
      if (after->used >= before->used) facts_.context = after->used - before->used;
      others_ = before->used;
      other_processes_ = before->processes;
    } else {
      // Without a view from outside nobody can tell this context from other programs.
      others_ = Bytes(0);
    }
  }

  ~GpuDevice() override {
    while (!buffers_.empty()) free(buffers_.begin()->first);
    close();
  }

  const DeviceFacts& facts() const override { return facts_; }

  DeviceMemory memory() override {
    std::size_t free = 0;
    std::size_t total = 0;
    api_.check(api_.memory_info(&free, &total), "the device's memory");
    DeviceMemory out;
    out.free = Bytes(free);
    out.used = Bytes(total > free ? total - free : 0);
    out.others = others_;
    out.other_processes = other_processes_;
    return out;
  }

  BufferId allocate(std::uint64_t bytes) override {
    GpuAddress address = 0;
    api_.check(api_.allocate(&address, bytes), api_.is_cuda() ? "cuMemAlloc" : "hipMalloc");
    buffers_[next_] = {address, bytes};
    return next_++;
  }
  void fill(BufferId buffer, std::uint64_t offset, std::uint64_t bytes, unsigned char value) override {
    api_.check(api_.fill(buffers_.at(buffer).address + offset, value, bytes), "memset");
    api_.check(api_.synchronize(), "memset");
  }
  void write(BufferId buffer, std::uint64_t offset, std::span<const std::byte> from) override {
    api_.check(api_.write(buffers_.at(buffer).address + offset, from.data(), from.size()), "copy to the device");
  }
  void read(BufferId buffer, std::uint64_t offset, std::span<std::byte> to) override {
    api_.check(api_.read(to.data(), buffers_.at(buffer).address + offset, to.size()), "copy from the device");
  }
  void free(BufferId buffer) noexcept override {
    const auto found = buffers_.find(buffer);
    if (found == buffers_.end()) return;
    api_.release(found->second.address);  // a refusal leaves it to the end of the context
    buffers_.erase(found);
  }

  double stream(std::span<const BufferId> buffers) override {
    const Event start(api_);
    const Event stop(api_);
    api_.check(api_.synchronize(), "synchronize");
    api_.check(api_.event_record(start.handle(), nullptr), "event");
    for (const BufferId each : buffers) {
      const Buffer& buffer = buffers_.at(each);
      const std::uint64_t half = buffer.bytes / 2;
      if (half > 0) api_.check(api_.copy(buffer.address + half, buffer.address, half), "copy on the device");
    }
    api_.check(api_.event_record(stop.handle(), nullptr), "event");
    api_.check(api_.event_wait(stop.handle()), "event");
    float milliseconds = 0;
    api_.check(api_.event_elapsed(&milliseconds, start.handle(), stop.handle()), "event");
    return static_cast<double>(milliseconds) / 1000;
  }

 private:
  struct Buffer {
    GpuAddress address = 0;
    std::uint64_t bytes = 0;
  };

  class Event {
   public:
    explicit Event(const GpuApi& api) : api_(api) { api_.check(api_.event_create(&handle_, 0), "event"); }
    ~Event() { api_.event_destroy(handle_); }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    GpuHandle handle() const { return handle_; }

   private:
    const GpuApi& api_;
    GpuHandle handle_ = nullptr;
  };

  void find_view() {
    char text[64] = {};
    if (api_.device_bus == nullptr || api_.device_bus(text, sizeof text - 1, device_) != 0) return;
    const std::string pci = text;
    if (api_.is_cuda()) {
      view_ = nvidia_view(environment_or("KVPLAN_NVML", "libnvidia-ml.so.1"), pci);
    } else {
      view_ = amd_view("/sys/bus/pci/devices", lower(pci));
    }
  }

  // The primary context, which frameworks use too: what it costs is what they pay.
  void open() {
    if (!api_.is_cuda()) {
      api_.check(api_.set_device(device_), "hipSetDevice");
      api_.check(api_.synchronize(), "hipDeviceSynchronize");
      return;
    }
    GpuHandle context = nullptr;
    api_.check(api_.context_retain(&context, device_), "cuDevicePrimaryCtxRetain");
    retained_ = true;
    try {
      api_.check(api_.context_current(context), "cuCtxSetCurrent");
    } catch (const DeviceError&) {
      close();
      throw;
    }
  }

  // Drivers load their own kernels when these are first needed: they belong to the context, not to what is measured.
  void warm_up() {
    try {
      const BufferId id = allocate(2 * facts_.granularity.count());
      std::byte word{};
      fill(id, 0, facts_.granularity.count(), 1);
      write(id, 0, std::span(&word, 1));
      read(id, 0, std::span(&word, 1));
      stream(std::span(&id, 1));
      free(id);
    } catch (const DeviceError&) {  // a full card: what follows will say so
      while (!buffers_.empty()) free(buffers_.begin()->first);
    }
  }

  void close() noexcept {
    if (!retained_) return;
    retained_ = false;
    api_.context_current(nullptr);
    api_.context_release(device_);
  }

  std::string version() const {
    int number = 0;
    if (api_.driver_version == nullptr || api_.driver_version(&number) != 0 || number <= 0) return "";
    if (api_.is_cuda()) return "CUDA " + std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
    return "HIP " + std::to_string(number / 10000000) + "." + std::to_string(number / 100000 % 100);
  }

  std::uint64_t granularity() const {
    constexpr int kMinimum = 0;
    GpuAllocationProperties wish;
    wish.location_id = device_;
    std::size_t out = 0;
    if (api_.granularity == nullptr || api_.granularity(&out, &wish, kMinimum) != 0 || out == 0 || out > kGiB)
      return kUsualGranularity;
    return out;
  }

  GpuApi api_;
  std::unique_ptr<GpuView> view_;
  DeviceFacts facts_;
  int device_ = 0;
  bool retained_ = false;
  Bytes others_;
  std::optional<std::uint64_t> other_processes_;
  std::map<BufferId, Buffer> buffers_;
  BufferId next_ = 0;
};

}  // namespace

std::unique_ptr<Device> open_gpu(GpuInterface kind, unsigned index) {
  return std::make_unique<GpuDevice>(kind, index);
}

}  // namespace kvplan
