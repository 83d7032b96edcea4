// Starts of real engines on a CPU, watched by resident memory (testdata/measured/starts/host.jsonl). Today's plan and
// log reader must still match them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engines/engine.h"
#include "measure/diagnosis.h"
#include "measure/log_reader.h"
#include "measure/watch.h"
#include "plan/plan.h"

#include "sources/load.h"
#include "support/program.h"

namespace kvplan {
namespace {

using Json = nlohmann::json;

StartStage stage_named(const std::string& name) {
  const std::string_view names[] = {"process", "weights", "profile", "cache", "serving"};
  for (std::size_t i = 0; i < std::size(names); ++i)
    if (names[i] == name) return static_cast<StartStage>(i);
  FAIL("no stage " << name);
  return StartStage::kProcess;
}

std::string lines_of(const Json& start) {
  std::string out;
  for (const Json& line : start.at("log")) out += line.get<std::string>() + "\n";
  return out;
}

WatchReport report_of(const Json& start) {
  const TemporaryFolder folder;
  WatchReport out;
  Watched& seen = out.seen;
  seen.is_host = true;
  seen.status = start.at("status") == "started" ? WatchStatus::kStarted : WatchStatus::kSteady;
  seen.last = Bytes(start.at("last").get<std::uint64_t>());
  for (const Json& stage : start.at("stages")) {
    const auto bytes = [&](std::size_t at) { return Bytes(stage.at(at).get<std::uint64_t>()); };
    seen.stages.push_back(
        {stage_named(stage.at(0).get<std::string>()), stage.at(1).get<double>(), bytes(2), bytes(3), bytes(4)});
  }
  const ModelSpec model = load_model(folder.write("config.json", start.at("config").dump()), {});
  Request request;
  request.engine = engine_named(start.at("engine").get<std::string>());
  const LogReading log = read_log(lines_of(start));
  if (log.observations.empty()) {
    out.plan = make_plan(model, request);
  } else {
    out.check = check_log(model, request, log);
    out.plan = out.check.plan;
  }
  compare_start(out);
  return out;
}

const WatchedLine* line_of(const WatchReport& report, StartStage stage) {
  for (const WatchedLine& line : report.lines)
    if (line.stage == stage && !line.is_whole) return &line;
  return nullptr;
}

TEST_CASE("watched starts: plans match the memory that real engines used") {
  std::ifstream file(KVPLAN_SOURCE_DIR "/testdata/measured/starts/host.jsonl");
  std::string text;
  std::size_t starts = 0;
  for (; std::getline(file, text); ++starts) {
    const Json start = Json::parse(text);
    CAPTURE(start.at("release").get<std::string>());
    CAPTURE(starts);
    const WatchReport report = report_of(start);
    CHECK(report.agrees);
    const WatchedLine* const weights = line_of(report, StartStage::kWeights);
    REQUIRE(weights != nullptr);
    CHECK(weights->is_judged);
    // The interpreter and the memory that allocators keep are added to the tensors.
    const bool is_llama = start.at("engine") == "llama.cpp";
    // How far the figure is outside the range.
    const auto size = static_cast<double>(weights->high.count());
    const auto grown = static_cast<double>(weights->seen);
    const double off = grown - std::clamp(grown, static_cast<double>(weights->low.count()), size);
    if (is_llama) {
      CHECK(std::abs(off) <= 0.02 * size);
      const WatchedLine* const cache = line_of(report, StartStage::kCache);
      REQUIRE(cache != nullptr);
      REQUIRE(cache->logged.has_value());
      const auto both = static_cast<double>(weights->seen + cache->seen);
      const auto printed = static_cast<double>((*weights->logged + *cache->logged).count());
      CHECK(std::abs(both - printed) <= 0.02 * printed);
    } else {
      CHECK(std::abs(off) <= std::max(0.10 * size, 70.0 * kMiB));
    }
    // The stages end with lines of the recorded log, in the same order.
    std::vector<StartStage> told;
    for (const Json& line : start.at("log"))
      if (const auto ended = stage_ended_by(report.plan.engine, line.get<std::string>()))
        if (told.empty() || told.back() < *ended) told.push_back(*ended);
    std::vector<StartStage> seen;
    for (const WatchedStage& stage : report.seen.stages) seen.push_back(stage.stage);
    if (report.seen.status == WatchStatus::kSteady)
      seen.pop_back();  // kvplan stopped because memory was stable, not because of a line
    CHECK(told == seen);
    // vLLM writes its cache when it allocates it, so it is resident.
    if (start.at("engine") == "vllm") {
      const WatchedLine* const cache = line_of(report, StartStage::kCache);
      REQUIRE(cache != nullptr);
      REQUIRE(cache->logged.has_value());
      CHECK(static_cast<double>(cache->seen) ==
            doctest::Approx(static_cast<double>(cache->logged->count())).epsilon(0.05));
    }
  }
  CHECK(starts >= 6);
}

}  // namespace
}  // namespace kvplan
