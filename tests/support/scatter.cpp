#include "support/scatter.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace kvplan {

namespace {

constexpr double kLeast = 0.5, kMost = 128;  // GiB at the ends of the axes
constexpr double kSize = 480, kLeft = 56, kTop = 16, kRight = 16, kBottom = 48;

struct EngineColour {
  const char* engine;
  const char* colour;
};
constexpr std::array<EngineColour, 3> kColours{{{"vllm", "#0969da"}, {"sglang", "#bc4c00"}, {"llama.cpp", "#1a7f37"}}};

double share(double gib) {
  return std::log(std::clamp(gib, kLeast, kMost) / kLeast) / std::log(kMost / kLeast);
}
double x_of(double gib) {
  return kLeft + kSize * share(gib);
}
double y_of(double gib) {
  return kTop + kSize * (1 - share(gib));
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '&' ? "&amp;" : c == '<' ? "&lt;" : std::string(1, c);
  return out;
}

std::string line(double x1, double y1, double x2, double y2, const std::string& style) {
  return fmt::format(R"(<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" {}/>)", x1, y1, x2, y2, style) + "\n";
}

}  // namespace

std::string scatter_svg(const std::vector<ScatterPoint>& points) {
  const double width = kLeft + kSize + kRight, height = kTop + kSize + kBottom;
  std::string out = fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0:.0f} {1:.0f}" width="{0:.0f}" height="{1:.0f}" )"
      R"(font-family="sans-serif" font-size="12">)"
      "\n"
      R"(<title>Planned against observed memory of {2} starts</title>)"
      "\n"
      R"(<rect width="{0:.0f}" height="{1:.0f}" fill="#ffffff"/>)"
      "\n",
      width, height, points.size());
  for (double gib = kLeast; gib <= kMost; gib *= 2) {
    const std::string grid = R"(stroke="#d0d7de" stroke-width="0.5")";
    out += line(x_of(gib), y_of(kLeast), x_of(gib), y_of(kMost), grid);
    out += line(x_of(kLeast), y_of(gib), x_of(kMost), y_of(gib), grid);
    out += fmt::format(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="middle">{:g}</text>)", x_of(gib), height - 30, gib) +
           "\n" +
           fmt::format(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="end">{:g}</text>)", kLeft - 6, y_of(gib) + 4, gib) +
           "\n";
  }
  out += line(x_of(kLeast), y_of(kLeast), x_of(kMost), y_of(kMost), R"(stroke="#57606a")");
  for (const ScatterPoint& point : points) {
    const auto* colour = std::find_if(kColours.begin(), kColours.end(),
                                      [&](const EngineColour& each) { return point.engine == each.engine; });
    const char* fill = colour == kColours.end() ? "#000000" : colour->colour;
    out += line(x_of(point.observed), y_of(point.low), x_of(point.observed), y_of(point.high),
                fmt::format(R"(stroke="{}" stroke-opacity="0.5")", fill));
    out +=
        fmt::format(
            R"(<circle cx="{:.1f}" cy="{:.1f}" r="3" fill="{}" fill-opacity="0.7"><title>{}: {:.2f} GiB observed, {:.2f} planned</title></circle>)",
            x_of(point.observed), y_of(point.planned), fill, escaped(point.name), point.observed, point.planned) +
        "\n";
  }
  double y = kTop + 16;
  for (const EngineColour& each : kColours) {
    if (std::none_of(points.begin(), points.end(), [&](const ScatterPoint& of) { return of.engine == each.engine; }))
      continue;
    out += fmt::format(R"(<circle cx="{:.1f}" cy="{:.1f}" r="4" fill="{}"/>)", kLeft + 14, y - 4, each.colour) + "\n" +
           fmt::format(R"(<text x="{:.1f}" y="{:.1f}">{}</text>)", kLeft + 24, y, each.engine) + "\n";
    y += 18;
  }
  out += fmt::format(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="middle">observed, GiB of one GPU</text>)",
                     kLeft + kSize / 2, height - 10) +
         "\n" +
         fmt::format(
             R"svg(<text transform="translate(14 {:.1f}) rotate(-90)" text-anchor="middle">planned, GiB</text>)svg",
             kTop + kSize / 2) +
         "\n";
  return out + "</svg>\n";
}

}  // namespace kvplan
