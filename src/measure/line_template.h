// Matches lines of a log against the templates of engines/log_lines.h, and reads the values in their holes.
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engines/log_lines.h"

namespace kvplan {

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
  // The first place in `text` (from plain_line) that the template matches, beginning before `limit`. A text at the
  // template's end stops at the end of its first line. The values' names point into the template.
  std::optional<Match> match(std::string_view text, std::size_t limit = std::string_view::npos) const;

  // The first literal, which every matching line contains.
  std::string_view anchor() const { return anchor_; }
  // Characters of all literals: of several templates that match a line, the one with most is the most specific.
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

// The templates of several engines, found fast by the beginning of their anchors.
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

}  // namespace kvplan
