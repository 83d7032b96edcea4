// The buffers of one measurement on a device: allocated, written, read back, and freed whatever happens.
#ifndef KVPLAN_MEASURE_HOLDER_H_
#define KVPLAN_MEASURE_HOLDER_H_

#include <string>
#include <vector>

#include "measure/measure.h"

namespace kvplan {

class Holder {
 public:
  // `all`: bytes of the whole, for the progress.
  Holder(Device& device, const MeasureOptions& options, Bytes all);
  ~Holder();
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;

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

#endif  // KVPLAN_MEASURE_HOLDER_H_
