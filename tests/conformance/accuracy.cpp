// The part of docs/accuracy.md on executed engines, from the counts that the tests of each file hold.
#include <fmt/format.h>

#include <array>
#include <map>
#include <utility>

#include "conformance/planner.h"
#include "docs/accuracy.h"
#include "engines/known_errors.h"
#include "report/text.h"

namespace kvplan {

namespace {

using conformance::Json;
using conformance::kBands;

constexpr const char* kText = R"(## Engines' own code

Each engine's own code was run on a CPU for these releases, and kvplan was asked for the same cases at the same release
([how](../testdata/conformance/README.md)). **Equal** is equal to the last digit that the engine gives; the columns after it
count what is off by at most so much, then by more, then cases that kvplan gives no such figure for. Every figure that is
not equal is explained by a row of [known_errors.cpp](../src/engines/known_errors.cpp); the test fails on a miss without one,
and where a row's number of misses grows or shrinks. What kvplan itself calls an estimate is held against its own range.

)";

constexpr const char* kToldText = R"(
### Known errors that a plan warns about

The plan of an affected model and release carries the sentence as a warning (`known_error`). Where the error moves memory by
more than 1 %, the plan gives no verdict.

| engine | model_type | warning | verdict |
|---|---|---|---|
)";

struct Row {
  std::uint64_t cases = 0, figures = 0, estimates = 0, in_range = 0;
  std::array<std::uint64_t, kBands.size()> bands{};

  void add(const Json& line) {
    if (line.at("of") == "cases") {
      cases += line.at("ran").get<std::uint64_t>() + line.at("refused").get<std::uint64_t>();
      return;
    }
    estimates += line.value("estimates", std::uint64_t{0});
    in_range += line.value("in range", std::uint64_t{0});
    for (std::size_t i = 0; i < kBands.size(); ++i) {
      // Of a kind of estimates what has no figure at all is counted here, the rest by its range.
      if (line.contains("estimates") && i + 1 < kBands.size()) continue;
      bands[i] += line.value(std::string(kBands[i].name), std::uint64_t{0});
      figures += line.value(std::string(kBands[i].name), std::uint64_t{0});
    }
  }
};

// By engine and release.
std::map<std::pair<std::string, std::string>, Row> read_rows() {
  std::map<std::pair<std::string, std::string>, Row> rows;
  for (const Json& line : conformance::read_lines(conformance::kFolder + "counts.jsonl"))
    rows[{line.at("engine"), line.at("release")}].add(line);
  return rows;
}

}  // namespace

std::string executed_headline() {
  std::uint64_t figures = 0, equal = 0;
  std::string worst;
  double least = 1;
  for (const auto& [name, row] : read_rows()) {
    figures += row.figures;
    equal += row.bands.front();
    const double share = static_cast<double>(row.bands.front()) / static_cast<double>(row.figures);
    if (share >= least) continue;
    least = share;
    worst = name.first + " " + name.second;
  }
  return fmt::format(
      "Of {} figures that the engines' own code gave, run release by release, kvplan gives **{} to the last digit**\n"
      "({:.1f} %; the least of a release is {:.1f} %, {}).\n",
      grouped(figures), grouped(equal), 100 * static_cast<double>(equal) / static_cast<double>(figures), 100 * least,
      worst);
}

std::string executed_section() {
  const auto rows = read_rows();
  std::string out = std::string(kText) + "| engine | release | cases | figures |", under = "|---|---|---:|---:|";
  for (const auto& band : kBands) {
    out += " " + std::string(band.name) + " |";
    under += "---:|";
  }
  out += " estimates | in range |\n" + under + "---:|---:|\n";
  for (const auto& [name, row] : rows) {
    out += fmt::format("| {} | {} | {} | {} |", name.first, name.second, row.cases, row.figures);
    for (const std::uint64_t count : row.bands) out += fmt::format(" {} |", count);
    out += fmt::format(" {} | {} |\n", row.estimates, row.in_range);
  }
  out += kToldText;
  for (const KnownError& error : known_errors())
    if (error.effect != Effect::kSilent)
      out += fmt::format("| {} | {} | {} | {} |\n", error.engine, error.types.empty() ? "any" : error.types,
                         error.tells, error.effect == Effect::kUnknown ? "none (`unknown`)" : "kept");
  return out;
}

}  // namespace kvplan
