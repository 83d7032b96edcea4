// kvplan and other tools on the same models (testdata/observations/peers.json).
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "docs/accuracy.h"
#include "kvplan/quantity.h"
#include "support/observations.h"

namespace kvplan {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::array<const char*, 3> kEngines{"logical", "vllm", "llama.cpp"};

constexpr const char* kTruth = R"(# Beside other tools

GiB of keys, values and states of one sequence of 32,768 tokens, 16 bit, on one GPU, for {} models. The true values are
what the architecture needs (logical), what vLLM reserves (its rules up to 0.25, a batch of 8192 tokens), and what llama.cpp
v0.5.0 allocates. They were computed from the engines' sources, independently of kvplan (`testdata/observations/peers.json`).
Of the {} recorded values kvplan is within 5 % of {}. If the two differ, the engine's source or a run of it decides. The reasons
are below, and corrected values have a star. Of the values in this table kvplan gives {} to the printed digit and {} within 5 %.

)";
constexpr const char* kAnswers = R"(
What each tool answers. Bold answers are more than 5 % outside the range of the true values, recorded and corrected.
kvplan's column is its answer without an engine.

)";
constexpr const char* kTools = R"(
The tools, and how their answers were obtained. Most count what the architecture needs, without an engine's pages.

| tool | version | answer |
|---|---|---|
)";
constexpr const char* kPeersHeadline =
    R"(The KV cache of one sequence of 32k tokens, for {} current models. An answer is
right if it lies between what the architecture needs and what vLLM or llama.cpp allocates, give or take 5 %. [All answers](docs/accuracy/peers.md)

)";

// As the recorded values were computed: with vLLM's rules before 0.26 and a batch of 8192 tokens.
std::vector<std::string> arguments_for(const std::string& engine, int tokens) {
  std::vector<std::string> out{"--max-model-len", std::to_string(tokens), "--engine", engine};
  if (engine == "vllm") {
    out.back() = "vllm@0.25";
    out.insert(out.end(), {"--max-num-batched-tokens", "8192"});
  }
  return out;
}

struct Cell {
  std::string recorded, corrected, why;
  double planned = 0;
  Closeness against_recorded = Closeness::kExact, verdict = Closeness::kExact;
  bool known() const { return recorded != "-"; }
  const std::string& truth() const { return corrected.empty() ? recorded : corrected; }
};

struct Row {
  std::string name;
  std::map<std::string, Cell> cells;  // by engine
  double low = 0, high = 0;           // the range of correct answers, in GiB
};

struct PeerTally {
  int right = 0, high = 0, low = 0, none = 0;
};

Row plan_row(const Json& model, int tokens) {
  Row row;
  row.name = model["name"];
  for (const char* engine : kEngines) {
    Cell cell;
    cell.recorded = model["recorded"][engine];
    if (model.contains("corrected") && model["corrected"].contains(engine)) {
      cell.corrected = model["corrected"][engine]["gib"];
      cell.why = model["corrected"][engine]["why"];
    } else if (model.contains("notes")) {
      cell.why = model["notes"].value(engine, "");
    }
    cell.planned = reserved_bytes(model["model"], arguments_for(engine, tokens)) / kGiB;
    if (cell.known()) {
      const std::pair<double, double> planned{cell.planned, cell.planned};
      // These are sums of rounded parts, so the last digit may differ by one.
      cell.against_recorded = judge(read_printed(cell.recorded, 2), planned);
      cell.verdict = judge(read_printed(cell.truth(), 2), planned);
      for (const std::string& truth : {cell.recorded, cell.truth()}) {
        const double value = read_printed(truth).value;
        row.low = row.low == 0 ? value : std::min(row.low, value);
        row.high = std::max(row.high, value);
      }
    }
    row.cells[engine] = cell;
  }
  return row;
}

// An answer is right if it lies between the architecture's need and what the two engines allocate, give or take 5 %.
std::string weigh(const Row& row, const std::string& answer, PeerTally& tally) {
  if (answer.empty() || answer.find_first_of("0123456789") != 0) {
    ++tally.none;
    return answer.empty() ? "-" : answer;
  }
  const double value = read_printed(answer).value;
  const bool high = value > row.high * 1.05, low = value < row.low * 0.95;
  ++(high ? tally.high : low ? tally.low : tally.right);
  return high || low ? "**" + answer + "**" : answer;
}

