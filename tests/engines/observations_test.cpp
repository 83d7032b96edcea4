// Compares plans with what engines printed about estimated parts (testdata/observations), and writes their part of
// docs/accuracy.md.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "docs/accuracy.h"
#include "kvplan/quantity.h"
#include "kvplan/ranges.h"
#include "support/program.h"
#include "support/scatter.h"

namespace kvplan {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kEstimates = R"(## Starts that nothing was fitted to

Estimates are compared with start-up logs that people published. `scripts/ranges.py` leaves out one thread or log at a time, fits the ranges (and one
factor per term) to the others, and tests them on what it left out. The rules themselves were written with most of these logs at hand. The ranges of the
memory left for the KV cache and of the tokens follow from the parts. [All starts](accuracy/starts.md) lists each log.

![Planned against observed memory of starts, without the cache: one point per start, with its range as a bar](accuracy.svg)

)";
constexpr const char* kFitted = R"(# Starts in logs, one by one

These plans use ranges that were fitted to the same logs. GiB of one GPU as printed, and in brackets as planned. A log that prints no weights or no
CUDA graphs is compared without them. In releases that print "consumed", the activations include vLLM's estimate of its CUDA graphs. Errors of the parts of
a start are nearly independent, so the range of a total is the square root of the sum of squares.

)";

constexpr const char* kRooms = R"(
The memory left for the KV cache on a known GPU: as printed, as planned from the GPU's name, and the plan's range.

| engine | log | recorded | planned | range |
|---|---|---:|---:|---|
)";

Bytes bytes_of(const Json& line, const char* key) {
  return Bytes(line[key].get<std::uint64_t>());
}

void add_line(RangeSum& sum, const Json& line) {
  sum.add(bytes_of(line, "bytes"), {bytes_of(line, "low_bytes"), bytes_of(line, "high_bytes")});
}

double in_gib(Bytes bytes) {
  return static_cast<double>(bytes.count()) / kGiB;
}

// The log's figure for a ledger line.
std::string figure_of(const Json& line) {
  const std::string part = line["part"];
  if (part != "runtime") return part;
  const std::string what = line["what"];
  if (what.find("graph") != std::string::npos) return "cuda_graphs";
  return "non_torch";
}

// The memory left for the cache in a start on a known GPU, and in a plan that only knows the GPU.
struct Room {
  std::string recorded, planned, range;
  bool inside = false;
};

struct Compared {
  std::string engine, name, source;
  std::vector<std::string> figures;
  double observed = 0, observed_beside = 0, beside = 0;
  RangeSum total;
  std::map<std::string, std::vector<double>> errors;  // for figures that are not 0
  int inside_of = 0, outside_of = 0;                  // single figures and their ranges
  std::vector<Room> rooms;
  double planned() const { return in_gib(total.bytes()); }
  double low() const { return in_gib(total.range().low); }
  double high() const { return in_gib(total.range().high); }
  // The weights, and the other parts.
  bool has_whole_total() const { return figures.size() > 1 && figures.front().starts_with("weights"); }
  bool inside() const { return observed >= low() - 0.005 && observed <= high() + 0.005; }
};

std::vector<Room> rooms_of(const Json& row, const Json& capacity) {
  std::vector<Room> out;
  const auto add = [&](double seen, const std::string& key, double unit, int digits, const char* what, double rounded) {
    const auto end = [&](const std::string& which) {
      const Json& value = capacity[key.substr(0, key.find("_bytes")) + which + (unit > 1 ? "_bytes" : "")];
      return (value.is_null() ? capacity[key] : value).get<double>() / unit;
    };
    const auto word = [&](double value) { return fmt::format("{:.{}f}", value, digits); };
    out.push_back({word(seen) + what, word(end("")), word(end("_low")) + " to " + word(end("_high")),
                   seen >= end("_low") - rounded && seen <= end("_high") + rounded});
  };
  if (row["gib"].contains("kv_budget"))
    add(row["gib"]["kv_budget"].get<double>(), "kv_cache_memory_bytes", kGiB, 2, " GiB", 0.005);
  if (row.contains("kv_tokens")) add(row["kv_tokens"].get<double>(), "tokens", 1, 0, " tokens", 0);
  return out;
}

