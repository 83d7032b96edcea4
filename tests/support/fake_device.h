// A device for tests: it counts and rounds allocations, and fails on request.
#pragma once

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "measure/device.h"

namespace kvplan {

class FakeDevice : public Device {
 public:
  FakeDevice(Bytes total, Bytes granule) : total_(total) {
    facts_.id = "fake:0";
    facts_.name = "a device of the tests";
    facts_.driver = "1";
    facts_.nominal = total;
    facts_.usable = total;
    facts_.granularity = granule;
    facts_.context = Bytes(0);
  }

  // Simulated faults, and memory of other processes.
  std::uint64_t fail_at_allocation = 0;  // from 1
  std::uint64_t fail_at_read = 0;
  std::uint64_t corrupt_at_read = 0;
  Bytes others;
  std::uint64_t extra_per_mille = 0;  // in addition to what is requested
  Bytes others_grow;                  // with every allocation
  double bytes_a_second = 1e12;

  // Calls so far.
  std::uint64_t allocations = 0, frees = 0, reads = 0, fills = 0;
  Bytes most_used;

  std::size_t live() const { return buffers_.size(); }

  const DeviceFacts& facts() const override { return facts_; }
  DeviceMemory memory() override {
    DeviceMemory out;
    out.used = used();
    out.free = total_ > out.used ? total_ - out.used : Bytes(0);
    out.others = others;
    out.other_processes = others > Bytes(0) ? 1 : 0;
    return out;
  }
  BufferId allocate(std::uint64_t bytes) override {
    if (++allocations == fail_at_allocation) throw DeviceError("told to refuse", true);
    const std::uint64_t granule = facts_.granularity.count();
    Bytes taken((bytes + granule - 1) / granule * granule);
    taken += Bytes(taken.count() / 1000 * extra_per_mille);
    if (used() + taken > total_) throw DeviceError("out of memory", true);
    others += others_grow;
    buffers_[next_] = {bytes, taken, 0, {}};
    most_used = std::max(most_used, used());
    return next_++;
  }
  void fill(BufferId id, std::uint64_t offset, std::uint64_t bytes, unsigned char value) override {
    ++fills;
    Buffer& buffer = buffers_.at(id);
    if (offset + bytes > buffer.bytes) throw DeviceError("a fill beyond the buffer", false);
    buffer.filled = std::max(buffer.filled, offset + bytes);
    static_cast<void>(value);
  }
  void write(BufferId id, std::uint64_t offset, std::span<const std::byte> from) override {
    Buffer& buffer = buffers_.at(id);
    if (buffer.filled != buffer.bytes) throw DeviceError("a mark in a buffer that was not filled", false);
    if (offset + from.size() > buffer.bytes) throw DeviceError("a write beyond the buffer", false);
    buffer.written[offset].assign(from.begin(), from.end());
  }
  void read(BufferId id, std::uint64_t offset, std::span<std::byte> to) override {
    if (++reads == fail_at_read) throw DeviceError("told to fail", false);
    const std::vector<std::byte>& written = buffers_.at(id).written.at(offset);
    if (written.size() != to.size()) throw DeviceError("a read of another size", false);
    std::memcpy(to.data(), written.data(), to.size());
    if (reads == corrupt_at_read) to[0] ^= std::byte{1};
  }
  void free(BufferId id) noexcept override {
    ++frees;
    buffers_.erase(id);
  }
  double stream(std::span<const BufferId> buffers) override {
    std::uint64_t moved = 0;
    for (const BufferId id : buffers) moved += buffers_.at(id).bytes / 2 * 2;
    return static_cast<double>(moved) / bytes_a_second;
  }

 private:
  struct Buffer {
    std::uint64_t bytes = 0;
    Bytes taken;
    std::uint64_t filled = 0;
    std::map<std::uint64_t, std::vector<std::byte>> written;
  };
  Bytes used() const {
    Bytes out = others;
    for (const auto& [id, buffer] : buffers_) out += buffer.taken;
    return out;
  }

  Bytes total_;
  DeviceFacts facts_;
  std::map<BufferId, Buffer> buffers_;
  BufferId next_ = 1;
};

}  // namespace kvplan
