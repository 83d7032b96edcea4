#include "measure/device_buffers.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace kvplan {

namespace {

// Bytes between two calls of `stop`.
constexpr std::uint64_t kChunk = 256 * kMiB;
constexpr unsigned char kFilling = 0xA5;

// Written into each granule: the buffer it belongs to, and its place.
using Mark = std::array<std::uint64_t, 2>;
constexpr std::uint64_t kMarkBytes = sizeof(Mark);

Mark mark_of(std::uint64_t buffer, std::uint64_t offset) {
  return {0x6b76706c616e0000 ^ buffer, offset * 0x9e3779b97f4a7c15 + 1};
}

}  // namespace

DeviceBuffers::DeviceBuffers(Device& device, const MeasureOptions& options, const std::vector<CacheBuffer>& buffers)
    : device_(device), options_(options) {
  for (const CacheBuffer& buffer : buffers) all_ += buffer.bytes;
}

DeviceBuffers::~DeviceBuffers() {
  for (const Held& each : held_) device_.free(each.id);
}

void DeviceBuffers::step(std::string_view what, Bytes done) const {
  if (options_.stop && options_.stop()) throw Interrupted();
  if (options_.progress) options_.progress(what, done, all_);
}

void DeviceBuffers::hold(const CacheBuffer& buffer) {
  step("allocating", written_);
  const std::uint64_t bytes = buffer.bytes.count();
  const std::size_t number = held_.size() + 1;
  held_.reserve(number);
  try {
    const BufferId id = device_.allocate(bytes);
    held_.push_back({id, buffer.name, bytes});
    for (std::uint64_t offset = 0; offset < bytes; offset += kChunk) {
      device_.fill(id, offset, std::min(kChunk, bytes - offset), kFilling);
      step("writing", written_ + Bytes(offset));
    }
  } catch (const DeviceError& error) {
    throw DeviceError("buffer " + std::to_string(number) + " (" + buffer.name + ", " + std::to_string(bytes) +
                          " bytes): " + error.what(),
                      error.out_of_memory());
  }
  written_ += buffer.bytes;
}

template <class Visit>
void DeviceBuffers::for_each_mark(const Visit& visit) {
  constexpr std::uint64_t kMarksBetweenLooks = 4096;
  const std::uint64_t granule = std::max<std::uint64_t>(device_.facts().granularity.count(), kMarkBytes);
  std::uint64_t marks = 0;
  Bytes done;
  for (std::size_t i = 0; i < held_.size(); ++i) {
    const std::uint64_t bytes = held_[i].bytes;
    for (std::uint64_t offset = 0; offset < bytes; offset += granule) {
      if (++marks % kMarksBetweenLooks == 0) step("checking", done + Bytes(offset));
      visit(i, offset, std::min(kMarkBytes, bytes - offset));
    }
    // Also the last bytes, where the last granule's mark does not cover them.
    if (bytes > kMarkBytes && bytes % granule > kMarkBytes) visit(i, bytes - kMarkBytes, kMarkBytes);
    done += Bytes(bytes);
    step("checking", done);
  }
}

void DeviceBuffers::verify() {
  for_each_mark([&](std::size_t i, std::uint64_t offset, std::uint64_t size) {
    const Mark mark = mark_of(i, offset);
    device_.write(held_[i].id, offset, std::as_bytes(std::span(mark)).first(size));
  });
  for_each_mark([&](std::size_t i, std::uint64_t offset, std::uint64_t size) {
    const Mark wanted = mark_of(i, offset);
    Mark found{};
    device_.read(held_[i].id, offset, std::as_writable_bytes(std::span(found)).first(size));
    if (std::memcmp(&wanted, &found, size) != 0)
      throw DeviceError(held_[i].name + ": what was written at byte " + std::to_string(offset) + " did not come back",
                        false);
  });
}

double DeviceBuffers::stream() {
  step("streaming", all_);
  std::vector<BufferId> ids;
  std::uint64_t moved = 0;
  for (const Held& each : held_) {
    ids.push_back(each.id);
    moved += each.bytes / 2 * 2;
  }
  const double seconds = device_.stream(ids);
  return seconds > 0 ? static_cast<double>(moved) / seconds : 0;
}

}  // namespace kvplan