Compared compare(const std::string& engine, const Json& row) {
  Compared out;
  out.engine = engine;
  out.name = row["name"];
  out.source = row["source"];
  const TemporaryFolder folder;
  std::vector<std::string> arguments{folder.write("config.json", row["config"].dump()), "--json"};
  for (const Json& word : row["args"]) arguments.push_back(word);
  const Run run = run_program(arguments);
  REQUIRE_MESSAGE(run.exit <= 1, run.err);
  std::map<std::string, RangeSum> predicted;
  const Json plan = Json::parse(run.out);
  const Json& lines = plan["memory"][0]["lines"];
  out.rooms = rooms_of(row, plan["capacity"]);
  for (const Json& line : lines) add_line(predicted[figure_of(line)], line);
  for (const auto& [figure, gib] : row["gib"].items()) {
    const auto seen = gib.get<double>();
    if (figure == "kv_budget") continue;
    const RangeSum& sum = predicted[figure];
    const double planned = in_gib(sum.bytes());
    ++(seen >= in_gib(sum.range().low) - 0.005 && seen <= in_gib(sum.range().high) + 0.005 ? out.inside_of
                                                                                           : out.outside_of);
    if (seen > 0) out.errors[figure].push_back(std::abs(planned / seen - 1));
    out.observed += seen;
    for (const Json& line : lines)
      if (figure_of(line) == figure) add_line(out.total, line);
    out.figures.push_back(fmt::format("{} {:.2f} ({:.2f})", figure, seen, planned));
    if (figure == "weights") continue;
    out.observed_beside += seen;
    out.beside += planned;
  }
  return out;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::vector<Compared> compare_all() {
  std::vector<Compared> out;
  for (const std::string engine : {"vllm", "sglang", "llama.cpp"}) {
    std::ifstream file(KVPLAN_SOURCE_DIR "/testdata/observations/" + engine + ".json");
    for (const Json& row : Json::parse(file)) {
      Compared each = compare(engine, row);
      if (!each.figures.empty() || !each.rooms.empty()) out.push_back(std::move(each));
    }
  }
  return out;
}

std::string percent(double share) {
  const double rounded = std::round(1000 * share) / 10;
  return fmt::format("{:+.1f} %", rounded == 0 ? 0.0 : rounded);
}

std::string words(std::string figure) {
  std::replace(figure.begin(), figure.end(), '_', ' ');
  return figure;
}

// What scripts/ranges.py found.
std::string left_out_figures() {
  std::ifstream file(KVPLAN_SOURCE_DIR "/testdata/observations/cross-validation.md");
  return {std::istreambuf_iterator<char>(file), {}};
}

// The cells of the row with this title.
std::vector<std::string> cells_of(const std::string& title) {
  std::istringstream lines(left_out_figures());
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("| " + title + " |")) continue;
    std::vector<std::string> out;
    std::istringstream row(line.substr(2));
    for (std::string cell; std::getline(row, cell, '|');) {
      while (!cell.empty() && cell.back() == ' ') cell.pop_back();
      out.push_back(cell.substr(std::min(cell.find_first_not_of(' '), cell.size())));
    }
    return out;
  }
  return {};
}

