// A page on a terminal: wide text is folded, and colours are used only where wanted.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "report/renderers/renderers.h"
#include "report/words.h"

#include "kvplan/strings.h"

namespace kvplan {

namespace {

constexpr std::size_t kGap = 2;

std::string_view code_of(Tone tone) {
  return nth_word(tone, "|1|2|32|31|33", '|');
}

std::string_view code_of(Section part) {
  return nth_word(part, "34 32 33 35");
}

// The text, padded with spaces after or before it up to the width.
std::string padded(std::string_view text, std::size_t width, bool to_the_right = false) {
  const std::string spaces(width - std::min(width, text_width(text)), ' ');
  return to_the_right ? spaces + std::string(text) : std::string(text) + spaces;
}

// The lines of a text, each with at most `width` characters; all but the first have `later`. A line ends between words,
// or within a word that is longer than a line.
std::vector<std::string> lines_of(std::string_view text, std::size_t first, std::size_t later) {
  std::vector<std::string> out{""};
  std::size_t used = 0;
  std::size_t width = first;
  const auto break_line = [&] {
    out.emplace_back();
    used = 0;
    width = later;
  };
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t space = rest.find(' ');
    std::string_view word = rest.substr(0, space);
    rest = space == std::string_view::npos ? std::string_view() : rest.substr(space + 1);
    if (used > 0 && used + 1 + text_width(word) > width) {
      break_line();
    } else if (used > 0) {
      out.back() += ' ';
      ++used;
    }
    while (text_width(word) > width) {
      std::size_t cut = first_characters(word, width);
      // A long name breaks after its organization or a hyphen.
      const std::size_t part = word.substr(0, cut).find_last_of("/-");
      if (part != std::string_view::npos && part > cut / 2) cut = part + 1;
      // A line that begins with "::" is a command to a CI runner.
      if (word.substr(cut).starts_with("::")) ++cut;
      out.back() += word.substr(0, cut);
      word.remove_prefix(cut);
      break_line();
    }
    out.back() += word;
    used = text_width(out.back());
  }
  return out;
}

// A cell of a heat map as one character.
std::string_view mark_of(Tone tone) {
  return nth_word(tone, "? ? - ● · ◐");
}

std::vector<Text> titles_of(const PageTable& table) {
  std::vector<Text> out;
  for (const Column& column : table.columns) out.push_back(column.title);
  return out;
}

class Terminal {
 public:
  // Sentences that span a very wide terminal would be hard to read.
  explicit Terminal(const ReportOptions& options)
      : color_(options.color),
        suggests_next_(options.suggests_next),
        width_(static_cast<std::size_t>(std::clamp(options.width, 40, 120))) {}

  std::string shown(const Page& page) {
    head(page);
    for (const Headline& headline : page.headlines) say(headline);
    for (const Block& block : page.blocks)
      if (block.detail != Detail::kDocument) add(block);
    if (!page.notes.empty()) blank();
    for (const PageNote& note : page.notes) labelled(note.label.str(), note.tone, note.message.str());
    if (suggests_next_ && !page.next.empty()) {
      blank();
      std::string commands;
      for (const Text& command : page.next) commands += (commands.empty() ? "" : " | ") + command.str();
      labelled("next:", Tone::kFaint, commands);
    }
    return out_;
  }

 private:
  std::string painted(std::string_view text, std::string_view code) const {
    if (!color_ || code.empty() || text.empty()) return std::string(text);
    return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
  }

  void blank() {
    if (!out_.empty()) out_ += "\n";
  }

  void sentence(std::string_view text, Tone tone = Tone::kPlain, std::size_t indent = 0) {
    bool first = true;
    for (const std::string& line : lines_of(text, width_ - indent, width_ - indent - kGap)) {
      out_ += std::string(indent + (first ? 0 : kGap), ' ') + painted(line, code_of(tone)) + "\n";
      first = false;
    }
  }

