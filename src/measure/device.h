// What --measure needs of a device. The program knows three (a GPU by CUDA or HIP, host memory), the tests a fourth.
#ifndef KVPLAN_MEASURE_DEVICE_H_
#define KVPLAN_MEASURE_DEVICE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>

#include "kvplan/card_measurement.h"
#include "kvplan/measurement.h"
#include "kvplan/quantity.h"

namespace kvplan {

// A call that the device refused.
class DeviceError : public std::runtime_error {
 public:
  DeviceError(const std::string& what, bool out_of_memory) : std::runtime_error(what), out_of_memory_(out_of_memory) {}
  bool out_of_memory() const { return out_of_memory_; }

 private:
  bool out_of_memory_;
};

// A card that others use.
class SharedDevice : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct DeviceMemory {
  Bytes free;  // that may still be taken
  Bytes used;  // the counter whose differences are measured; a GPU's counts all processes
  Bytes others;
  std::optional<std::uint64_t> other_processes;
  std::int64_t others_moved = 0;  // the most that others were seen to have taken or freed since it was opened
};

using BufferId = std::size_t;

// Every buffer that is still held is freed with the device.
class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  virtual const DeviceFacts& facts() const = 0;
  virtual DeviceMemory memory() = 0;

  // All throw DeviceError. Sizes are above zero, and ranges lie within the buffer.
  virtual BufferId allocate(std::uint64_t bytes) = 0;
  virtual void fill(BufferId buffer, std::uint64_t offset, std::uint64_t bytes, unsigned char value) = 0;
  virtual void write(BufferId buffer, std::uint64_t offset, std::span<const std::byte> from) = 0;
  virtual void read(BufferId buffer, std::uint64_t offset, std::span<std::byte> to) = 0;
  virtual void free(BufferId buffer) noexcept = 0;
  virtual CardFacts card() const { return {}; }
  // Seconds that a kernel took to read the buffer; 0 where there is none for the device.
  virtual double read_through(BufferId) { return 0; }
  // Seconds that copying the first half of every buffer over its second half took.
  virtual double stream(std::span<const BufferId> buffers) = 0;
};

// "cuda:0", "cuda", "hip:1", "host"; "" for the first GPU that there is. Throws Error: kBadInput for another name,
// kNoDevice where there is no such device.
// A card that others compute on, or hold much of, is kNoDevice too, unless `shares` it: what is taken here is missing
// there, and an engine that starts meanwhile measures it as its own.
std::unique_ptr<Device> open_device(const std::string& name, bool shares = true);

// Makers of the three.
enum class GpuInterface { kCuda, kHip };
std::unique_ptr<Device> open_gpu(GpuInterface kind, unsigned index, bool shares);  // DeviceError where there is none
std::unique_ptr<Device> open_host();

}  // namespace kvplan

#endif  // KVPLAN_MEASURE_DEVICE_H_
