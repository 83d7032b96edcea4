// Plans held against what engines printed of what is estimated (testdata/observations), and their part of
// docs/accuracy.md.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "docs/accuracy.h"
#include "kvplan/quantity.h"
#include "support/program.h"

namespace kvplan {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kEstimates = R"(## What is estimated

Start-up logs that people published, and a plan with their options. GiB of one GPU as printed, in brackets as planned. A log
that prints no weights or no graphs is compared without them. Ranges of a total are the sums of its lines' ranges; exact lines
have none.

These are not unseen logs: estimates and ranges were fitted with most of them at hand, so the figures say how well the rules
describe them, not how far off the next log will be.

)";

struct Range {
  double value = 0, low = 0, high = 0;
  void add(const Json& line) {
    value += line["bytes"].get<double>() / kGiB;
    low += line["low_bytes"].get<double>() / kGiB;
    high += line["high_bytes"].get<double>() / kGiB;
  }
};

// The figure of a log that a line of the ledger stands for.
std::string figure_of(const Json& line) {
  const std::string part = line["part"];
  if (part != "runtime") return part;
  const std::string what = line["what"];
  if (what.find("graph") != std::string::npos) return "cuda_graphs";
  return "non_torch";
}

struct Compared {
  std::string engine, name, source;
  std::vector<std::string> figures;
  double observed = 0, observed_beside = 0, beside = 0;
  Range total;
  bool inside() const { return observed >= total.low - 0.005 && observed <= total.high + 0.005; }
};

Compared compare(const std::string& engine, const Json& row) {
  Compared out{engine, row["name"], row["source"], {}, 0, 0, 0, {}};
  const TemporaryFolder folder;
  std::vector<std::string> arguments{folder.write("config.json", row["config"].dump()), "--json"};
  for (const Json& word : row["args"]) arguments.push_back(word);
  const Run run = run_program(arguments);
  REQUIRE_MESSAGE(run.exit == 0, run.err);
  std::map<std::string, Range> predicted;
  const Json plan = Json::parse(run.out);
  for (const Json& line : plan["memory"][0]["lines"]) predicted[figure_of(line)].add(line);
  for (const auto& [figure, gib] : row["gib"].items()) {
    const Range& range = predicted[figure];
    out.observed += gib.get<double>();
    out.total.value += range.value;
    out.total.low += range.low;
    out.total.high += range.high;
    out.figures.push_back(fmt::format("{} {:.2f} ({:.2f})", figure, gib.get<double>(), range.value));
    if (figure == "weights") continue;
    out.observed_beside += gib.get<double>();
    out.beside += range.value;
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
    for (const Json& row : Json::parse(file)) out.push_back(compare(engine, row));
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

std::string page(const std::vector<Compared>& rows) {
  std::vector<double> totals, beside, widths;
  std::size_t inside = 0;
  std::string table;
  for (const Compared& row : rows) {
    const double off = row.total.value / row.observed - 1;
    const double width = (row.total.high - row.total.low) / row.total.value;
    const double off_beside = row.beside / row.observed_beside - 1;
    totals.push_back(std::abs(off));
    beside.push_back(std::abs(off_beside));
    widths.push_back(width);
    inside += row.inside() ? 1U : 0U;
    std::string figures;
    for (const std::string& figure : row.figures) figures += (figures.empty() ? "" : ", ") + words(figure);
    table += fmt::format("| {} | [{}]({}) | {} | {} | {} | {:.2f} to {:.2f}{} |\n", row.engine, row.name, row.source,
                         figures, percent(off_beside), percent(off), row.total.low, row.total.high,
                         row.inside() ? "" : ", outside");
  }
  return kEstimates +
         fmt::format(
             "- median error of the total: {:.1f} %\n- median error of activations and runtime: {:.1f} %\n"
             "- observed totals inside the range: {} of {}\n- median width of the range: {:.1f} % of the total\n\n",
             100 * median(totals), 100 * median(beside), inside, rows.size(), 100 * median(widths)) +
         "| engine | log | figures | activations and runtime | total | range of the total "
         "|\n|---|---|---|---:|---:|---|\n" +
         table;
}

TEST_CASE("Plans agree with what engines printed, within the bounds that are promised") {
  const std::vector<Compared> rows = compare_all();
  std::vector<double> totals, beside, widths;
  std::size_t inside = 0;
  for (const Compared& row : rows) {
    const bool whole = row.figures.front().find("weights") == 0;
    if (whole) totals.push_back(std::abs(row.total.value / row.observed - 1));
    beside.push_back(std::abs(row.beside / row.observed_beside - 1));
    if (whole) widths.push_back((row.total.high - row.total.low) / row.total.value);
    inside += row.inside() ? 1U : 0U;
    CHECK_MESSAGE(beside.back() < 1.0, row.name);
  }
  CHECK(median(totals) <= 0.03);
  CHECK(median(beside) <= 0.20);
  CHECK(static_cast<double>(inside) >= 0.9 * static_cast<double>(rows.size()));
  CHECK(median(widths) <= 0.10);
}

}  // namespace

std::string estimates_section() {
  return page(compare_all());
}

}  // namespace kvplan
