// Matches lines of a log against the templates of engines/log_lines.h, and takes what stands in their holes.
#ifndef KVPLAN_MEASURE_LINE_TEMPLATE_H_
#define KVPLAN_MEASURE_LINE_TEMPLATE_H_

#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engines/log_lines.h"

namespace kvplan {

// A number as logs print it: with commas between thousands, at most 23 digits.
struct LogNumber {
  double value = 0;
  std::size_t length = 0;  // characters, leading blanks not counted
};
std::optional<LogNumber> log_number(std::string_view text);
// What the last digit of a printed number stands for: 0.01 for "2.38", 1 for "1,234".
double last_digit_of(std::string_view printed);

// A line without colours and other escapes, runs of blanks as one.
std::string plain_line(std::string_view line);

class LineTemplate {
 public:
  explicit LineTemplate(const LogTemplate& source);

  struct Match {
    std::size_t begin = 0, end = 0;  // in the text
    std::vector<LogValue> values;
  };
  // The first place of `text` (made by plain_line) that the template fits, beginning before `limit`: the end of its
  // first line, where a text at the template's end stops too. The values' names are the template's own text.
  std::optional<Match> match(std::string_view text, std::size_t limit = std::string_view::npos) const;

  // What every line that matches has in it: the first literal.
  std::string_view anchor() const { return anchor_; }

 private:
  enum class Hole : std::uint8_t { kNumber, kSize, kWord, kText, kEquals, kAnything };
  struct Part {
    std::string_view literal;  // behind the hole; empty at the template's end
    Hole hole = Hole::kNumber;
    std::string_view name;
    LogUnit unit = LogUnit::kCount;
  };
  bool match_parts(std::string_view text, std::size_t at, std::size_t limit, Match& out) const;

  std::string_view anchor_;
  bool is_name_ = false;        // the anchor is an argument's name: no letter stands before it
  std::optional<Part> before_;  // a hole before the anchor: the word or number that ends there
  std::vector<Part> parts_;     // holes behind it
};

// The templates of several engines, found quickly by how their anchors begin.
class TemplateIndex {
 public:
  // Beginnings of anchors shorter than this are not found: a test holds the tables to it.
  static constexpr std::size_t kKey = 4;

  std::size_t add(const LogTemplate& source);  // its number
  const LineTemplate& at(std::size_t number) const { return templates_[number]; }
  // Numbers of the templates whose anchor may stand in the text, each once, in the order in which they were added.
  void candidates(std::string_view text, std::vector<std::size_t>& out) const;

 private:
  static constexpr std::size_t kBuckets = std::size_t{1} << 14;

  std::vector<LineTemplate> templates_;
  std::vector<std::vector<std::uint32_t>> by_hash_ = std::vector<std::vector<std::uint32_t>>(kBuckets);
  std::bitset<kBuckets> known_;  // buckets that hold a template: most places of a log end here
};

}  // namespace kvplan

#endif  // KVPLAN_MEASURE_LINE_TEMPLATE_H_
