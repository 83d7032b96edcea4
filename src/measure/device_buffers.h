// The buffers of one measurement on a device: allocated, written, read back, and freed on every way out.
#pragma once

#include <string>
#include <vector>

#include "measure/measure.h"

namespace kvplan {

class DeviceBuffers {
 public:
  // `buffers`: all that are going to be held, for the progress line.
  DeviceBuffers(Device& device, const MeasureOptions& options, const std::vector<CacheBuffer>& buffers);
  ~DeviceBuffers();
  DeviceBuffers(const DeviceBuffers&) = delete;
  DeviceBuffers& operator=(const DeviceBuffers&) = delete;

  // Allocates a buffer and writes all of it. Throws DeviceError that names it, or Interrupted.
  void hold(const CacheBuffer& buffer);
  // Writes a distinct mark into every granule of every buffer, then reads all back. Throws DeviceError where one has
  // changed.
  void verify();
  // Streams through every buffer once; returns bytes a second.
  double stream();
  Bytes all() const { return all_; }

 private:
  struct Held {
    BufferId id = 0;
    std::string name;
    std::uint64_t bytes = 0;
  };
  template <class Visit>
  void for_each_mark(const Visit& visit);
  void step(std::string_view what, Bytes done) const;

  Device& device_;
  const MeasureOptions& options_;
  Bytes all_, written_;
  std::vector<Held> held_;
};

}  // namespace kvplan
