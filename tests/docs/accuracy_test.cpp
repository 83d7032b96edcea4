// docs/accuracy.md is made here: every recorded figure beside kvplan's, and the README's headline of it.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <array>
#include <cstdlib>
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
    {"capacity", "tokens, blocks and requests that a budget holds", "engine logs"},
    {"llama-logs", "cache and state buffers", "engine logs"},
    {"llama-live", "cache and state buffers of 32 architectures", "runs that `bench/llama-live` repeats"},
    {"parameters", "parameters of a checkpoint", "the models' pages"},
    {"weights", "bytes of weights, loaded or in a file", "engine logs"},
}};
constexpr const char* kIntroduction = R"(# Accuracy

kvplan beside figures that did not come from kvplan, the strongest first: what engines' own code gave, start-up logs that a range
was not fitted to, figures that others recorded. This page is made by `tests/docs/accuracy_test.cpp`, which fails where it is not
what kvplan says today; each recorded figure has its source in [testdata/observations](../testdata/observations/README.md).

)";
constexpr const char* kRecorded = R"(
## Recorded figures

**Exact** is a figure inside the printed digits: where a log prints 3.81 GiB and 1952 blocks, some budget that prints as 3.81
gives 1952. The others are named [below](#every-miss) with the reason. The rules were written with these figures at hand.

)";
constexpr const char* kNeverExact = R"(
## What is never exact, and why

| what | why | what kvplan does |
|---|---|---|
| activations | the peak of a profile run hangs on the kernels that a build and a card choose, and on what is compiled meanwhile | an estimate by runner and release, with its range |
| CUDA graphs | the driver decides what a captured graph keeps, and the engine knows it only after the capture | an estimate for each captured size, with the widest range of all |
| memory outside PyTorch | the context, libraries, NCCL's buffers: by driver, card and number of GPUs, printed by no engine before it has started | an estimate by card and number of GPUs; `kvplan measure card` measures it |
| memory that a processor shares | what the rest of the machine takes meanwhile counts as the engine's | a wide range, and a note |
| pieces of an allocator | PyTorch gives out segments of 2 or 20 MiB: the order of loading decides how much of them is lost | weights in the segments of a load in the file's order |
| a budget that was printed with two decimals | a block more or less fits in what was rounded away | both ends are named |
| vision towers and custom blocks that a config does not determine | the code that builds them is not in the file | an estimate, in a note and in the range |
| speeds | kernels, schedulers and batches | bounds from the card's bandwidth, no forecast |
)";
constexpr const char* kHeadline =
    R"(Of {} figures that others recorded (logs of vLLM, SGLang, TensorRT-LLM and llama.cpp, runs of llama.cpp, published
parameter counts) {} are right to the printed digit, {} within 1 %, {} within 5 % and {} further off. Each miss is
named with its reason in [docs/accuracy.md](docs/accuracy.md), which a test makes anew.
)";
const char* const kPage = KVPLAN_SOURCE_DIR "/docs/accuracy.md";
const char* const kPicture = KVPLAN_SOURCE_DIR "/docs/accuracy.svg";
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

// In the unit and with the digits that the recorded figure has; both ends where the budget was rounded.
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

// Kinds that no recorded size of a cache speaks of; their numbers rest on the sources that their formula files name.
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
  std::string out = fmt::format("\n### {}: {}\n\n", group.file, group.title);
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
  const auto& [exact, within_1, within_5, wrong] = tally.by_verdict;
  return executed_headline() + estimates_headline() +
         fmt::format(kHeadline, tally.all, exact, within_1, within_5, wrong);
}

std::string page(const std::vector<RecordedFigure>& figures, const std::string& peers) {
  std::string out = kIntroduction + executed_section() + "\n" + estimates_section();
  out += kRecorded + overview(figures) + "\n" + by_architecture(figures) + unrecorded(figures) + kNeverExact;
  out += "\n## Every miss\n\n" + misses(figures) + "\n" + verdicts_section() + "\n" + peers + "\n## Every figure\n";
  for (const Group& group : kGroups) out += list(figures, group);
  return out;
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

TEST_CASE("docs/accuracy.md and the README's headline are what the recorded figures give" * doctest::skip(kSanitized)) {
  std::vector<RecordedFigure> figures;
  for (const Group& group : kGroups) {
    const std::vector<RecordedFigure> more = plan_figures(group.file);
    figures.insert(figures.end(), more.begin(), more.end());
  }
  CHECK(figures.size() >= 250);
  const AccuracyPart peers = peers_part();
  const std::string made = page(figures, peers.page);
  if (conformance::updating()) std::ofstream(kPage) << made;
  CHECK(file_text(kPage) == made);
  const std::string picture = estimates_picture();
  if (conformance::updating()) std::ofstream(kPicture) << picture;
  CHECK(file_text(kPicture) == picture);
  check_readme("accuracy", headline(figures));
  check_readme("peers", peers.headline);
}

}  // namespace kvplan
