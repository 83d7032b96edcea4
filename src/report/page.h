// An answer as a person reads it, before it has a form: a headline, blocks, notes, the next command. A question makes
// one page, and every renderer shows it.
#ifndef KVPLAN_REPORT_PAGE_H_
#define KVPLAN_REPORT_PAGE_H_

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "kvplan/error.h"
#include "kvplan/plan.h"
#include "kvplan/quantity.h"

namespace kvplan {

// Words that may be printed: one line, valid UTF-8, nothing hidden in it. A page takes no other, so that no string of
// a file or a server comes past one_line.
class Text {
 public:
  Text() = default;
  template <class Words>
  requires std::convertible_to<const Words&, std::string_view> Text(const Words& words)
      : words_(one_line(words, kLongest)) {}  // NOLINT: every string may become one
  const std::string& str() const { return words_; }
  bool empty() const { return words_.empty(); }
  bool operator==(const Text&) const = default;

 private:
  static constexpr std::size_t kLongest = 4000;
  std::string words_;
};

enum class Tone { kPlain, kStrong, kFaint, kGood, kBad, kCareful };

// The smallest form that has room for a block: a comment on a pull request, a terminal, or a page to share.
enum class Detail { kComment, kScreen, kDocument };

struct Column {
  enum class Kind {
    kText,
    kNumber,  // aligned right
    kBelow,   // on a terminal it stands under its row: a formula, a source
  };
  Text title;
  Kind kind = Kind::kText;
  unsigned goes = 0;  // the n-th to be left out where a terminal is narrow; 0: it stays
};

struct TableRow {
  std::vector<Text> cells;
  Tone tone = Tone::kPlain;
};

// Without titles it is a list: what, how much, remarks.
struct PageTable {
  std::vector<Column> columns;
  std::vector<TableRow> rows;
};

struct BarSlice {
  Section part = Section::kWeights;
  Bytes bytes;
};

struct BarRow {
  Text label, value, range;
  std::vector<BarSlice> slices;
  Tone tone = Tone::kPlain;
};

// Bars in one scale, against the budget where there is one.
struct Bars {
  Text value_title, range_title;
  std::vector<BarRow> rows;
  std::optional<Bytes> budget, card;
  Text budget_name, card_name;  // "budget 72.85"
};

struct ChartSeries {
  Text name;
  std::vector<double> y;  // one for each x
};
struct Chart {
  Text title;    // read aloud in place of the picture
  Text x_title;  // under the axis
  Text y_title;
  std::vector<double> x;
  std::vector<ChartSeries> series;
  std::optional<double> limit;  // a level across the picture
  Text limit_name;
  std::optional<double> marked;  // an x of its own: the request
  Text marked_name;
  bool log_x = false;
  bool log_y = false;
  bool x_is_tokens = false;  // ticks as 32k, 1M
  bool y_is_tokens = false;
};

using Sentences = std::vector<Text>;

struct Block {
  Text title;
  Detail detail = Detail::kScreen;
  std::variant<Sentences, PageTable, Bars, Chart> body;
  Sentences remarks;       // under it
  bool is_folded = false;  // a page to share opens it on demand
};

struct Headline {
  Tone tone = Tone::kPlain;
  Text word;  // "FITS"
  Text says;
};

struct PageNote {
  Tone tone = Tone::kFaint;
  Text label;  // "warning:"
  Text message;
  Text file = {};  // of an annotation; the page's own where it names none
};

struct Page {
  Text title, facts;
  Sentences about;  // what was asked
  std::vector<Headline> headlines;
  Sentences remedies;  // in short, where there is room for a line alone
  std::vector<Block> blocks;
  std::vector<PageNote> notes;
  Sentences next;  // commands that lead on; for terminals alone
  Text file;       // that an annotation is put at
};

}  // namespace kvplan

#endif  // KVPLAN_REPORT_PAGE_H_