std::string starts(const std::vector<Compared>& rows) {
  std::vector<double> totals, beside, widths;
  std::size_t inside = 0;
  std::string table, rooms;
  for (const Compared& row : rows) {
    for (const Room& room : row.rooms)
      rooms += fmt::format("| {} | [{}]({}) | {} | {} | {}{} |\n", row.engine, row.name, row.source, room.recorded,
                           room.planned, room.range, room.inside ? "" : ", outside");
    if (row.figures.empty()) continue;
    const double off = row.planned() / row.observed - 1;
    const double width = (row.high() - row.low()) / row.planned();
    const double off_beside = row.observed_beside > 0 ? row.beside / row.observed_beside - 1 : 0;
    totals.push_back(std::abs(off));
    beside.push_back(std::abs(off_beside));
    widths.push_back(width);
    inside += row.inside() ? 1U : 0U;
    std::string figures;
    for (const std::string& figure : row.figures) figures += (figures.empty() ? "" : ", ") + words(figure);
    table +=
        fmt::format("| {} | [{}]({}) | {} | {} | {} | {:.2f} to {:.2f}{} |\n", row.engine, row.name, row.source,
                    figures, percent(off_beside), percent(off), row.low(), row.high(), row.inside() ? "" : ", outside");
  }
  return kFitted +
         fmt::format(
             "- median error of the total: {:.1f} %\n- median error of activations and runtime: {:.1f} %\n"
             "- observed totals inside the range: {} of {}\n- median width of the range: {:.1f} % of the total\n\n",
             100 * median(totals), 100 * median(beside), inside, totals.size(), 100 * median(widths)) +
         "| engine | log | figures | activations and runtime | total | range of the total "
         "|\n|---|---|---|---:|---:|---|\n" +
         table + kRooms + rooms;
}

TEST_CASE("Plans agree with what engines printed, within the bounds that are promised") {
  const std::vector<Compared> rows = compare_all();
  std::vector<double> totals, widths;
  std::map<std::string, std::vector<double>> by_figure;
  std::size_t inside = 0, with_figures = 0, rooms = 0, rooms_inside = 0;
  int inside_of = 0, figures = 0;
  for (const Compared& row : rows) {
    rooms += row.rooms.size();
    for (const Room& room : row.rooms) rooms_inside += room.inside ? 1U : 0U;
    if (row.figures.empty()) continue;
    ++with_figures;
    const bool whole = row.has_whole_total();
    if (whole) totals.push_back(std::abs(row.planned() / row.observed - 1));
    if (whole) widths.push_back((row.high() - row.low()) / row.planned());
    inside += row.inside() ? 1U : 0U;
    inside_of += row.inside_of;
    figures += row.inside_of + row.outside_of;
    for (const auto& [figure, errors] : row.errors)
      by_figure[figure].insert(by_figure[figure].end(), errors.begin(), errors.end());
  }
  CHECK(median(totals) <= 0.02);
  CHECK(median(by_figure["activation"]) <= 0.08);
  CHECK(median(by_figure["cuda_graphs"]) <= 0.30);
  CHECK(static_cast<double>(inside) >= 0.85 * static_cast<double>(with_figures));
  CHECK(static_cast<double>(rooms_inside) >= 0.85 * static_cast<double>(rooms));
  CHECK(static_cast<double>(inside_of) >= 0.85 * static_cast<double>(figures));
  CHECK(median(widths) <= 0.12);
}

std::string headline() {
  const std::vector<std::string> total = cells_of("total without the cache");
  const std::vector<std::string> all = cells_of("all figures");
  REQUIRE(total.size() >= 7);
  REQUIRE(all.size() >= 7);
  return fmt::format(
      "- **Starts that were not used for fitting**: the planned memory without the KV cache is within {} for half of\n"
      "  them, and within {} for nine of ten. {} of {} estimated figures are inside their range.\n",
      total[3], total[4], all[5].substr(0, all[5].find(" of")), all[1]);
}

}  // namespace

AccuracyPart estimates_part() {
  return {headline(), kEstimates + left_out_figures(), starts(compare_all())};
}

std::string estimates_picture() {
  std::vector<ScatterPoint> points;
  for (const Compared& row : compare_all())
    if (row.has_whole_total())
      points.push_back({row.engine, row.name, row.observed, row.planned(), row.low(), row.high()});
  return scatter_svg(points);
}

}  // namespace kvplan
