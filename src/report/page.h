// An answer for people, before rendering: a headline, blocks, notes, the next command. Each command makes one page, and
// every renderer can show it.
#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "kvplan/error.h"
#include "kvplan/plan.h"
#include "kvplan/quantity.h"

namespace kvplan {

// Printable words: one line of valid UTF-8 without hidden characters. Pages only take this type, so that no string from
// a file or a server bypasses one_line().
class Text {
 public:
  Text() = default;
  template <class Words>
  requires std::convertible_to<const Words&, std::string_view> Text(const Words& words)
      : words_(one_line(words, kLongest)) {}  // NOLINT: implicit, so that every string goes through one_line()
  const std::string& str() const { return words_; }
  bool empty() const { return words_.empty(); }
  bool operator==(const Text&) const = default;

 private:
  static constexpr std::size_t kLongest = 4000;
  std::string words_;
};

enum class Tone { kPlain, kStrong, kFaint, kGood, kBad, kCareful };

// The smallest output that shows a block: a pull-request comment, a terminal, or a document.
enum class Detail { kComment, kScreen, kDocument };

struct Column {
  enum class Kind {
    kText,
    kNumber,  // aligned right
    kBelow,   // below its row on a terminal: a formula, a source
  };
  Text title;
  Kind kind = Kind::kText;
  unsigned goes = 0;  // the order in which columns are dropped on a narrow terminal; 0: never
};

// A cell of a heat map: good, careful (a shorter context fits), bad, faint (refused) or plain (not known).
struct Heat {
  Tone tone = Tone::kPlain;
  Text title;        // the figure behind the cell
  double value = 0;  // rows are sorted by it
};

struct TableRow {
  std::vector<Text> cells;
  Tone tone = Tone::kPlain;
  std::vector<Heat> heat = {};  // for a heat map: the last cells
};

// A table. Without titles it is a list: what, how much, remarks.
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

// Bars on one scale, with the budget marked if there is one.
struct Bars {
  Text value_title, range_title;
  std::vector<BarRow> rows;
  std::optional<Bytes> budget, card;
  Text budget_name, card_name;  // "budget 72.85"
};

struct ChartSeries {
  Text name;
  std::vector<double> y;  // one value for each x
};
struct Chart {
  Text title;    // the text alternative of the picture
  Text x_title;  // under the axis
  Text y_title;
  std::vector<double> x;
  std::vector<ChartSeries> series;
  std::optional<double> limit;  // a horizontal line
  Text limit_name;
  std::optional<double> marked;  // an x to mark: the request's
  Text marked_name;
  bool log_x = false;
  bool log_y = false;
  bool x_is_tokens = false;  // x values are labelled as 32k, 1M
  bool y_is_tokens = false;
};

using Sentences = std::vector<Text>;

using BlockBody = std::variant<Sentences, PageTable, Bars, Chart>;
struct Block {
  Text title;
  Detail detail = Detail::kScreen;
  BlockBody body;
  Sentences remarks;       // below it
  bool is_folded = false;  // collapsed in a document
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
  Text file = {};  // the file that the annotation is for; "" for the page's file
};

struct Page {
  Text title, facts;
  Sentences about;  // the question
  std::vector<Headline> headlines;
  Sentences remedies;  // short, for formats that show only one line
  std::vector<Block> blocks;
  std::vector<PageNote> notes;
  Sentences next;  // suggested next commands; only on terminals
  Text file;       // the file that annotations are for

  Block& add(const Text& block_title, Detail detail, BlockBody body, Sentences remarks = {}) {
    return blocks.emplace_back(Block{block_title, detail, std::move(body), std::move(remarks)});
  }
};

}  // namespace kvplan
