// kvplan's verdicts on commands from public threads whose outcome is known (testdata/verdicts).
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "docs/accuracy.h"
#include "support/figures.h"
#include "support/program.h"

namespace kvplan {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kVerdictsIntroduction = R"(## Verdicts on public threads

{} commands that people posted with what happened, most of them about starts that failed. The rows and their sources are in
[testdata/verdicts](../testdata/verdicts/README.md).

| outcome | commands | kvplan says so |
|---|---:|---:|
)";
constexpr const char* kWrongVerdicts = R"(
| wrong verdict | kvplan says | why |
|---|---|---|
)";

// Whether kvplan says that the command of `row` starts.
bool says_starts(const Json& row) {
  const TemporaryFolder folder;
  const std::string input = row.contains("config") ? folder.write("config.json", row["config"].dump()) : "/dev/null";
  std::string model = row.contains("model") ? "testdata/" + row["model"].get<std::string>() : "-";
  if (row.contains("catalogue")) model = row["catalogue"];
  std::vector<std::string> arguments{model};
  if (row.contains("command"))
    arguments = {"--command", folder.write("command.sh", row["command"]), "--model-source",
                 row.contains("config") ? input : model};
  for (const Json& word : row["args"]) arguments.push_back(word);
  arguments.emplace_back("--json");
  const Run run = run_program(arguments, input);
  CAPTURE(run.err);
  REQUIRE(Json::accept(run.out));
  const Json verdict = Json::parse(run.out)["verdict"];
  const bool is_sglang = std::find(arguments.begin(), arguments.end(), "sglang") != arguments.end() ||
                         std::any_of(arguments.begin(), arguments.end(),
                                     [](const std::string& word) { return word.starts_with("sglang@"); });
  if (is_sglang) return verdict["starts"] == true;
  const std::string status = verdict["status"];
  return (status == "fits" || status == "partly_on_cpu") && verdict["starts"] != false;
}

std::string outcome_of(const Json& row) {
  static const std::map<std::string, std::string> kOutcomes{{"memory", "failed for memory or length"},
                                                            {"states", "failed for too few state blocks"},
                                                            {"refusal", "failed for a kernel, a type or a class"}};
  return row["starts"].get<bool>() ? "started" : kOutcomes.at(row["fails_for"]);
}

}  // namespace

std::string verdicts_section() {
  const Json rows = Json::parse(test_file("testdata/verdicts/verdicts.json"))["verdicts"];
  std::map<std::string, std::pair<int, int>> tally;
  std::string wrong;
  for (const Json& row : rows) {
    const std::string name = row["name"];
    CAPTURE(name);
    const bool says = says_starts(row);
    auto& [all, right] = tally[outcome_of(row)];
    ++all;
    const bool is_right = says == row["starts"].get<bool>();
    CHECK_MESSAGE(is_right != row.contains("reason"), name << ": a wrong verdict needs a reason, a right one has none");
    if (is_right)
      ++right;
    else
      wrong += fmt::format("| {} | {} | {} |\n", name, says ? "starts" : "does not start",
                           row.value("reason", std::string()));
  }
  std::string out = fmt::format(kVerdictsIntroduction, rows.size());
  int all = 0, right = 0;
  for (const auto& [outcome, counts] : tally) {
    out += fmt::format("| {} | {} | {} |\n", outcome, counts.first, counts.second);
    all += counts.first;
    right += counts.second;
  }
  return out + fmt::format("| all | {} | {} |\n", all, right) + (wrong.empty() ? "" : kWrongVerdicts + wrong);
}

}  // namespace kvplan