  // Adds the label in its colour, then a text that wraps.
  void labelled(std::string_view label, Tone tone, std::string_view text) {
    const std::string whole = std::string(label) + (label.empty() || text.empty() ? "" : " ") + std::string(text);
    bool first = true;
    for (const std::string& line : lines_of(whole, width_, width_ - kGap)) {
      if (first && line.starts_with(label))
        out_ += painted(label, code_of(tone)) + line.substr(label.size()) + "\n";
      else
        out_ += (first ? "" : "  ") + line + "\n";
      first = false;
    }
  }

  void head(const Page& page) {
    const std::string& title = page.title.str();
    if (!title.empty()) {
      const bool fits = text_width(title) + kGap + text_width(page.facts.str()) <= width_;
      out_ += painted(title, code_of(Tone::kStrong));
      if (!page.facts.empty() && fits) out_ += "  " + page.facts.str();
      out_ += "\n";
      if (!page.facts.empty() && !fits) sentence(page.facts.str(), Tone::kPlain, kGap);
    }
    for (const Text& line : page.about) sentence(line.str());
    if (!page.headlines.empty()) blank();
  }

  void say(const Headline& headline) {
    const std::size_t word = text_width(headline.word.str());
    if (word > width_ / 3 && word + kGap + text_width(headline.says.str()) > width_) {
      out_ += painted(headline.word.str(), code_of(headline.tone)) + "\n";
      sentence(headline.says.str(), Tone::kPlain, kGap);
      return;
    }
    const std::string gap = headline.word.empty() || headline.says.empty() ? "" : "  ";
    const std::size_t width = width_ - text_width(headline.word.str()) - gap.size();
    const std::vector<std::string> lines = lines_of(headline.says.str(), width, width);
    out_ += painted(headline.word.str(), code_of(headline.tone));
    const std::string indent(text_width(headline.word.str()) + gap.size(), ' ');
    for (std::size_t i = 0; i < lines.size(); ++i) out_ += (i == 0 ? gap : indent) + lines[i] + "\n";
  }

  void add(const Block& block) {
    if (std::holds_alternative<Chart>(block.body)) return;
    blank();
    const Bars* bars = std::get_if<Bars>(&block.body);
    if (bars != nullptr)
      add_bars(block.title.str(), *bars);
    else if (!block.title.empty())
      sentence(block.title.str());
    if (const auto* sentences = std::get_if<Sentences>(&block.body))
      for (const Text& text : *sentences) sentence(text.str(), Tone::kPlain, block.title.empty() ? 0 : kGap);
    if (const auto* table = std::get_if<PageTable>(&block.body)) add_table(*table, block.title.empty() ? 0 : kGap);
    // The first remark on a heat map explains its figures, but here marks replace them.
    for (const Text& remark : block.remarks)
      if (!std::exchange(has_marks_, false)) sentence(remark.str(), Tone::kPlain, block.title.empty() ? 0 : kGap);
  }

  void add_bars(std::string_view title, const Bars& bars) {
    std::size_t label = text_width(title);
    std::size_t value = text_width(bars.value_title.str());
    std::size_t range = text_width(bars.range_title.str());
    Bytes scale = bars.budget.value_or(Bytes(0));
    for (const BarRow& row : bars.rows) {
      label = std::max(label, kGap + text_width(row.label.str()));
      value = std::max(value, text_width(row.value.str()));
      range = std::max(range, text_width(row.range.str()));
      Bytes sum;
      for (const BarSlice& slice : row.slices) sum += slice.bytes;
      scale = std::max(scale, sum);
    }
    const std::size_t left = label + kGap + value + kGap + (range > 0 ? range + kGap : 0);
    const std::size_t most = width_ > left + 12 ? std::min<std::size_t>(width_ - left, 60) : 0;
    const auto at = [&](Bytes bytes) {
      if (scale == Bytes(0)) return std::size_t{0};
      const double share = static_cast<double>(bytes.count()) / static_cast<double>(scale.count());
      return static_cast<std::size_t>(std::round(share * static_cast<double>(most)));
    };
    const auto line = [&](const std::string& name, std::string_view number, Tone tone, std::string_view spread,
                          const std::string& picture) {
      std::string text = padded(name, label + kGap);
      text += painted(padded(number, value, true), code_of(tone));
      if (range > 0) text += "  " + padded(spread, range);
      text += "  " + picture;
      text.erase(text.find_last_not_of(' ') + 1);
      out_ += text + "\n";
    };
    line(std::string(title), bars.value_title.str(), Tone::kPlain, bars.range_title.str(), "");
    for (const BarRow& row : bars.rows) {
      std::string picture;
      Bytes sum;
      for (const BarSlice& slice : row.slices) {
        const std::size_t begin = at(sum);
        sum += slice.bytes;
        std::string bar;
        for (std::size_t i = begin; i < at(sum); ++i) bar += "█";
        picture += painted(bar, code_of(slice.part));
      }
      if (row.slices.empty() && bars.budget && most > 0) picture = scale_line(bars, at(*bars.budget), most);
      line("  " + row.label.str(), row.value.str(), row.tone, row.range.str(), picture);
    }
  }

