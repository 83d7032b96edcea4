// Writes docs/accuracy.md: every recorded figure next to kvplan's, and the headline of the README.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "conformance/causes.h"
#include "docs/accuracy.h"
#include "support/observations.h"
#include "support/program.h"

namespace kvplan {
namespace {

struct Group {
  const char* file;
  const char* title;
  const char* source;
};
constexpr std::array<Group, 5> kGroups{{
    {"capacity", "tokens, blocks and requests that fit a budget", "engine logs"},
    {"llama-logs", "cache and state buffers", "engine logs"},
    {"llama-live", "cache and state buffers of 32 architectures", "runs that `bench/llama-live` repeats"},
    {"parameters", "parameters of a checkpoint", "the models' pages"},
    {"weights", "bytes of weights, loaded or in a file", "engine logs"},
}};
constexpr const char* kIntroduction = R"(# Accuracy

This page compares kvplan with figures that do not come from kvplan: verdicts in public threads, engines that were executed, start-up logs that no
range was fitted to, and figures that others recorded. `tests/docs/accuracy_test.cpp` writes it, and fails if it is not what kvplan computes today.

)";
constexpr const char* kRecorded = R"(
## Recorded figures

Logs, runs of llama.cpp and published counts, each with its source in [testdata/observations](../testdata/observations/README.md). A figure is **exact**
if it matches the printed digits. The rules were written with these figures at hand. [Every figure](accuracy/figures.md) and
[every miss with its reason](accuracy/misses.md) have their own pages.

)";
constexpr const char* kNeverExact = R"(
## What is always an estimate

| what | why | what kvplan does |
|---|---|---|
| activations | the peak depends on the kernels that the build and the GPU choose, and on compilation | estimates by runner and release, with a range |
| CUDA graphs | the driver decides how much a captured graph keeps | estimates per captured size, with the widest range |
| memory outside PyTorch | the CUDA context, libraries and NCCL buffers depend on driver, GPU and number of GPUs | estimates by GPU; `kvplan measure card` measures it |
| memory shared with the CPU | the rest of the system uses it too | gives a wide range and a note |
| allocator fragmentation | PyTorch allocates segments of 2 or 20 MiB, and the loading order decides how much is lost | follows a load in the file's order |
| vision towers and custom blocks that the config does not describe | their code is not in the config | estimates, with a note |
| speeds | kernels, schedulers and batches differ | gives upper bounds from the memory bandwidth |
)";
constexpr const char* kHeadline =
    R"(- **{1} of {0} recorded figures** (logs, runs of llama.cpp, published counts) match to the printed digit, {2} more within 1 %.

[docs/accuracy.md](docs/accuracy.md) has the tables. A test writes it.
)";
const char* const kReadme = KVPLAN_SOURCE_DIR "/README.md";

struct Tally {
  int all = 0;
  std::array<int, 4> by_verdict{};
  void add(Closeness verdict) {
    ++all;
    ++by_verdict.at(static_cast<std::size_t>(verdict));
  }
  std::string cells() const {
    const auto& [exact, within_1, within_5, wrong] = by_verdict;
    return fmt::format(" {} | {} | {} | {} | {} |\n", all, exact, within_1, within_5, wrong);
  }
};
const char* const kTallyHead = " figures | exact | within 1 % | within 5 % | wrong |\n";
const char* const kTallyLine = "---:|---:|---:|---:|---:|\n";

std::string off(const RecordedFigure& figure) {
  return fmt::format("{:+.2f} %", 100 * figure.off());
}

// In the recorded figure's unit and digits, with both ends if the budget was rounded.
std::string planned(const RecordedFigure& figure) {
  const std::size_t space = figure.text.find(' '), dot = figure.text.find('.');
  const std::string unit = space == std::string::npos ? "" : figure.text.substr(space);
  const double scale = unit == " GiB" ? 1024.0 * 1024 * 1024 : unit == " MiB" ? 1024.0 * 1024 : 1;
  const std::size_t end = space == std::string::npos ? figure.text.size() : space;
  const std::size_t digits = dot == std::string::npos ? 0 : end - dot - 1;
  const std::string low = fmt::format("{:.{}f}", figure.low / scale, digits);
  const std::string high = fmt::format("{:.{}f}", figure.high / scale, digits);
  return (low == high ? low : low + " to " + high) + unit;
}

std::string what(const RecordedFigure& figure) {
  static const std::map<std::string, std::string> kNames{{"capacity.tokens", "tokens"},
                                                         {"capacity.num_blocks", "blocks"},
                                                         {"capacity.max_concurrency", "requests at once"},
                                                         {"capacity.max_model_len", "longest request"},
                                                         {"kv_cache.reserved_bytes", "needed for a request"},
                                                         {"kv_cache.block_size", "tokens of a block"},
                                                         {"memory.0.weights_bytes", "weights"},
                                                         {"model.parameters.total", "parameters"},
                                                         {"cache", "cache"},
                                                         {"states", "states"}};
  return kNames.at(figure.path);
}

std::string link(const RecordedFigure& figure) {
  if (!figure.source.starts_with("https://")) return figure.observation;
  return "[" + figure.observation + "](" + figure.source + ")";
}

std::string engine_of(const RecordedFigure& figure) {
  if (!figure.engine.empty()) return figure.engine;
  return figure.group == "weights" ? "GGUF file" : "-";
}

std::string overview(const std::vector<RecordedFigure>& figures) {
  std::string out = std::string("| what | from | engine |") + kTallyHead + "|---|---|---|" + kTallyLine;
  Tally total;
  for (const Group& group : kGroups) {
    std::map<std::string, Tally> tallies;
    for (const RecordedFigure& figure : figures) {
      if (figure.group != group.file) continue;
      tallies[engine_of(figure)].add(figure.verdict);
      total.add(figure.verdict);
    }
    for (const auto& [engine, tally] : tallies)
      out += fmt::format("| {} | {} | {} |", group.title, group.source, engine) + tally.cells();
  }
  return out + "| all | | |" + total.cells();
}

