// What --measure needs of a device. The program has three devices (a GPU by CUDA or HIP, and host memory). The tests
// have a fourth.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "kvplan/card_measurement.h"
#include "kvplan/measurement.h"
#include "kvplan/quantity.h"

namespace kvplan {

// Thrown if the device refuses a call.
class DeviceError : public std::runtime_error {
 public:
  DeviceError(const std::string& what, bool out_of_memory) : std::runtime_error(what), out_of_memory_(out_of_memory) {}
  bool out_of_memory() const { return out_of_memory_; }

 private:
  bool out_of_memory_;
};

// Thrown if other programs use the GPU.
class SharedDevice : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct DeviceMemory {
  Bytes free;  // bytes that can still be allocated
  Bytes used;  // the counter whose differences are measured; a GPU's includes all processes
  Bytes others;
  std::optional<std::uint64_t> other_processes;
  std::int64_t others_moved = 0;  // the largest change of other processes' memory seen since it was opened
};

using BufferId = std::size_t;

// The destructor frees all buffers.
class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  virtual const DeviceFacts& facts() const = 0;
  virtual DeviceMemory memory() = 0;

  // All functions throw DeviceError. Sizes must be above zero, and ranges must be within the buffer.
  virtual BufferId allocate(std::uint64_t bytes) = 0;
  virtual void fill(BufferId buffer, std::uint64_t offset, std::uint64_t bytes, unsigned char value) = 0;
  virtual void write(BufferId buffer, std::uint64_t offset, std::span<const std::byte> from) = 0;
  virtual void read(BufferId buffer, std::uint64_t offset, std::span<std::byte> to) = 0;
  virtual void free(BufferId buffer) noexcept = 0;
  virtual CardFacts card() const { return {}; }
  // Seconds that a kernel took to read the buffer; 0 if the device has no such kernel.
  virtual double read_through(BufferId) { return 0; }
  // Seconds that it took to copy the first half of every buffer over its second half.
  virtual double stream(std::span<const BufferId> buffers) = 0;
};

// Buffers on a device, freed on every way out.
class HeldBuffers {
 public:
  explicit HeldBuffers(Device& device) : device_(device) {}
  ~HeldBuffers() {
    for (const BufferId id : ids_) device_.free(id);
  }
  HeldBuffers(const HeldBuffers&) = delete;
  HeldBuffers& operator=(const HeldBuffers&) = delete;
  BufferId take(Bytes bytes) { return ids_.emplace_back(device_.allocate(bytes.count())); }

 private:
  Device& device_;
  std::vector<BufferId> ids_;
};

// Opens "cuda:0", "cuda", "hip:1" or "host"; "" is the first GPU. Throws Error(kBadInput) for another name and
// Error(kNoDevice) if there is no such device. Unless `shares`, it also throws kNoDevice if other programs compute on
// the GPU or use much of it: measuring would take memory from them, and an engine that starts meanwhile would count
// kvplan's memory as its own.
std::unique_ptr<Device> open_device(const std::string& name, bool shares = true);

// The functions that open each kind of device.
enum class GpuInterface { kCuda, kHip };
// Throws DeviceError if there is none.
std::unique_ptr<Device> open_gpu(GpuInterface kind, unsigned index, bool shares);
std::unique_ptr<Device> open_host();

}  // namespace kvplan
