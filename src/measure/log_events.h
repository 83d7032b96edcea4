// What a log reports besides figures, line by line: why an engine did not start, what it did instead, its traffic.
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

// Reads line by line, and keeps a few lines, since messages may continue on the next.
class EventReader {
 public:
  // `line` is from plain_line, `number` counts from 1.
  void line(std::string_view line, std::size_t number);
  // Another start begins: failures before it count only where the new one reports none.
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
  std::set<std::string> known_words_;  // of events_, and of some that were dropped
  std::vector<std::size_t> candidates_;
  std::string message_;  // the current line and those after it
};

// Whether the engine cannot continue after it.
bool is_fatal(LogEventId id);

}  // namespace kvplan

#endif  // KVPLAN_MEASURE_LOG_EVENTS_H_
