// A page as Markdown, for a pull-request comment. GitHub's dialect has tables, links and mentions, and a string from a
// file must not start any of them.
#include <fmt/format.h>

#include <algorithm>

#include "kvplan/strings.h"
#include "report/renderers/renderers.h"

namespace kvplan {

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// GitHub finds mentions and references in the rendered text, where backslashes are gone. A comment separates them
// reliably.
constexpr std::string_view kParted = "<!-- -->";

std::string markdown_escaped(std::string_view text) {
  constexpr std::string_view kMarkup = "\\`*{}[]<>#|~@!$&";
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const char before = at > 0 ? text[at - 1] : ' ';
    const char after = at + 1 < text.size() ? text[at + 1] : ' ';
    const std::string_view so_far = text.substr(0, at);
    // Within a word, as in fp8_e4m3, it has no meaning.
    const bool is_emphasis = c == '_' && !(is_letter_or_digit(before) && is_letter_or_digit(after));
    const bool is_link =
        (c == ':' && after == '/') || (c == '.' && (so_far.ends_with("www") || so_far.ends_with("WWW")));
    const bool is_arrow = c == '>' && before == '-';
    if ((kMarkup.find(c) != std::string_view::npos && !is_arrow) || is_emphasis || is_link) out += '\\';
    out += c;
    const bool is_reference = (c == '#' && is_digit(after)) || (c == '@' && is_letter_or_digit(after)) ||
                              (c == '-' && is_digit(after) && (so_far.ends_with("GH") || so_far.ends_with("gh")));
    if (is_reference) out += kParted;
  }
  return out;
}

// Escapes what would start a list or a horizontal rule.
std::string paragraph(const Text& words) {
  std::string_view text = words.str();
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  std::string out = markdown_escaped(text);
  if (text.starts_with('-') || text.starts_with('+') || text.starts_with('=')) return "\\" + out;
  std::size_t digits = 0;
  while (digits < text.size() && is_digit(text[digits])) ++digits;
  const bool is_item = digits > 0 && digits < text.size() && (text[digits] == '.' || text[digits] == ')') &&
                       (digits + 1 == text.size() || text[digits + 1] == ' ');
  return is_item ? out.insert(digits, "\\") : out;
}

std::string bold(const std::string& text) {
  return text.empty() ? "" : "**" + text + "**";
}

// Formulas are code, which has no markup, except that a bar ends a cell of a table.
std::string code(std::string_view text) {
  if (text.empty()) return "";
  std::string fence = "`";
  while (text.find(fence) != std::string_view::npos) fence += '`';
  const std::string gap = fence.size() > 1 ? " " : "";
  return fence + gap + replaced(text, {{'|', "\\|"}}) + gap + fence;
}

class Markdown {
 public:
  std::string shown(const Page& page) {
    if (!page.title.empty())
      say("### " + markdown_escaped(page.title.str()) +
          (page.facts.empty() ? "" : ": " + markdown_escaped(page.facts.str())));
    for (const Text& line : page.about) say(paragraph(line));
    for (const Headline& headline : page.headlines) say(line_of(headline));
    for (const Block& block : page.blocks)
      if (block.detail == Detail::kComment) add(block);
    for (const PageNote& note : page.notes)
      say("> " + (note.label.empty()
                      ? paragraph(note.message)
                      : bold(markdown_escaped(note.label.str())) + " " + markdown_escaped(note.message.str())));
    return out_;
  }

 private:
  // Blocks of Markdown are separated by empty lines.
  void say(const std::string& text) {
    if (text.empty()) return;
    if (!out_.empty()) out_ += "\n";
    out_ += text + "\n";
  }

  static std::string line_of(const Headline& headline) {
    const std::string says = markdown_escaped(headline.says.str());
    if (headline.word.empty()) return bold(says);
    return bold(markdown_escaped(headline.word.str())) + (says.empty() ? "" : ": " + says);
  }

  void add(const Block& block) {
    if (std::holds_alternative<Chart>(block.body)) return;
    if (const auto* sentences = std::get_if<Sentences>(&block.body)) {
      say(bold(markdown_escaped(block.title.str())));
      std::string list;
      for (const Text& text : *sentences)
        list += (list.empty() ? "" : "\n") + std::string(sentences->size() > 1 ? "- " : "") + paragraph(text);
      say(list);
    }
    if (const auto* table = std::get_if<PageTable>(&block.body)) add(block.title, *table);
    if (const auto* bars = std::get_if<Bars>(&block.body)) {
      PageTable table{{{{}}, {bars->value_title, Column::Kind::kNumber}, {bars->range_title}}, {}};
      for (const BarRow& row : bars->rows) table.rows.push_back({{row.label, row.value, row.range}, row.tone});
      add(block.title, table);
    }
    for (const Text& remark : block.remarks) say(paragraph(remark));
  }

  // If the first column has no title, it gets the block's title.
  void add(const Text& title, const PageTable& table) {
    const std::vector<std::size_t> kept = columns_with_text(table);
    if (kept.empty()) return;
    const bool is_titled = !table.columns[kept.front()].title.empty();
    if (is_titled) say(bold(markdown_escaped(title.str())));
    std::string text = "|";
    for (const std::size_t c : kept)
      text += " " + markdown_escaped((c == kept.front() && !is_titled ? title : table.columns[c].title).str()) + " |";
    text += "\n|";
    for (const std::size_t c : kept) text += table.columns[c].kind == Column::Kind::kNumber ? "---:|" : "---|";
    for (const TableRow& row : table.rows) {
      text += "\n|";
      for (const std::size_t c : kept)
        text += " " + (c < row.cells.size() ? cell(table.columns[c], row, c) : "") + " |";
    }
    say(text);
  }

  static std::string cell(const Column& column, const TableRow& row, std::size_t c) {
    if (column.kind == Column::Kind::kBelow) return code(row.cells[c].str());
    const std::string text = markdown_escaped(row.cells[c].str());
    return row.tone == Tone::kStrong || row.tone == Tone::kBad ? bold(text) : text;
  }

  std::string out_;
};

}  // namespace

std::vector<std::size_t> columns_with_text(const PageTable& table) {
  std::vector<std::size_t> out;
  for (std::size_t c = 0; c < table.columns.size(); ++c)
    if (!table.columns[c].title.empty() || std::any_of(table.rows.begin(), table.rows.end(), [&](const TableRow& row) {
          return c < row.cells.size() && !row.cells[c].empty();
        }))
      out.push_back(c);
  return out;
}

std::string markdown(const Page& page) {
  return Markdown().shown(page);
}

}  // namespace kvplan
