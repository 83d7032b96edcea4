// The list of causes itself: names, reasons, and nothing that explains nothing.
#include "conformance/causes.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <set>

#include "conformance/planner.h"

namespace kvplan::conformance {
namespace {

const Case kCase{"vllm", "0.33.0", "org--Model-1B", "model_x", "h100 tp2 {}"};

Figure figure(double truth, double planned) {
  return {.name = "tokens", .truth = truth, .planned = planned, .detail = "20 GiB"};
}

bool is_explained(const char* where, const Figure& miss) {
  const Json cause{{"cause", "x"}, {"engine", "vllm"}, {"where", Json::parse(where)}};
  const Causes causes(std::vector<Json>{cause});
  return causes.find(kCase, miss) != nullptr;
}

bool is_executed(const std::string& engine, const std::string& release) {
  return std::filesystem::exists(kFolder + engine + "-" + release + ".jsonl");
}

TEST_CASE("conformance: a figure is off by a share of the truth, within its tolerance equal") {
  CHECK(figure(100, 100).band() == 0);
  CHECK(kBands.at(figure(100000, 100010).band()).name == "0.01 %");
  CHECK(kBands.at(figure(100, 95).band()).name == "5 %");
  CHECK(kBands.at(figure(100, 94).band()).name == "20 %");
  CHECK(kBands.at(figure(100, 300).band()).name == "more");
  CHECK(kBands.at(figure(0, 1).band()).name == "more");
  Figure printed = figure(28.48, 28.4849);
  printed.tolerance = 0.00501;
  CHECK(printed.is_exact());
  Figure none = figure(100, 0);
  none.planned.reset();
  CHECK(kBands.at(none.band()).name == "no figure");
  Figure refused{.name = "refusal", .planned = 1};  // a plan for what the engine does not start
  CHECK_FALSE(refused.is_exact());
  CHECK(kBands.at(refused.band()).name == "more");
  refused.refused = true;
  CHECK(refused.is_exact());
}

TEST_CASE("conformance: a cause explains what fits all of its conditions") {
  CHECK(is_explained(R"({"figure": "tokens"})", figure(100, 110)));
  CHECK(is_explained(R"({"type": ["other", "model_*"], "release": "0.3?.0", "detail": "20 *"})", figure(100, 110)));
  CHECK(is_explained(R"({"model": "!other*", "settings": "h100 tp2 *"})", figure(100, 110)));
  CHECK_FALSE(is_explained(R"({"model": ["org--*", "!*-1B"]})", figure(100, 110)));
  CHECK_FALSE(is_explained(R"({"figure": "tokens", "settings": "b200 *"})", figure(100, 110)));
  CHECK(is_explained(R"({"off": [0.09, 0.11]})", figure(100, 110)));
  CHECK_FALSE(is_explained(R"({"off": [-0.11, 0]})", figure(100, 110)));
  CHECK(is_explained(R"({"by": [10, 10]})", figure(100, 110)));
  CHECK_FALSE(is_explained(R"({"by": [1, 9]})", figure(100, 110)));
  Figure none = figure(100, 0);
  none.planned.reset();
  CHECK_FALSE(is_explained(R"({"off": [-9, 9]})", none));
  CHECK(is_explained(R"({"planned": false})", none));
  CHECK_FALSE(is_explained(R"({"planned": false})", figure(100, 110)));
  CHECK_THROWS(is_explained(R"({"relase": "0.33.0"})", figure(100, 110)));
}

TEST_CASE("conformance: every cause has a name, a reason and misses") {
  std::set<std::string> names;
  const Causes causes;
  for (const Json& cause : causes.all()) {
    const std::string name = cause.at("cause");
    CAPTURE(name);
    CHECK(names.insert(cause.at("engine").get<std::string>() + ": " + name).second);
    CHECK(cause.at("why").get<std::string>().size() > 20);
    CHECK_MESSAGE(!cause.at("where").empty(), "a cause of every case of an engine is none");
    const Json misses = cause.value("misses", Json::object());
    CHECK_MESSAGE((updating() || !misses.empty()), "no misses: take it out of causes.json");
    for (const auto& number : misses.items()) {
      CAPTURE(number.key());
      CHECK(number.value().get<std::uint64_t>() > 0);
      CHECK(is_executed(cause.at("engine"), number.key()));
    }
  }
}

TEST_CASE("conformance: counts are of files that are there") {
  for (const Json& line : read_lines(kFolder + "counts.jsonl")) {
    CAPTURE(line.dump());
    CHECK(is_executed(line.at("engine"), line.at("release")));
  }
}

}  // namespace
}  // namespace kvplan::conformance
