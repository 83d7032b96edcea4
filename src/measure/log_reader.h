// Reads an engine's log: each known line becomes figures with their line number. It copes with any text: prefixes of
// docker, journald and Kubernetes, JSON lines, ANSI colours, interleaved ranks, cut lines. If a log has several starts,
// the last one counts.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engines/log_lines.h"
#include "kvplan/observation.h"

namespace kvplan {

// Matches lines of a log against the templates of engines/log_lines.h, and reads the values in their holes.

// A number as logs print it: with commas between thousands, at most 23 digits.
struct LogNumber {
  double value = 0;
  std::size_t length = 0;  // characters, without leading blanks
};
std::optional<LogNumber> log_number(std::string_view text);
// The value of a printed number's last digit: 0.01 for "2.38", 1 for "1,234".
double last_digit_of(std::string_view printed);

// A line without colours and other escapes, with each run of blanks as one.
std::string plain_line(std::string_view line);

class LineTemplate {
 public:
  explicit LineTemplate(const LogTemplate& source);

  struct Match {
    std::size_t begin = 0, end = 0;  // in the text
    std::vector<LogValue> values;
    const LogValue* value(std::string_view name) const;
  };
  // The first match in `text` (from plain_line) that begins before `limit`. If the template ends with a text hole, the
  // text ends with its line. The values' names point into the template.
  std::optional<Match> match(std::string_view text, std::size_t limit = std::string_view::npos) const;

  // The first literal, which every matching line contains.
  std::string_view anchor() const { return anchor_; }
  // Characters of all literals. If several templates match a line, the one with the most is the most specific.
  std::size_t weight() const { return weight_; }

 private:
  enum class Hole : std::uint8_t { kNumber, kSize, kWord, kText, kEquals, kAnything };
  struct Part {
    std::string_view literal;  // after the hole; empty at the template's end
    Hole hole = Hole::kNumber;
    std::string_view name;
    LogUnit unit = LogUnit::kCount;
  };
  static Part read_part(std::string_view& rest);
  bool match_before(std::string_view text, std::size_t at, Match& out) const;
  bool match_parts(std::string_view text, std::size_t at, std::size_t limit, Match& out) const;

  std::string_view anchor_;
  std::size_t weight_ = 0;
  bool is_name_ = false;        // the anchor is an argument's name: no letter may come before it
  std::optional<Part> before_;  // a hole before the anchor: the word or number that ends there
  std::vector<Part> parts_;     // holes after it
};

// The templates of several engines. The beginning of an anchor is the search key.
class TemplateIndex {
 public:
  enum class Kind : std::uint8_t { kFigure, kEvent, kSlot, kMetric };
  struct Entry {
    LineTemplate pattern;
    const LogTemplate* row;
    const LogProgram* program;  // null for a line that any program may print
    Kind kind;
  };
  // Throws std::logic_error if an anchor is too short.
  void add(std::span<const LogTemplate> rows, const LogProgram* program, Kind kind);
  // The entries whose anchor may be in the text, each once, in the order in which they were added.
  std::vector<const Entry*> candidates(std::string_view text) const;

 private:
  static constexpr std::size_t kBuckets = std::size_t{1} << 14;

