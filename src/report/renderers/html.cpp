// A page as one HTML file: no network, no script except for heat maps, light and dark, wide and narrow screens.
#include <fmt/format.h>

#include <algorithm>

#include "kvplan/strings.h"
#include "kvplan/version.h"
#include "report/renderers/renderers.h"
#include "report/words.h"

namespace kvplan {

namespace {

std::string_view class_of(Tone tone) {
  return nth_word(tone, "|strong|muted|good|bad|warn", '|');
}

// "<p class="good">"; `classes` come before the tone's.
std::string opened(std::string_view element, std::string_view classes, Tone tone = Tone::kPlain) {
  const std::string_view more = class_of(tone);
  const std::string all = std::string(classes) + (classes.empty() || more.empty() ? "" : " ") + std::string(more);
  return all.empty() ? fmt::format("<{}>", element) : fmt::format("<{} class=\"{}\">", element, all);
}

std::string inside(std::string_view element, std::string_view classes, const Text& text, Tone tone = Tone::kPlain) {
  return opened(element, classes, tone) + html_escape(text.str()) + fmt::format("</{}>", element);
}

std::string paragraphs(const Sentences& sentences, std::string_view classes = "") {
  std::string out;
  for (const Text& text : sentences) out += inside("p", classes, text) + "\n";
  return out;
}

// --- tables ---

// Sorts a heat map by a column and filters its rows. The page's policy allows only this script, by its hash.
constexpr std::string_view kHeatScript =
    R"JS(for (const map of document.querySelectorAll(".map")) {
  const body = map.querySelector("tbody"), rows = [...body.rows];
  const words = map.querySelector("[type=search]"), fitting = map.querySelector("[type=checkbox]");
  const show = () => { for (const row of rows) row.hidden =
    !row.cells[0].textContent.toLowerCase().includes(words.value.toLowerCase()) ||
    fitting.checked && !row.querySelector("td.fits"); };
  words.oninput = fitting.onchange = show;
  const heads = map.querySelectorAll("th");
  heads.forEach((head, at) => head.firstChild.onclick = () => {
    const value = row => row.cells[at].dataset.value, isFigure = value(rows[0]) !== undefined;
    const falls = head.ariaSort ? head.ariaSort === "ascending" : isFigure;
    const key = row => isFigure ? +value(row) : row.cells[at].textContent.toLowerCase();
    rows.sort((a, b) => (falls ? 1 : -1) * (key(a) < key(b) ? 1 : key(a) > key(b) ? -1 : 0));
    for (const other of heads) other.ariaSort = null;
    head.ariaSort = falls ? "descending" : "ascending";
    body.append(...rows); });
})JS";
constexpr std::string_view kHeatHash = "MLWNN1PTO5XpDRmQqWq3KFv2lQuHpGYzO0weZw/CDZE=";

bool is_heat_map(const PageTable& table) {
  return !table.rows.empty() && !table.rows.front().heat.empty();
}

std::string heat_map_html(const PageTable& table) {
  std::string out =
      "<div class=\"map\">\n<p><input type=\"search\" placeholder=\"filter models\" aria-label=\"filter models\"> "
      "<label><input type=\"checkbox\"> only models that fit</label></p>\n<div class=\"scroll\"><table>\n<thead><tr>";
  for (const Column& column : table.columns)
    out += fmt::format("<th scope=\"col\"{}><button type=\"button\">{}</button></th>",
                       column.kind == Column::Kind::kNumber ? " class=\"n\"" : "", html_escape(column.title.str()));
  out += "</tr></thead>\n<tbody>\n";
  for (const TableRow& row : table.rows) {
    out += "<tr>";
    const std::size_t names = row.cells.size() - std::min(row.heat.size(), row.cells.size());
    for (std::size_t c = 0; c < row.cells.size(); ++c) {
      const std::string text = html_escape(row.cells[c].str());
      if (c < names) {
        out += "<td>" + text + "</td>";
        continue;
      }
      const Heat& heat = row.heat[c - names];
      const std::string_view classes = heat.tone == Tone::kGood      ? "n fits"
                                       : heat.tone == Tone::kCareful ? "n less"
                                       : heat.tone == Tone::kBad     ? "n none"
                                                                     : "n";
      out += fmt::format("<td class=\"{}\" title=\"{}\" data-value=\"{:.0f}\">{}</td>", classes,
                         html_escape(heat.title.str()), heat.value, text);
    }
    out += "</tr>\n";
  }
  return out + "</tbody>\n</table></div>\n</div>\n";
}