std::string by_architecture(const std::vector<RecordedFigure>& figures) {
  std::map<std::string, Tally> tallies;
  for (const RecordedFigure& figure : figures) tallies[figure.attention].add(figure.verdict);
  std::string out = std::string("| layers that hold something |") + kTallyHead + "|---|" + kTallyLine;
  for (const auto& [attention, tally] : tallies) out += "| " + attention + " |" + tally.cells();
  return out;
}

// Kinds without a recorded cache size. Their numbers depend on the sources in their formula files.
std::string unrecorded(const std::vector<RecordedFigure>& figures) {
  std::set<std::string> kinds;
  std::istringstream table(run_program({"formulas", "--format", "markdown"}).out);
  for (std::string line; std::getline(table, line);)
    if (line.starts_with("| ")) kinds.insert(line.substr(2, line.find(' ', 2) - 2));
  kinds.erase("kind");  // the titles
  kinds.erase("none");
  kinds.erase("shared");
  for (const RecordedFigure& figure : figures) {
    if (figure.group == "parameters" || figure.group == "weights") continue;
    std::istringstream words(figure.attention);
    for (std::string word; words >> word;) kinds.erase(word);
  }
  std::string out;
  for (const std::string& kind : kinds) out += (out.empty() ? "`" : ", `") + kind + "`";
  return "\nNo recorded size of a cache speaks of " + (out.empty() ? "no kind" : out) +
         ": their numbers rest on the sources that their [formula files](../formulas/README.md) name.\n";
}

std::string misses(const std::vector<RecordedFigure>& figures) {
  std::string out = "| figure | recorded | planned | off | why |\n|---|---:|---:|---:|---|\n";
  for (const RecordedFigure& figure : figures) {
    if (figure.verdict == Closeness::kExact) continue;
    CHECK_MESSAGE(!figure.reason.empty(), figure.observation << ", " << figure.path << ": " << figure.text << " and "
                                                             << planned(figure) << ": a miss without a reason");
    out += fmt::format("| {}, {} | {} | {} | {} | {} |\n", link(figure), what(figure), figure.text, planned(figure),
                       off(figure), figure.reason);
  }
  return out;
}

std::string list(const std::vector<RecordedFigure>& figures, const Group& group) {
  std::string out = fmt::format("\n## {}: {}\n\n", group.file, group.title);
  out += "| recorded | engine | figure | recorded | planned |\n|---|---|---|---:|---:|\n";
  for (const RecordedFigure& figure : figures) {
    if (figure.group != group.file) continue;
    out += fmt::format("| {} | {} | {} | {} | {} |\n", link(figure), engine_of(figure), what(figure), figure.text,
                       planned(figure));
  }
  return out;
}

std::string headline(const std::vector<RecordedFigure>& figures) {
  Tally tally;
  for (const RecordedFigure& figure : figures) tally.add(figure.verdict);
  const auto& [exact, within_1, within_5, further] = tally.by_verdict;
  return fmt::format(kHeadline, tally.all, exact, within_1);
}

std::string every_figure(const std::vector<RecordedFigure>& figures) {
  std::string out = "# Every recorded figure\n";
  for (const Group& group : kGroups) out += list(figures, group);
  return out;
}

// Compares a generated file with the one in the repository, or writes it.
void check_file(const std::string& name, const std::string& made) {
  CAPTURE(name);
  const std::string path = KVPLAN_SOURCE_DIR "/docs/" + name;
  if (conformance::updating()) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << made;
  }
  CHECK(file_text(path) == made);
}

// The text between <!-- NAME --> and <!-- /NAME --> of the README.
void check_readme(const std::string& name, const std::string& made) {
  const std::string from = "<!-- " + name + " -->\n", to = "<!-- /" + name + " -->";
  std::string readme = file_text(kReadme);
  const std::size_t begin = readme.find(from), end = readme.find(to);
  REQUIRE_MESSAGE((begin != std::string::npos && end != std::string::npos), "README.md lacks the marks of " << name);
  const std::size_t start = begin + from.size();
  if (conformance::updating()) {
    readme.replace(start, end - start, made);
    std::ofstream(kReadme) << readme;
    return;
  }
  CHECK(readme.substr(start, end - start) == made);
}

}  // namespace

TEST_CASE("docs/accuracy.md and the README's headline match the recorded figures" * doctest::skip(kSanitized)) {
  std::vector<RecordedFigure> figures;
  for (const Group& group : kGroups) {
    const std::vector<RecordedFigure> more = plan_figures(group.file);
    figures.insert(figures.end(), more.begin(), more.end());
  }
  CHECK(figures.size() >= 250);
  const AccuracyPart executed = executed_part(), estimates = estimates_part(), peers = peers_part();
  check_file("accuracy.md", kIntroduction + verdicts_section() + "\n" + executed.section + "\n" + estimates.section +
                                kRecorded + overview(figures) + "\n" + by_architecture(figures) + unrecorded(figures) +
                                kNeverExact);
  check_file("accuracy.svg", estimates_picture());
  check_file("accuracy/known-errors.md", executed.tables);
  check_file("accuracy/starts.md", estimates.tables);
  check_file("accuracy/peers.md", peers.tables);
  check_file("accuracy/misses.md", "# Every miss\n\n" + misses(figures));
  check_file("accuracy/figures.md", every_figure(figures));
  check_readme("accuracy", executed.headline + estimates.headline + headline(figures));
  check_readme("peers", peers.headline);
}

}  // namespace kvplan
