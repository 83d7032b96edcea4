// The pictures of a page as one SVG file, light and dark: bars of memory, and charts. Empty for a page without them.
#include <fmt/format.h>

#include <algorithm>

#include "kvplan/strings.h"
#include "report/renderers/renderers.h"
#include "report/words.h"

namespace kvplan {

namespace {

constexpr double kPage = 720, kEdge = 20, kBarsFrom = 190, kBarsTo = 600, kLine = 22;

class Picture {
 public:
  std::string shown(const Page& page) {
    const bool has_pictures = std::any_of(page.blocks.begin(), page.blocks.end(), is_picture);
    if (!has_pictures) return "";
    words(kEdge, page.title, "title");
    words(kEdge, page.facts, "muted");
    for (const Text& line : page.about) words(kEdge, line, "muted");
    for (const Headline& headline : page.headlines)
      words(kEdge, headline.word.str() + (headline.word.empty() ? "" : "  ") + headline.says.str(), "strong");
    for (const Block& block : page.blocks) {
      if (!is_picture(block)) continue;
      y_ += kLine / 2;
      words(kEdge, block.title, "strong");
      if (const auto* bars = std::get_if<Bars>(&block.body)) add(*bars);
      if (const auto* chart = std::get_if<Chart>(&block.body)) add(*chart);
    }
    return fmt::format(
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} "
               "{1:.0f}\" role=\"img\" aria-label=\"{2}\">\n<style>\n{3}\n"
               "text {{ font: 13px system-ui, sans-serif; fill: var(--text); }} svg svg text {{ font-size: 10px; }} "
               ".title {{ font-size: 18px; }}\n"
               ".title, .strong {{ font-weight: 600; }} .muted {{ fill: var(--muted); }} .page {{ fill: var(--page); "
               "}}\n"
               "rect.p1 {{ fill: var(--s1); }} rect.p2 {{ fill: var(--s2); }} rect.p3 {{ fill: var(--s3); }} "
               "rect.p4 {{ fill: var(--s4); }}\n</style>\n<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n",
               kPage, y_ + kEdge, html_escape(page.title.str()), join(style_lines().subspan(1), "\n")) +
           out_ + "</svg>\n";
  }

 private:
  static bool is_picture(const Block& block) {
    if (const auto* bars = std::get_if<Bars>(&block.body)) return !bars->rows.empty();
    const auto* chart = std::get_if<Chart>(&block.body);
    return chart != nullptr && !chart_picture(*chart).empty();
  }

  void put(double x, double y, std::string_view text, std::string_view classes, std::string_view anchor = "start") {
    out_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\" text-anchor=\"{}\">{}</text>\n", x, y, classes,
                        anchor, html_escape(text));
  }

  // A separate line. Text that is too long for the picture is cut.
  void words(double x, const Text& text, std::string_view classes) {
    constexpr std::size_t kMost = 104;
    if (text.empty()) return;
    y_ += kLine;
    const std::size_t shown = first_characters(text.str(), kMost);
    put(x, y_, text.str().substr(0, shown) + (shown < text.str().size() ? "..." : ""), classes);
  }

  void add(const Bars& bars) {
    Bytes scale = std::max(bars.budget.value_or(Bytes(0)), bars.card.value_or(Bytes(0)));
    for (std::size_t row = 0; row < bars.rows.size(); ++row) {
      Bytes sum;
      for (const BarSlice& slice : slices_of(bars, row)) sum += slice.bytes;
      scale = std::max(scale, sum);
    }
    const auto at = [&](Bytes bytes) {
      const double share =
          scale == Bytes(0) ? 0 : static_cast<double>(bytes.count()) / static_cast<double>(scale.count());
      return kBarsFrom + share * (kBarsTo - kBarsFrom);
    };
    put(kPage - kEdge, y_, bars.value_title.str(), "muted", "end");
    const double top = y_ + 4;
    for (std::size_t row = 0; row < bars.rows.size(); ++row) {
      y_ += kLine;
      put(kEdge, y_, end_of(bars.rows[row].label.str(), 26), "");
      put(kPage - kEdge, y_, bars.rows[row].value.str(), "", "end");
      Bytes sum;
      for (const BarSlice& slice : slices_of(bars, row)) {
        const double from = at(sum);
        sum += slice.bytes;
        out_ += fmt::format("<rect class=\"p{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"14\"/>\n",
                            static_cast<int>(slice.part) + 1, from, y_ - 11, at(sum) - from);
      }
    }
    if (bars.budget) {
      out_ += fmt::format("<path class=\"limit\" d=\"M{:.1f} {:.1f}V{:.1f}\"/>\n", at(*bars.budget), top, y_ + 6);
      y_ += kLine;
      put(at(*bars.budget), y_, bars.budget_name.str(), "muted", at(*bars.budget) > kPage / 2 ? "end" : "start");
    }
    y_ += kLine;
    double x = kBarsFrom;
    for (const PartName& part : kParts) {
      out_ += fmt::format("<rect class=\"p{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"12\" height=\"12\"/>\n",
                          static_cast<int>(part.part) + 1, x, y_ - 10);
      put(x + 17, y_, part.name, "muted");
      x += 105;
    }
  }

  void add(const Chart& chart) {
    constexpr double kHeight = 390;  // of a chart that fills the width
    out_ += fmt::format("<svg x=\"{:.0f}\" y=\"{:.0f}\" width=\"{:.0f}\" height=\"{:.0f}\" viewBox=\"0 0 520 300\">\n",
                        kEdge, y_ + 4, kPage - 2 * kEdge, kHeight) +
            chart_picture(chart) + "</svg>\n";
    y_ += kHeight + 4;
    for (std::size_t i = 0; i < chart.series.size(); ++i) {
      if (chart.series.size() < 2) break;
      y_ += kLine;
      out_ += fmt::format("<path class=\"curve l{}\" d=\"M{:.0f} {:.1f}h30\"/>\n", i % 6 + 1, kEdge, y_ - 5);
      put(kEdge + 40, y_, chart.series[i].name.str(), "");
    }
  }

  std::string out_;
  double y_ = 10;
};

}  // namespace

std::string svg(const Page& page) {
  return Picture().shown(page);
}

}  // namespace kvplan