// On a narrow screen a row becomes a block whose cells are labelled with their columns' titles.
std::string table_html(const PageTable& table) {
  if (is_heat_map(table)) return heat_map_html(table);
  const std::vector<std::size_t> kept = columns_with_text(table);
  const bool has_titles = std::any_of(table.columns.begin(), table.columns.end(),
                                      [](const Column& column) { return !column.title.empty(); });
  std::string out = "<div class=\"scroll\">" + opened("table", has_titles ? "" : "facts") + "\n";
  if (has_titles) {
    out += "<thead><tr>";
    for (const std::size_t c : kept)
      out += fmt::format("<th scope=\"col\"{}>{}</th>",
                         table.columns[c].kind == Column::Kind::kNumber ? " class=\"n\"" : "",
                         html_escape(table.columns[c].title.str()));
    out += "</tr></thead>\n";
  }
  out += "<tbody>\n";
  for (const TableRow& row : table.rows) {
    out += opened("tr", "", row.tone);
    for (const std::size_t c : kept) {
      const bool empty = c >= row.cells.size() || row.cells[c].empty();
      const Column& column = table.columns[c];
      std::string classes = column.kind == Column::Kind::kNumber ? "n" : "";
      if (empty) classes += classes.empty() ? "empty" : " empty";
      std::string text = empty ? "" : html_escape(row.cells[c].str());
      if (!empty && column.kind == Column::Kind::kBelow) text = "<code>" + text + "</code>";
      out += fmt::format("<td data-name=\"{}\"{}><span>{}</span></td>", html_escape(column.title.str()),
                         classes.empty() ? "" : " class=\"" + classes + "\"", text);
    }
    out += "</tr>\n";
  }
  return out + "</tbody>\n</table></div>\n";
}

// --- bars ---

std::string_view name_of(Section part) {
  return kParts[static_cast<std::size_t>(part)].name;
}

std::string color_of(Section part) {
  return fmt::format("p{}", static_cast<int>(part) + 1);
}

Bytes sum_of(const std::vector<BarSlice>& slices) {
  Bytes out;
  for (const BarSlice& slice : slices) out += slice.bytes;
  return out;
}

class BarPicture {
 public:
  explicit BarPicture(const Bars& bars) : bars_(bars) {
    scale_ = std::max(bars.budget.value_or(Bytes(0)), bars.card.value_or(Bytes(0)));
    for (std::size_t row = 0; row < bars.rows.size(); ++row) scale_ = std::max(scale_, sum_of(slices_of(bars, row)));
  }

  std::string shown() const {
    std::string out = "<div class=\"bars\">\n" + head();
    for (std::size_t row = 0; row < bars_.rows.size(); ++row) out += line(row);
    return out + "</div>\n" + key();
  }

 private:
  double percent(Bytes bytes) const {
    if (scale_ == Bytes(0)) return 0;
    return 100.0 * static_cast<double>(bytes.count()) / static_cast<double>(scale_.count());
  }

  std::string head() const {
    std::string label;
    if (bars_.budget && scale_ > Bytes(0)) {
      const double at = percent(*bars_.budget);
      label = fmt::format("<span style=\"{}:{:.3f}%\">{}</span>", at > 50 ? "right" : "left", at > 50 ? 100 - at : at,
                          html_escape(bars_.budget_name.str()));
    }
    return "<div class=\"head\"><span></span><div class=\"scale\">" + label + "</div>" +
           inside("span", "v", bars_.value_title) + inside("span", "r", bars_.range_title) + "</div>\n";
  }

  std::string line(std::size_t row) const {
    const BarRow& shown = bars_.rows[row];
    std::string picture;
    std::string aloud;
    for (const BarSlice& slice : slices_of(bars_, row)) {
      aloud += fmt::format("{}{} {}", aloud.empty() ? "" : ", ", name_of(slice.part), gib(slice.bytes));
      picture +=
          fmt::format("<i class=\"{}\" style=\"width:{:.3f}%\"></i>", color_of(slice.part), percent(slice.bytes));
    }
    if (scale_ > Bytes(0)) picture += limit(bars_.budget, "") + limit(bars_.card, " class=\"card\"");
    const std::string label_attribute =
        aloud.empty() ? " aria-hidden=\"true\"" : " role=\"img\" aria-label=\"" + aloud + "\"";
    return "<div>" + inside("span", "", shown.label, shown.tone) + "<div class=\"bar\"" + label_attribute + ">" +
           picture + "</div>" + inside("span", "v", shown.value, shown.tone) + inside("span", "r", shown.range) +
           "</div>\n";
  }

  std::string limit(const std::optional<Bytes>& bytes, std::string_view classes) const {
    return bytes ? fmt::format("<u{} style=\"left:calc({:.3f}% - 2px)\"></u>", classes, percent(*bytes)) : "";
  }

  std::string key() const {
    std::vector<Section> parts;
    for (const PartName& part : kParts)
      for (const BarRow& row : bars_.rows)
        if (std::any_of(row.slices.begin(), row.slices.end(), [&](const BarSlice& s) { return s.part == part.part; }) &&
            (parts.empty() || parts.back() != part.part))
          parts.push_back(part.part);
    std::string out = "<ul class=\"key\">";
    for (const Section part : parts)
      out += fmt::format("<li><i class=\"{}\"></i>{}</li>", color_of(part), name_of(part));
    if (bars_.budget) out += "<li><u></u>" + html_escape(bars_.budget_name.str()) + "</li>";
    if (bars_.card) out += "<li><u class=\"card\"></u>" + html_escape(bars_.card_name.str()) + "</li>";
    return out.ends_with("</li>") ? out + "</ul>\n" : "";
  }

