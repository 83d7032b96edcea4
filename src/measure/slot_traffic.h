// The traffic of llama-server, which prints no line of its own on it: what each slot does adds up to one.
#ifndef KVPLAN_MEASURE_SLOT_TRAFFIC_H_
#define KVPLAN_MEASURE_SLOT_TRAFFIC_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string_view>

#include "kvplan/observation.h"

namespace kvplan {

class SlotTraffic {
 public:
  // A line as plain_line() makes it.
  void line(std::string_view plain, std::size_t number);
  // Slots that are busy at the log's end, tasks that wait, and the tokens that requests had when they were done.
  std::optional<LogEvent> event() const;

 private:
  static constexpr std::size_t kMost = 4096;  // slots and tasks that are followed

  std::set<std::uint64_t> busy_, waiting_;
  std::uint64_t slots_ = 0, longest_ = 0, done_ = 0;
  double tokens_ = 0;  // of the requests that are done, together
  std::size_t last_line_ = 0;
};

}  // namespace kvplan

#endif  // KVPLAN_MEASURE_SLOT_TRAFFIC_H_