  // "|--- budget 72.85 ---|", ending at the budget.
  static std::string scale_line(const Bars& bars, std::size_t to, std::size_t most) {
    const std::string& name = bars.budget_name.str();
    const std::size_t wide = text_width(name);
    if (to < wide + 6) {
      std::string out = to >= 2 ? "|" + std::string(to - 2, '-') + "|" : "|";
      return out.size() + 1 + wide <= most ? out + " " + name : out;
    }
    const std::size_t before = (to - wide - 4) / 2;
    return "|" + std::string(before, '-') + " " + name + " " + std::string(to - wide - 4 - before, '-') + "|";
  }

  void add_table(const PageTable& table, std::size_t indent) {
    std::vector<std::size_t> kept;
    for (std::size_t c = 0; c < table.columns.size(); ++c)
      if (table.columns[c].kind != Column::Kind::kBelow) kept.push_back(c);
    std::vector<std::size_t> widths(table.columns.size());
    const auto measure = [&](const std::vector<Text>& cells) {
      for (std::size_t c = 0; c < std::min(cells.size(), widths.size()); ++c)
        widths[c] = std::max(widths[c], text_width(cells[c].str()));
    };
    measure(titles_of(table));
    for (const TableRow& row : table.rows) measure(row.cells);
    std::erase_if(kept, [&](std::size_t c) { return widths[c] == 0; });
    const auto total = [&] {
      return std::accumulate(kept.begin(), kept.end(), indent, [&](std::size_t sum, std::size_t c) {
        return sum + widths[c] + (c == kept.front() ? 0 : kGap);
      });
    };
    for (unsigned turn = 1; turn <= table.columns.size() && total() > width_; ++turn)
      std::erase_if(kept, [&](std::size_t c) { return table.columns[c].goes == turn; });
    // Columns that do not fit go into further tables below, with the same row names.
    std::size_t names = 0;
    while (names < kept.size() && table.columns[kept[names]].kind == Column::Kind::kText) ++names;
    const bool splits = names > 0 && kept.size() > names + 3 &&
                        std::all_of(kept.begin() + static_cast<std::ptrdiff_t>(names), kept.end(),
                                    [&](std::size_t c) { return table.columns[c].kind == Column::Kind::kNumber; });
    if (splits && total() > width_ && !table.rows.empty() && !table.rows.front().heat.empty())
      return add_marks(table, kept, names, widths);
    if (splits && total() > width_) {
      const std::vector<std::size_t> all = kept;
      for (std::size_t begin = names; begin < all.size();) {
        kept.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(names));
        std::size_t end = begin;
        do kept.push_back(all[end++]);
        while (end < all.size() && total() + kGap + widths[all[end]] <= width_);
        if (begin > names) blank();
        add_rows(table, kept, widths, indent);
        begin = end;
      }
      return;
    }
    // Columns of words are narrowed and folded, starting with the last one.
    constexpr std::size_t kLeast = 20;
    for (std::size_t k = kept.size(); k-- > 0 && total() > width_;) {
      std::size_t& wide = widths[kept[k]];
      if (table.columns[kept[k]].kind == Column::Kind::kText && wide > kLeast)
        wide = std::max(kLeast, wide - std::min(wide, total() - width_));
    }
    add_rows(table, kept, widths, indent);
  }