  const Bars& bars_;
  Bytes scale_;
};

// --- the page ---

std::string body_of(const Block& block) {
  if (const auto* sentences = std::get_if<Sentences>(&block.body)) return paragraphs(*sentences);
  if (const auto* table = std::get_if<PageTable>(&block.body)) return table_html(*table);
  if (const auto* bars = std::get_if<Bars>(&block.body)) return BarPicture(*bars).shown();
  return html_chart(std::get<Chart>(block.body));
}

std::string block_html(const Block& block) {
  const std::string body = body_of(block);
  if (body.empty()) return "";
  const std::string under = paragraphs(block.remarks, "small");
  if (block.is_folded) return "<details>" + inside("summary", "", block.title) + "\n" + body + under + "</details>\n";
  return "<section>\n" + (block.title.empty() ? "" : inside("h2", "", block.title) + "\n") + body + under +
         "</section>\n";
}

// Consecutive charts are side by side if there is space.
std::string blocks_html(const std::vector<Block>& blocks) {
  std::string out;
  std::string charts;
  const auto end_charts = [&] {
    if (!charts.empty()) out += "<div class=\"charts\">\n" + charts + "</div>\n";
    charts.clear();
  };
  for (const Block& block : blocks) {
    if (std::holds_alternative<Chart>(block.body)) {
      charts += block_html(block);
    } else {
      end_charts();
      out += block_html(block);
    }
  }
  end_charts();
  return out;
}

std::string head_html(const Page& page) {
  std::string out;
  if (!page.title.empty()) out += inside("h1", "", page.title) + "\n";
  if (!page.facts.empty()) out += inside("p", "muted", page.facts) + "\n";
  out += paragraphs(page.about);
  for (const Headline& headline : page.headlines) {
    out += opened("p", "verdict", headline.tone);
    if (!headline.word.empty()) out += inside("b", "", headline.word) + " ";
    out += inside("span", "", headline.says) + "</p>\n";
  }
  return out;
}

std::string notes_html(const std::vector<PageNote>& notes) {
  if (notes.empty()) return "";
  std::string out = "<section>\n<h2>Notes</h2>\n";
  for (const PageNote& note : notes) {
    out += "<p>";
    if (!note.label.empty()) out += inside("b", "", note.label, note.tone) + " ";
    out += html_escape(note.message.str()) + "</p>\n";
  }
  return out + "</section>\n";
}

}  // namespace

std::vector<BarSlice> slices_of(const Bars& bars, std::size_t row) {
  if (!bars.rows[row].slices.empty() || bars.rows[row].tone != Tone::kStrong) return bars.rows[row].slices;
  std::vector<BarSlice> out;
  for (std::size_t above = 0; above < row; ++above)
    out.insert(out.end(), bars.rows[above].slices.begin(), bars.rows[above].slices.end());
  return out;
}

std::string html_escape(std::string_view text) {
  std::string valid;
  for (std::size_t at = 0; at < text.size();) {
    const Character next = character_at(text, at);
    const bool is_shown = next.bytes > 0 && next.code >= 0x20 && next.code != 0x7F;
    valid += is_shown ? text.substr(at, next.bytes) : "\xEF\xBF\xBD";
    at += std::max<std::size_t>(next.bytes, 1);
  }
  return replaced(valid, {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}});
}

std::string html(const Page& page) {
  const bool has_script = std::any_of(page.blocks.begin(), page.blocks.end(), [](const Block& block) {
    const auto* table = std::get_if<PageTable>(&block.body);
    return table != nullptr && is_heat_map(*table);
  });
  std::string out =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "img-src data:";
  if (has_script) out += "; script-src 'sha256-" + std::string(kHeatHash) + "'";
  out += "\">\n<link rel=\"icon\" href=\"data:,\">\n<title>";
  out += page.title.empty() ? "kvplan" : "kvplan: " + html_escape(page.title.str());
  out += "</title>\n<style>\n";
  out += join(style_lines().subspan(1), "\n") + "\n";
  out += "</style>\n</head>\n<body>\n";
  out += head_html(page) + blocks_html(page.blocks) + notes_html(page.notes);
  if (has_script) out += "<script>" + std::string(kHeatScript) + "</script>\n";
  out += fmt::format(
      "<footer>kvplan {}. 1 GiB is 2<sup>30</sup> bytes. A figure with a range is an estimate.</footer>\n</body>\n"
      "</html>\n",
      kVersion);
  return out;
}

}  // namespace kvplan
