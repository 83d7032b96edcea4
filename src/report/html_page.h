// What every HTML page of kvplan shares: one file without network, its style, escaping, and line charts as inline SVG.
#ifndef KVPLAN_REPORT_HTML_PAGE_H_
#define KVPLAN_REPORT_HTML_PAGE_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kvplan {

// Text from outside, safe in an element and in a quoted attribute; broken UTF-8 and control bytes become U+FFFD.
std::string html_escape(std::string_view text);

// A whole page; `title` is escaped here, `body` is markup.
std::string html_page(std::string_view title, std::string_view body);

struct HtmlColumn {
  std::string title;
  bool is_number = false;
};
// Cells are markup already. On a narrow screen every row becomes a block whose cells carry their column's title.
std::string html_rows(const std::vector<HtmlColumn>& columns, const std::vector<std::vector<std::string>>& rows);

struct ChartSeries {
  std::string name;
  std::vector<double> y;  // one for each x
};
struct Chart {
  std::string title;    // read aloud in place of the picture
  std::string x_title;  // under the axis
  std::string y_title;
  std::vector<double> x;
  std::vector<ChartSeries> series;
  std::optional<double> limit;  // a level across the picture
  std::string limit_name;
  std::optional<double> marked;  // an x of its own: the request
  std::string marked_name;
  bool log_x = false;
  bool log_y = false;
  bool x_is_tokens = false;  // ticks as 32k, 1M
  bool y_is_tokens = false;
};
std::string html_chart(const Chart& chart);

}  // namespace kvplan

#endif  // KVPLAN_REPORT_HTML_PAGE_H_
