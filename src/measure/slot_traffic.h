// The traffic of llama-server, which prints no line about it: it is the sum of what each slot does.
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
  // A line from plain_line().
  void line(std::string_view plain, std::size_t number);
  // Busy slots at the log's end, waiting tasks, and the tokens of finished requests.
  std::optional<LogEvent> event() const;

 private:
  static constexpr std::size_t kMost = 4096;  // slots and tasks that are tracked

  std::set<std::uint64_t> busy_, waiting_;
  std::uint64_t slots_ = 0, longest_ = 0, done_ = 0;
  double tokens_ = 0;  // of all finished requests
  std::size_t last_line_ = 0;
};

}  // namespace kvplan

#endif  // KVPLAN_MEASURE_SLOT_TRAFFIC_H_
