// Line charts as inline SVG: without scripts or fonts, and readable without colour (each curve has its own dashes).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/renderers/renderers.h"
#include "report/words.h"

namespace kvplan {

namespace {

constexpr double kWidth = 520;
constexpr double kHeight = 300;
constexpr double kLeft = 60;
constexpr double kRight = 18;
constexpr double kTop = 30;
constexpr double kBottom = 50;

// Maps a value to its place on an axis of `length` pixels.
struct Axis {
  double low = 0, high = 1, length = 1;
  bool log = false;
  double at(double value) const {
    const double share = log ? std::log2(value / low) / std::log2(high / low) : (value - low) / (high - low);
    return std::clamp(share, 0.0, 1.0) * length;
  }
};

double nice_step(double span, double pieces) {
  const double raw = span / pieces;
  double ten = 1;
  while (ten > raw) ten /= 10;
  while (ten * 10 <= raw) ten *= 10;
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * ten >= raw) return factor * ten;
  return 10 * ten;
}

std::vector<double> ticks(const Axis& axis, bool tokens) {
  std::vector<double> out;
  constexpr double kPieces = 5;
  if (axis.log) {
    const double octaves = std::log2(axis.high / axis.low);
    const double step = std::max(1.0, std::ceil(octaves / kPieces));
    const double last = std::log2(axis.high) + 1e-9;
    for (double octave = std::ceil(std::log2(axis.low) - 1e-9); octave <= last; octave += step)
      out.push_back(std::exp2(octave));
    return out;
  }
  const double span = axis.high - axis.low;
  const double step =
      tokens ? std::exp2(std::ceil(std::log2(std::max(span, 1.0) / kPieces))) : nice_step(span, kPieces);
  for (double value = axis.low; value <= axis.high * (1 + 1e-9); value += step) out.push_back(value);
  return out;
}

std::string tick_text(double value, bool tokens) {
  if (tokens) return tokens_text(static_cast<std::uint64_t>(std::round(value)));
  return fmt::format("{:.4g}", value);
}

std::string legend(const Chart& chart) {
  if (chart.series.size() < 2) return "";
  std::string out = "<ul class=\"key\">";
  for (std::size_t i = 0; i < chart.series.size(); ++i)
    out += fmt::format(
        "<li><svg viewBox=\"0 0 26 10\" aria-hidden=\"true\"><path class=\"curve l{}\" d=\"M0 5H26\"/></svg>{}</li>",
        i % 6 + 1, html_escape(chart.series[i].name.str()));
  return out + "</ul>\n";
}

// A limit far above all curves would flatten them, so it is named below the chart and not drawn.
bool draws_limit(const Chart& chart) {
  double high = 0;
  for (const ChartSeries& series : chart.series)
    for (const double y : series.y) high = std::max(high, y);
  return chart.limit && *chart.limit <= high * 4;
}

}  // namespace

std::string chart_picture(const Chart& chart) {
  if (chart.x.size() < 2 || chart.series.empty()) return "";
  double high = 0;
  double low = 1e300;
  for (const ChartSeries& series : chart.series)
    for (const double y : series.y) {
      high = std::max(high, y);
      if (y > 0) low = std::min(low, y);
    }
  if (!(high > 0)) return "";
  const bool drawn = draws_limit(chart);
  if (drawn) high = std::max(high, *chart.limit * 1.08);
  Axis x{chart.x.front(), chart.x.back(), kWidth - kLeft - kRight, chart.log_x};
  Axis y{chart.log_y ? low : 0, high, kHeight - kTop - kBottom, chart.log_y};
  if (y.log && y.high / y.low < 2) y.low = y.high / 2;
  const auto px = [&](double value) { return kLeft + x.at(value); };
  const auto py = [&](double value) { return kHeight - kBottom - y.at(value); };

  std::string out;
  for (const double value : ticks(y, chart.y_is_tokens))
    out += fmt::format(
        "<path class=\"grid\" d=\"M{0:.1f} {1:.1f}H{2:.1f}\"/><text x=\"{3:.1f}\" y=\"{4:.1f}\" "
        "text-anchor=\"end\">{5}</text>\n",
        kLeft, py(value), kWidth - kRight, kLeft - 6, py(value) + 4.5, tick_text(value, chart.y_is_tokens));
  for (const double value : ticks(x, chart.x_is_tokens)) {
    const bool last = px(value) > kWidth - kRight - 8;  // it would be outside of the picture
    out += fmt::format(
        "<path class=\"grid\" d=\"M{:.1f} {:.1f}v5\"/><text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n",
        px(value), kHeight - kBottom, last ? kWidth : px(value), kHeight - kBottom + 21, last ? "end" : "middle",
        tick_text(value, chart.x_is_tokens));
  }
  out +=
      fmt::format("<text x=\"2\" y=\"16\">{}</text>\n<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
                  html_escape(chart.y_title.str()), kWidth - kRight, kHeight - 6, html_escape(chart.x_title.str()));
  if (chart.marked && *chart.marked >= x.low && *chart.marked <= x.high)
    out +=
        fmt::format("<path class=\"mark\" d=\"M{:.1f} {:.1f}V{:.1f}\"/>\n", px(*chart.marked), kTop, kHeight - kBottom);
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    std::string path;
    for (std::size_t n = 0; n < chart.series[i].y.size(); ++n)
      path += fmt::format("{}{:.1f} {:.1f}", n == 0 ? "M" : "L", px(chart.x[n]), py(chart.series[i].y[n]));
    out += fmt::format("<path class=\"curve l{}\" d=\"{}\"/>\n", i % 6 + 1, path);
  }
  if (drawn) {
    const double level = py(*chart.limit);
    out += fmt::format(
        "<path class=\"limit\" d=\"M{:.1f} {:.1f}H{:.1f}\"/><text class=\"strong\" x=\"{:.1f}\" "
        "y=\"{:.1f}\">{}</text>\n",
        kLeft, level, kWidth - kRight, kLeft + 6, level - 6, html_escape(chart.limit_name.str()));
  }
  return out;
}

std::string html_chart(const Chart& chart) {
  const std::string picture = chart_picture(chart);
  if (picture.empty()) return "";
  std::string out = fmt::format("<figure>\n<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\">\n",
                                kWidth, kHeight, html_escape(chart.title.str())) +
                    picture + "</svg>\n" + legend(chart);
  std::string caption;
  if (chart.limit && !draws_limit(chart))
    caption += "Far above this chart: " + html_escape(chart.limit_name.str()) + ". ";
  if (chart.marked && !chart.marked_name.empty())
    caption += "The vertical line is " + html_escape(chart.marked_name.str()) + ".";
  if (!caption.empty()) out += "<figcaption class=\"small\">" + caption + "</figcaption>\n";
  return out + "</figure>\n";
}

}  // namespace kvplan
