// The figures of one file as lines, for `run --diff` and `bisect`: KVPLAN_EXECUTED names the file.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "conformance/engines.h"
#include "conformance/planner.h"

namespace kvplan::conformance {
namespace {

std::string word(const std::optional<double>& value) {
  return value ? fmt::format("{:.17g}", *value) : "none";
}

void print_figures(const std::vector<Json>& lines) {
  const EngineRows& rows = engine_rows(lines.at(0).at("engine").get<std::string>());
  const std::string release = lines[0].at("release");
  Planner planner;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const Json& row = lines[i];
    if (row.contains("not_run") || row.value("artefact", false)) continue;
    const Json model = rows.model(row);
    const std::string name = row.contains("id")  ? row["id"].get<std::string>()
                             : model.is_string() ? model.get<std::string>()
                                                 : model.dump();
    for (const Figure& figure : rows.figures(row, fmt::format("{}@{}", rows.engine, release), planner))
      std::printf("%s\n", Json{name, rows.settings(row), planner.type_of(model), figure.name, figure.detail,
                               word(figure.truth), word(figure.planned)}
                              .dump()
                              .c_str());
  }
}

TEST_CASE("the figures of one file as lines") {
  if (const char* path = std::getenv("KVPLAN_EXECUTED"); path != nullptr) print_figures(read_lines(path));
}

}  // namespace
}  // namespace kvplan::conformance
