// The table of known errors itself: every row has a name and a reason, and explains something.
#include "conformance/causes.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <set>

#include "conformance/planner.h"

namespace kvplan::conformance {
namespace {

const Case kCase{"vllm", "0.33.0", "org--Model-1B", "model_x", "h100 tp2 {}", "model_vl"};

Figure figure(double truth, double planned) {
  return {.name = "tokens", .truth = truth, .planned = planned, .detail = "20 GiB"};
}

bool is_explained(const ExplainedMisses& misses, const Figure& miss, KnownError error = {}) {
  error.engine = "vllm";
  error.misses = misses;
  return explains(error, kCase, miss);
}

bool is_executed(const std::string& engine, const std::string& release) {
  return std::filesystem::exists(kFolder + engine + "-" + release + ".jsonl");
}

TEST_CASE("conformance: an error is relative to the truth, and 0 within the tolerance") {
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

TEST_CASE("conformance: a known error explains differences that meet all of its conditions") {
  CHECK(is_explained({.figures = "tokens"}, figure(100, 110)));
  CHECK(is_explained({.figures = "blocks|tok*", .details = "20 *"}, figure(100, 110)));
  CHECK(is_explained({.models = "!other*", .settings = "h100 tp2 *", .figures = "tokens"}, figure(100, 110)));
  CHECK_FALSE(is_explained({.models = "org--*|!*-1B", .figures = "tokens"}, figure(100, 110)));
  CHECK_FALSE(is_explained({.settings = "b200 *", .figures = "tokens"}, figure(100, 110)));
  CHECK(is_explained({.figures = "*", .off = {{0.09, 0.11}}}, figure(100, 110)));
  CHECK_FALSE(is_explained({.figures = "*", .off = {{-0.11, 0}}}, figure(100, 110)));
  CHECK(is_explained({.figures = "*", .by = {{10, 10}}}, figure(100, 110)));
  CHECK_FALSE(is_explained({.figures = "*", .by = {{1, 9}}}, figure(100, 110)));
  Figure none = figure(100, 0);
  none.planned.reset();
  CHECK_FALSE(is_explained({.figures = "*", .off = {{-9, 9}}}, none));
  CHECK(is_explained({.planned = false}, none));
  CHECK_FALSE(is_explained({.planned = false}, figure(100, 110)));
  CHECK_MESSAGE(!is_explained({}, figure(100, 110)), "an error without figures explains none");
  const auto of = [&](const KnownError& error) { return is_explained({.figures = "*"}, figure(100, 110), error); };
  CHECK(of({.types = "other model_x"}));
  CHECK(of({.types = "model_vl"}));
  CHECK_FALSE(of({.types = "model"}));
  CHECK(of({.since = {0, 33}}));
  CHECK_FALSE(of({.since = {0, 34}}));
  CHECK(of({.until = {0, 34}}));
  CHECK_FALSE(of({.until = {0, 33}}));
}

TEST_CASE("conformance: every known error has a name, a reason, a sentence if plans mention it, and misses") {
  std::set<std::string> names, with_misses;
  for (const Json& line : read_lines(kFolder + "counts.jsonl"))
    if (line.at("of") == "misses")
      for (const auto& [key, value] : line.items())
        if (value.is_number()) with_misses.insert(line.at("engine").get<std::string>() + ": " + key);
  for (const KnownError& error : known_errors()) {
    const std::string name = std::string(error.engine) + ": " + std::string(error.name);
    CAPTURE(name);
    CHECK(names.insert(name).second);
    CHECK(engine_named(error.engine) != nullptr);
    CHECK(error.why.size() > 20);
    const bool silent = error.effect == Effect::kSilent;
    CHECK(silent == std::string_view(error.tells).empty());
    CHECK_MESSAGE((silent || !error.types.empty() || error.when != nullptr), "a warning in every plan of an engine");
    const bool shown = !error.misses.figures.empty() || error.misses.planned == false;
    CHECK_MESSAGE((shown || !silent), "it explains nothing and tells nothing: take it out");
    if (!updating()) CHECK_MESSAGE(shown == with_misses.contains(name), "no misses: take it out, or its figures");
  }
  for (const std::string& name : with_misses)
    CHECK_MESSAGE(names.contains(name), "counts.jsonl has misses of " << name);
}

TEST_CASE("conformance: counts belong to existing files") {
  for (const Json& line : read_lines(kFolder + "counts.jsonl")) {
    CAPTURE(line.dump());
    CHECK(is_executed(line.at("engine"), line.at("release")));
  }
}

}  // namespace
}  // namespace kvplan::conformance
