// The buffers of one measurement on a device: allocated, written, read back, and freed whatever happens.
#ifndef KVPLAN_MEASURE_DEVICE_BUFFERS_H_
#define KVPLAN_MEASURE_DEVICE_BUFFERS_H_

#include <string>
#include <vector>

#include "measure/measure.h"

namespace kvplan {

class DeviceBuffers {
 public:
  // `all`: bytes of the whole, for the progress.
  DeviceBuffers(Device& device, const MeasureOptions& options, Bytes all);
  ~DeviceBuffers();
  DeviceBuffers(const DeviceBuffers&) = delete;
  DeviceBuffers& operator=(const DeviceBuffers&) = delete;

  // Allocates a buffer and writes all of it. Throws DeviceError that names it, or Interrupted.
  void hold(const CacheBuffer& buffer);
  // Every granule of every buffer gets a mark of its own; then all are read back. Throws DeviceError where one did not
  // keep it.
  void verify();
  // Streams every buffer once; bytes a second.
  double stream();
  std::size_t size() const { return held_.size(); }

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

#endif  // KVPLAN_MEASURE_DEVICE_BUFFERS_H_
