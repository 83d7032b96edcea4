// Host memory as a device, for CI and for machines without a GPU. Every buffer is a mapping, measured by the kernel's
// own list of its pages (/proc/self/pagemap).
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <map>
#include <vector>

#include "measure/device.h"
#include "measure/proc.h"

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
    facts_.margin = 0.1;  // a swapping machine is worse than a full GPU
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
    const std::uint64_t mapped = (bytes / page_ + (bytes % page_ != 0 ? 1 : 0)) * page_;
    if (mapped < bytes) throw DeviceError("mmap: too large", true);
    void* const at = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) throw DeviceError(std::string("mmap: ") + std::strerror(errno), errno == ENOMEM);
#ifdef MADV_DONTDUMP  // Linux
    madvise(at, mapped, MADV_DONTDUMP);
#endif
    buffers_[next_] = {static_cast<std::byte*>(at), bytes, mapped};
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
    munmap(found->second.data, found->second.mapped);
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

  // Bytes of the buffers' pages that are in memory or in swap.
  std::uint64_t resident() const {
    constexpr std::uint64_t kPresent = std::uint64_t{1} << 63, kSwapped = std::uint64_t{1} << 62;
    std::ifstream pages;
    pages.rdbuf()->pubsetbuf(nullptr, 0);  // the kernel refuses reads of partial entries, as at the end of a buffer
    pages.open("/proc/self/pagemap", std::ios::binary);
    std::vector<std::uint64_t> entries;
    std::uint64_t count = 0;
    for (const auto& [id, buffer] : buffers_) {
      entries.assign(buffer.mapped / page_, 0);
      pages.seekg(
          static_cast<std::streamoff>(reinterpret_cast<std::uintptr_t>(buffer.data) / page_ * sizeof(std::uint64_t)));
      pages.read(reinterpret_cast<char*>(entries.data()),
                 static_cast<std::streamsize>(entries.size() * sizeof(std::uint64_t)));
      count += static_cast<std::uint64_t>(std::count_if(
          entries.begin(), entries.end(), [](std::uint64_t entry) { return (entry & (kPresent | kSwapped)) != 0; }));
    }
    return count * page_;
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