  // A heat map that is too wide for its figures: one line per row, one mark per cell, letters as titles.
  void add_marks(const PageTable& table, const std::vector<std::size_t>& kept, std::size_t names,
                 std::vector<std::size_t> widths) {
    constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    constexpr std::size_t kLeast = 16;  // of the first column
    const std::size_t marks = kept.size() - names;
    has_marks_ = true;
    std::size_t left = 0;
    for (std::size_t k = 0; k < names; ++k) left += widths[kept[k]] + kGap;
    std::size_t& first = widths[kept.front()];
    const std::size_t cut =
        std::min(left + 2 * marks - std::min(left + 2 * marks, width_), first - std::min(first, kLeast));
    first -= cut;
    left -= cut;
    const auto letter = [&](std::size_t m) { return std::string(1, kLetters[m % kLetters.size()]); };
    std::string legend;
    for (std::size_t m = 0; m < marks; ++m)
      legend += (m > 0 ? "  " : "") + letter(m) + " " + table.columns[kept[names + m]].title.str();
    sentence(legend);
    sentence("● fits  ◐ fits a shorter context  · does not fit or start  - refused  ? not known");
    const std::size_t of_line = std::max<std::size_t>(1, (width_ - std::min(left, width_)) / 2);
    for (std::size_t begin = 0; begin < marks; begin += of_line) {
      const std::size_t end = std::min(marks, begin + of_line);
      blank();
      const auto line = [&](const std::vector<Text>& cells, const auto& mark) {
        std::string text;
        for (std::size_t k = 0; k < names; ++k)
          text += padded(end_of(cells[kept[k]].str(), widths[kept[k]]), widths[kept[k]] + kGap);
        for (std::size_t m = begin; m < end; ++m) text += mark(m) + (m + 1 < end ? " " : "");
        out_ += text + "\n";
      };
      line(titles_of(table), letter);
      for (const TableRow& row : table.rows)
        line(row.cells, [&](std::size_t m) {
          const Tone tone = m < row.heat.size() ? row.heat[m].tone : Tone::kPlain;
          return painted(mark_of(tone), code_of(tone));
        });
    }
  }

  void add_rows(const PageTable& table, const std::vector<std::size_t>& kept, const std::vector<std::size_t>& widths,
                std::size_t indent) {
    const auto line = [&](const std::vector<Text>& cells, Tone tone) {
      std::vector<std::vector<std::string>> folded;
      std::size_t height = 1;
      for (const std::size_t c : kept) {
        folded.push_back(c < cells.size() ? lines_of(cells[c].str(), widths[c], widths[c])
                                          : std::vector<std::string>{""});
        height = std::max(height, folded.back().size());
      }
      for (std::size_t i = 0; i < height; ++i) {
        std::string text(indent, ' ');
        for (std::size_t k = 0; k < kept.size(); ++k) {
          if (k > 0) text += "  ";
          text += padded(i < folded[k].size() ? folded[k][i] : "", widths[kept[k]],
                         table.columns[kept[k]].kind == Column::Kind::kNumber);
        }
        text.erase(text.find_last_not_of(' ') + 1);
        out_ += painted(text, code_of(tone)) + "\n";
      }
    };
    const std::vector<Text> titles = titles_of(table);
    if (std::any_of(titles.begin(), titles.end(), [](const Text& title) { return !title.empty(); }))
      line(titles, Tone::kFaint);
    for (const TableRow& row : table.rows) {
      line(row.cells, row.tone);
      for (std::size_t c = 0; c < std::min(row.cells.size(), table.columns.size()); ++c)
        if (table.columns[c].kind == Column::Kind::kBelow && !row.cells[c].empty())
          sentence(row.cells[c].str(), Tone::kPlain, indent + 4);
    }
  }

  bool color_, suggests_next_;
  bool has_marks_ = false;
  std::size_t width_;
  std::string out_;
};

}  // namespace

std::string terminal(const Page& page, const ReportOptions& options) {
  return Terminal(options).shown(page);
}

}  // namespace kvplan
