// What a log reports besides figures, line by line: why an engine did not start, what it did instead, its traffic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
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
  std::string message_;                // the current line and those after it
};

// Whether the engine cannot continue after it.
bool is_fatal(LogEventId id);

// The traffic of a server that prints no line about it (llama-server): it is the sum of what each slot does.
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
  std::string_view engine_;
};

}  // namespace kvplan
