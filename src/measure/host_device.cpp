// Host memory as a device, for CI and for machines without a GPU. Every buffer is a separate mapping, written page by
// page, and measured by the kernel's own count of it (/proc/self/smaps).
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>

#include "measure/device.h"
#include "measure/host_memory.h"

namespace kvplan {

namespace {

class HostDevice : public Device {
 public:
  HostDevice() : page_(static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE))) {
    facts_.id = "host";
    facts_.name = "host memory";
    utsname system{};
    if (uname(&system) == 0) facts_.driver = std::string(system.sysname) + " " + system.release;
    const HostMemory memory = host_memory();
    facts_.nominal = memory.total;
    facts_.usable = memory.limit;
    facts_.granularity = Bytes(page_);
    facts_.least_stream = 64 * kMiB;
    facts_.margin = 0.1;  // a swapping machine is worse than a full card
  }
  ~HostDevice() override {
    while (!buffers_.empty()) free(buffers_.begin()->first);
  }

  const DeviceFacts& facts() const override { return facts_; }

  DeviceMemory memory() override {
    const HostMemory now = host_memory();
    DeviceMemory out;
    out.free = now.available;
    out.used = Bytes(resident());
    const Bytes taken = now.total > now.available ? now.total - now.available : Bytes(0);
    out.others = taken > out.used ? taken - out.used : Bytes(0);
    return out;
  }

  BufferId allocate(std::uint64_t bytes) override {
    // An inaccessible page on either side keeps the kernel from merging it with its neighbours.
    const std::uint64_t inner = (bytes / page_ + (bytes % page_ != 0 ? 1 : 0)) * page_;
    if (inner < bytes || inner > ~std::uint64_t{0} - 2 * page_) throw DeviceError("mmap: too large", true);
    const std::uint64_t outer = inner + 2 * page_;
    void* at = mmap(nullptr, outer, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) throw DeviceError(std::string("mmap: ") + std::strerror(errno), errno == ENOMEM);
    std::byte* const data = static_cast<std::byte*>(at) + page_;
    if (mprotect(data, inner, PROT_READ | PROT_WRITE) != 0) {
      const int why = errno;
      munmap(at, outer);
      throw DeviceError(std::string("mprotect: ") + std::strerror(why), why == ENOMEM);
    }
#ifdef MADV_DONTDUMP  // Linux
    madvise(data, inner, MADV_DONTDUMP);
#endif
    buffers_[next_] = {data, bytes, inner};
    return next_++;
  }

  void fill(BufferId buffer, std::uint64_t offset, std::uint64_t bytes, unsigned char value) override {
    std::memset(buffers_.at(buffer).data + offset, value, bytes);
  }
  void write(BufferId buffer, std::uint64_t offset, std::span<const std::byte> from) override {
    std::memcpy(buffers_.at(buffer).data + offset, from.data(), from.size());
  }
  void read(BufferId buffer, std::uint64_t offset, std::span<std::byte> to) override {
    std::memcpy(to.data(), buffers_.at(buffer).data + offset, to.size());
  }
  void free(BufferId buffer) noexcept override {
    const auto found = buffers_.find(buffer);
    if (found == buffers_.end()) return;
    munmap(found->second.data - page_, found->second.mapped + 2 * page_);
    buffers_.erase(found);
  }

  double stream(std::span<const BufferId> buffers) override {
    const auto start = std::chrono::steady_clock::now();
    for (const BufferId each : buffers) {
      const Buffer& buffer = buffers_.at(each);
      const std::uint64_t half = buffer.bytes / 2;
      std::memcpy(buffer.data + half, buffer.data, half);
    }
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

 private:
  struct Buffer {
    std::byte* data = nullptr;
    std::uint64_t bytes = 0;
    std::uint64_t mapped = 0;
  };

  std::uint64_t resident() const {
    if (buffers_.empty()) return 0;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
    for (const auto& [id, buffer] : buffers_) {
      const auto first = reinterpret_cast<std::uintptr_t>(buffer.data);
      ranges.emplace_back(first, first + buffer.mapped);
    }
    return resident_bytes(std::move(ranges), "/proc/self/smaps");
  }

  std::uint64_t page_;
  DeviceFacts facts_;
  std::map<BufferId, Buffer> buffers_;
  BufferId next_ = 0;
};

}  // namespace

std::unique_ptr<Device> open_host() {
  return std::make_unique<HostDevice>();
}

}  // namespace kvplan
