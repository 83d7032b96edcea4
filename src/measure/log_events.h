// What a log reports besides figures, line by line: why an engine did not start, what it did instead, its load.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kvplan/observation.h"
#include "measure/line_template.h"

namespace kvplan {

// Reads line by line, and keeps a few lines, since messages may continue on the next.
class EventReader {
 public:
  using Entries = std::vector<const TemplateIndex::Entry*>;
  // `line` is from plain_line, `number` counts from 1, `entries` are the candidates of log_index().
  void line(std::string_view line, std::size_t number, const Entries& entries);
  // Another start begins: failures before it count only if the new one reports none.
  void restart();
  std::vector<LogEvent> finish();

 private:
  struct Pending {
    std::string text;
    std::size_t number = 0;
    Entries entries;
  };
  void read_oldest();
  bool follow_traceback(std::string_view line);
  void keep_exception(const Pending& line, bool is_in_traceback);
  void keep(LogEvent event);

  std::deque<Pending> pending_;
  std::vector<LogEvent> events_, earlier_;
  std::set<std::string> known_words_;  // the text of events_, and of some that were dropped
  std::string message_;                // the current line and those after it
  std::string frames_, code_;          // of the current traceback: its frames, and the last line of code
  bool is_after_frame_ = false;
  int lines_below_frames_ = 0;  // that may still be the exception; 0 outside a traceback
  bool is_full_ = false;        // of failures
};

// Whether the engine cannot continue after it.
bool is_fatal(LogEventId id);

// The load of a server that prints no line about it (llama-server): the sum over its slots.
class SlotTraffic {
 public:
  // A line from plain_line().
  void line(std::string_view plain, std::size_t number, const EventReader::Entries& entries);
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

// The same from an engine's Prometheus page.
class MetricTraffic {
 public:
  void line(std::string_view plain, std::size_t number, const EventReader::Entries& entries);
  // The newest value of each series, summed over engines and models.
  std::vector<LogEvent> events() const;

 private:
  struct Series {
    std::string_view figure;
    double value = 0;
  };
  std::map<std::string, Series, std::less<>> series_;  // by name and labels
  std::size_t last_line_ = 0;
  std::string_view engine_;
};

// Failures without a row: exceptions of Python in the words of their last line, and the advice in a message.

// A line without what loggers put before a message: process names, levels, times, places.
std::string_view message_of(std::string_view plain);

// "ValueError: no such file" as the last line of a traceback. The views point into the line.
struct RaisedError {
  std::string_view kind, reason;  // reason is empty if the line has only a type
};
// Below a traceback's frames any type counts, whatever its name.
std::optional<RaisedError> raised_error(std::string_view plain, bool is_in_traceback = false);

// Whether the line continues the message that the line before it began.
bool continues_message(std::string_view plain);

// The clauses of a message that say what to try, at most two.
std::vector<std::string> advice_in(std::string_view message);

// Whether the text has one of the words, which are separated by "|".
bool has_one_of(std::string_view text, std::string_view words);

}  // namespace kvplan
