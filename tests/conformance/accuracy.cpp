// The part of docs/accuracy.md about executed engines, from the counts that each file's tests wrote.
#include <fmt/format.h>

#include <array>
#include <map>
#include <utility>

#include "conformance/planner.h"
#include "docs/accuracy.h"
#include "engines/known_errors.h"
#include "report/words.h"

namespace kvplan {

namespace {

using conformance::Json;
using conformance::kBands;

constexpr const char* kText = R"(## Figures executed by the engines

Each engine's planning code ran on a CPU ([how](../testdata/conformance/README.md)), and kvplan planned the same cases at the same release.
**Equal** figures match to the last digit. The next columns count figures that differ by at most that much, then by more, then cases where kvplan
has no figure. Each difference has its reason in [known_errors.cpp](../src/engines/known_errors.cpp), and the test fails without one. **In range**
counts the estimates whose range contains the engine's figure. [Known errors](accuracy/known-errors.md) lists what a plan warns about.

)";

constexpr const char* kToldText = R"(# Known errors that a plan warns about

A plan for an affected model and release shows the sentence as a warning (`known_error`). If the error moves memory by more than 1 %, the plan gives no
verdict.

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
      // If kvplan gives no figure, an estimate is counted here. Other estimates are counted by their range.
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

std::string headline() {
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
      "- **{} of {} figures** that the engines' own code computes are equal to the last digit ({:.1f} %; lowest\n"
      "  release: {:.1f} %, {}).\n",
      grouped(equal), grouped(figures), 100 * static_cast<double>(equal) / static_cast<double>(figures), 100 * least,
      worst);
}

std::string table() {
  std::string out = std::string(kText) + "| engine | release | cases | figures |", under = "|---|---|---:|---:|";
  for (const auto& band : kBands) {
    out += " " + std::string(band.name) + " |";
    under += "---:|";
  }
  out += " estimates | in range |\n" + under + "---:|---:|\n";
  for (const auto& [name, row] : read_rows()) {
    out += fmt::format("| {} | {} | {} | {} |", name.first, name.second, row.cases, row.figures);
    for (const std::uint64_t count : row.bands) out += fmt::format(" {} |", count);
    out += fmt::format(" {} | {} |\n", row.estimates, row.in_range);
  }
  return out;
}

std::string told() {
  std::string out = kToldText;
  for (const KnownError& error : known_errors())
    if (error.effect != Effect::kSilent)
      out += fmt::format("| {} | {} | {} | {} |\n", error.engine, error.types.empty() ? "any" : error.types,
                         error.tells, error.effect == Effect::kUnknown ? "none (`unknown`)" : "kept");
  return out;
}

}  // namespace

AccuracyPart executed_part() {
  return {headline(), table(), told()};
}

}  // namespace kvplan
