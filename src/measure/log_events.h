// What a log tells beside its figures, line by line: why an engine did not start, what it did instead, its traffic.
#ifndef KVPLAN_MEASURE_LOG_EVENTS_H_
#define KVPLAN_MEASURE_LOG_EVENTS_H_

#include <cstddef>
#include <deque>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kvplan/observation.h"

namespace kvplan {

// Fed line by line; keeps some lines only, since messages go on over line breaks.
class EventReader {
 public:
  // `line` as plain_line makes it, `number` from 1.
  void line(std::string_view line, std::size_t number);
  // Another start begins: what failed before it counts only where the new one tells nothing.
  void restart();
  std::vector<LogEvent> finish();

 private:
  struct Pending {
    std::string text;
    std::size_t number = 0;
  };
  void read_oldest();
  void keep(LogEvent event);

  std::deque<Pending> pending_;
  std::vector<LogEvent> events_, earlier_;
  std::set<std::string> known_words_;  // of events_, and of some that went
  std::vector<std::size_t> candidates_;
  std::string message_;  // the line that is read and those behind it
};

// Whether the engine cannot go on after it.
bool is_fatal(LogEventId id);

}  // namespace kvplan

#endif  // KVPLAN_MEASURE_LOG_EVENTS_H_