  std::vector<Entry> entries_;
  std::vector<std::vector<std::uint32_t>> by_hash_ = std::vector<std::vector<std::uint32_t>>(kBuckets);
  std::bitset<kBuckets> known_;  // buckets with an entry: for most positions the search ends here
};

// Every line that any of the programs prints.
const TemplateIndex& log_index();

// What a log reports besides figures, line by line: why an engine did not start, what it did instead, and its load.

// Reads line by line. It keeps a few lines, because a message may continue on the next one.
class EventReader {
 public:
  using Entries = std::vector<const TemplateIndex::Entry*>;
  // `line` is from plain_line, `number` counts from 1, `entries` are the candidates of log_index().
  void line(std::string_view line, std::size_t number, const Entries& entries);
  // Another start begins. Failures before it count only if the new start reports none.
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
  std::set<std::string> known_words_;  // the text of events_, and of some dropped ones
  std::string message_;                // the current line and the lines after it
  std::string frames_, code_;          // of the current traceback: its frames, and the last line of code
  bool is_after_frame_ = false;
  int lines_below_frames_ = 0;  // lines that may still be the exception; 0 outside a traceback
  bool is_full_ = false;        // of failures
};

// Whether the engine cannot continue after it.
bool is_fatal(LogEventId id);

// The load of a server that prints no line about it (llama-server), added up over its slots.
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

// The load, from an engine's Prometheus page.
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

// Failures without a row: a Python exception in the words of its last line, and the advice in a message.

// The line without what loggers put before a message: process names, levels, times, places.
std::string_view message_of(std::string_view plain);

// "ValueError: no such file" as the last line of a traceback. The views point into the line.
struct RaisedError {
  std::string_view kind, reason;  // reason is empty if the line has only a type
};
// Below a traceback's frames, any name is the name of an exception.
std::optional<RaisedError> raised_error(std::string_view plain, bool is_in_traceback = false);

// Whether the line continues the message that the line before it began.
bool continues_message(std::string_view plain);

// The clauses of a message that say what to try, at most two.
std::vector<std::string> advice_in(std::string_view message);

// Whether the text has one of the words, which are separated by "|".
bool has_one_of(std::string_view text, std::string_view words);

// The bytes of a log as UTF-8. PowerShell's redirection writes UTF-16 with a byte order mark. Pieces may be cut
// anywhere.
class LogText {
 public:
  std::string utf8(std::string_view piece);

 private:
  enum class Coding : std::uint8_t { kUnknown, kBytes, kLittle, kBig };

  void decide();
  void take_unit(char32_t unit, std::string& out);

  Coding coding_ = Coding::kUnknown;
  std::string open_;   // bytes before the coding is known, or the first byte of a unit
  char32_t high_ = 0;  // a surrogate whose other half is to come
};

// "(Worker_PP0_TP1_EP1 pid=99)", "[2025-03-10 16:21:31 DP1 TP3]", "(VllmWorker rank=3 pid=105)", "[gpu_id=2]".
struct LogRanks {
  std::optional<std::uint64_t> tensor, pipeline, data, expert;
  std::optional<std::uint64_t> worker;  // the process number of a worker of V0 or Ray
  bool any() const { return tensor || pipeline || data; }
};
LogRanks ranks_of(std::string_view plain);

// The text within a JSON line ({"log": "...\n"}, {"message": ...}); nothing if the line is not JSON.
std::optional<std::string> unpacked(std::string_view line);

// Reads line by line, so that a log of any length takes little memory.
class LogReader {
 public:
  void line(std::string_view text);
  // Text, in pieces of any length.
  void piece(std::string_view text);
  LogReading finish();

 private:
  struct Found {
    const TemplateIndex::Entry* entry = nullptr;
    LineTemplate::Match match;
  };
  // How many lines an engine may have printed, and which releases their wording allows.
  struct Votes {
    std::size_t count = 0;
    std::string_view since, until;
  };

  void read_plain(const std::string& plain);
  void read_match(const Found& found, const LogRanks& ranks);
  void read_ranks(const LogRanks& ranks);
  // If the line belongs to an earlier phase than the current one, a new start began: forgets everything before it.
  void follow_start(const Found& found, const LogRanks& ranks);
  void start_over(bool keeps_options);

  LogText text_;
  std::string open_line_;  // the unfinished line at the end of a piece
  bool is_open_ = false;
  LogReading out_;
  EventReader events_;
  SlotTraffic slots_;
  MetricTraffic metrics_;
  StartPhase phase_ = StartPhase::kNone;
  std::map<const Engine*, Votes> votes_;
  std::set<std::uint64_t> workers_;
  bool has_cpu_blocks_ = false, has_data_ranks_ = false, has_expert_ranks_ = false;
  std::uint64_t world_size_ = 0;
  std::uint64_t tensor_ = 0, pipeline_ = 0, data_ = 0;  // numbers of ranks, from the highest rank seen
};

LogReading read_log(std::string_view text);

// Stores the option that a figure shows. Returns whether it is only that, and no observation.
bool take_option(const LogValue& value, LogOptions& out);

// Adds options that follow from several figures together.
void complete_options(const LogReading& reading, LogOptions& out);

// The release that a version means. "0.8.3" and "0.20.1.post1" stay, a candidate ("0.11.0rc2") is its release, and a
// build of main before a release ("0.18.1rc1.dev147") is that release.
std::string release_of(std::string_view version);

// Whether release `a` is older than `b`, by their numbers.
bool is_older(std::string_view a, std::string_view b);

}  // namespace kvplan
