// Renders a page as text: one renderer for each form, for every question.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/page.h"
#include "report/report.h"

namespace kvplan {

std::string terminal(const Page& page, const ReportOptions& options);
std::string markdown(const Page& page);
std::string html(const Page& page);
std::string svg(const Page& page);
// Workflow annotations: the headline, and one for each warning.
std::string github(const Page& page);

// The columns with a title or a cell that is not empty.
std::vector<std::size_t> columns_with_text(const PageTable& table);
// Escapes text for an element or a quoted attribute.
std::string html_escape(std::string_view text);
std::string html_chart(const Chart& chart);
// The contents of its SVG, 520 wide and 300 high; empty for a chart without curves.
std::string chart_picture(const Chart& chart);
// The slices of a row. A total without slices has those of the rows above it.
std::vector<BarSlice> slices_of(const Bars& bars, std::size_t row);
// style.css
std::span<const std::string_view> style_lines();

}  // namespace kvplan