std::string truth_table(const std::vector<Row>& rows) {
  std::string out =
      "| model | logical | kvplan | vLLM | kvplan | llama.cpp | kvplan |\n|---|---:|---:|---:|---:|---:|---:|\n";
  for (const Row& row : rows) {
    out += "| " + row.name;
    for (const char* engine : kEngines) {
      const Cell& cell = row.cells.at(engine);
      out += fmt::format(" | {}{} | {:.2f}", cell.truth(), cell.corrected.empty() ? "" : "*", cell.planned);
    }
    out += " |\n";
  }
  return out;
}

std::string differences(const std::vector<Row>& rows) {
  std::string out;
  for (const Row& row : rows) {
    for (const char* engine : kEngines) {
      const Cell& cell = row.cells.at(engine);
      if (cell.why.empty()) continue;
      out += fmt::format("| {}, {} | {} | {:.2f} | {} |\n", row.name, engine, cell.recorded, cell.planned, cell.why);
    }
  }
  return "| cell | recorded | kvplan | who is right |\n|---|---:|---:|---|\n" + out;
}

struct Comparison {
  std::vector<Row> rows;
  std::vector<std::pair<std::string, PeerTally>> tallies;  // kvplan first
  std::string answers;                                     // the table of all peers
  std::string tools;                                       // which tools ran, and how
  int cells = 0, near_recorded = 0, exact = 0, near = 0;
};

Comparison compare_peers() {
  std::ifstream stream(KVPLAN_SOURCE_DIR "/testdata/observations/peers.json");
  const Json file = Json::parse(stream);
  Comparison out;
  PeerTally own;
  std::map<std::string, PeerTally> tallies;
  std::string head = "| model | truth | kvplan", line = "|---|---|---:";
  for (const Json& peer : file["peers"]) {
    head += " | " + peer["name"].get<std::string>();
    line += "|---:";
    out.tools += fmt::format("| [{}]({}) | {} | {} |\n", peer["name"].get<std::string>(),
                             peer["link"].get<std::string>(), peer["version"].get<std::string>(),
                             peer["how"] == "run" ? "its own code, run" : "its formula, evaluated");
  }
  out.answers = head + " |\n" + line + "|\n";
  for (const Json& model : file["models"]) {
    const Row row = plan_row(model, file["tokens"]);
    for (const auto& [_, cell] : row.cells) {
      if (!cell.known()) continue;
      ++out.cells;
      out.near_recorded += cell.against_recorded <= Closeness::kWithin5 ? 1 : 0;
      out.exact += cell.verdict == Closeness::kExact ? 1 : 0;
      out.near += cell.verdict <= Closeness::kWithin5 ? 1 : 0;
      CHECK_MESSAGE((cell.verdict == Closeness::kExact || !cell.why.empty()), row.name << ": a cell without a reason");
    }
    out.answers += fmt::format("| {} | {:.2f} to {:.2f}", row.name, row.low, row.high);
    out.answers += " | " + weigh(row, fmt::format("{:.2f}", row.cells.at("logical").planned), own);
    for (const Json& peer : file["peers"]) {
      const std::string name = peer["name"];
      out.answers += " | " + weigh(row, model["peers"].value(name, ""), tallies[name]);
    }
    out.answers += " |\n";
    out.rows.push_back(row);
  }
  out.tallies.emplace_back("kvplan", own);
  for (const Json& peer : file["peers"]) out.tallies.emplace_back(peer["name"], tallies[peer["name"]]);
  std::stable_sort(out.tallies.begin() + 1, out.tallies.end(),
                   [](const auto& a, const auto& b) { return a.second.right > b.second.right; });
  return out;
}

std::string tally_table(const Comparison& all) {
  std::string out = "| tool | right | too high | too low | no answer |\n|---|---:|---:|---:|---:|\n";
  for (const auto& [name, tally] : all.tallies)
    out += fmt::format("| {} | {} | {} | {} | {} |\n", name, tally.right, tally.high, tally.low, tally.none);
  return out;
}

}  // namespace

AccuracyPart peers_part() {
  const Comparison all = compare_peers();
  CHECK(all.rows.size() == 28);
  AccuracyPart out;
  out.tables = fmt::format(kTruth, all.rows.size(), all.cells, all.near_recorded, all.exact, all.near);
  out.tables += truth_table(all.rows) + "\nWhere the recorded value and kvplan differ:\n\n" + differences(all.rows);
  out.tables += kAnswers + all.answers + "\n" + tally_table(all) + kTools + all.tools;
  out.headline = fmt::format(kPeersHeadline, all.rows.size()) + tally_table(all);
  return out;
}

}  // namespace kvplan
