// Figures from real GPUs (testdata/measured). Today's plan must still match the measurement.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "plan/plan.h"
#include "support/figures.h"

namespace kvplan {
namespace {

TEST_CASE("measured: plans match what real GPUs took") {
  std::size_t rows = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(KVPLAN_SOURCE_DIR) + "/testdata/measured")) {
    if (entry.path().extension() != ".jsonl") continue;
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);) {
      CAPTURE(line);
      const nlohmann::json row = nlohmann::json::parse(line);
      const ModelSpec model = test_model(row.at("model").get<std::string>());
      Request request;
      find_engine(row.at("engine").get<std::string>() + "@" + row.at("engine_version").get<std::string>(), request);
      request.max_model_len = Tokens(row.at("max_model_len").get<std::uint64_t>());
      request.num_seqs = row.at("num_seqs").get<std::uint64_t>();
      const Plan plan = make_plan(model, request);
      const auto planned = static_cast<double>(plan.kv_cache.reserved.count());
      // Rounding that the run explained is added, in whole granules.
      const double measured = row.at("measured_bytes").get<double>();
      const double granules = row.at("rounding_bytes").get<double>() + 4 * row.at("granularity_bytes").get<double>();
      CHECK(std::fabs(planned - measured) <= 0.01 * planned + granules);
      ++rows;
    }
  }
  MESSAGE(rows << " measurements on real cards are held against today's plans");
}

// The config of a row: a bundled one, with fewer layers or without its quantization where the row says so.
ModelSpec changed_model(const nlohmann::json& row) {
  nlohmann::json config =
      nlohmann::json::parse(test_file("testdata/configs/" + row.at("model").get<std::string>() + ".json"));
  for (const auto& [path, value] : row.at("changes").items()) {
    const std::size_t dot = path.find('.');
    nlohmann::json& part = dot == std::string::npos ? config : config.at(path.substr(0, dot));
    const std::string key = path.substr(dot == std::string::npos ? 0 : dot + 1);
    if (value.is_null()) {
      part.erase(key);
      continue;
    }
    const auto before = part.at(key).get<std::size_t>(), after = value.get<std::size_t>();
    for (auto& [name, list] : part.items())
      if (list.is_array() && list.size() == before)
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(after), list.end());
    part[key] = after;
  }
  return parse_model(config.dump());
}

TEST_CASE("measured: a prompt in one pass of transformers, on a real card") {
  std::istringstream rows(test_file("testdata/measured/passes/nvidia-h200-580-159-04.jsonl"));
  for (std::string line; std::getline(rows, line);) {
    CAPTURE(line);
    const nlohmann::json row = nlohmann::json::parse(line);
    Request request;
    find_engine("transformers@5.17", request);
    request.weights = "bfloat16";
    request.dtype = Dtype::kBfloat16;
    request.max_model_len = Tokens(row.at("tokens").get<std::uint64_t>());
    request.num_seqs = row.at("sequences").get<std::uint64_t>();
    const Plan plan = make_plan(changed_model(row), request);
    const auto seen = [&](const char* key) { return row.at(key).get<double>() / kMiB; };
    const GpuMemory& memory = plan.memory.at(0);
    double low = 0, high = 0;
    for (const LedgerLine& each : memory.lines)
      if (each.part == Section::kActivation) {
        low += static_cast<double>(each.low.count()) / kMiB;
        high += static_cast<double>(each.high.count()) / kMiB;
      }
    // Memory that windows no longer need stays allocated until the first decoded token. RecurrentGemma keeps its states
    // in its layers.
    const double cache = static_cast<double>(memory.kv_cache->count()) / kMiB;
    if (seen("cache_after") > 0) CHECK(std::fabs(cache - seen("cache_after")) <= 0.003 * cache + 1);
    // There PyTorch itself computed Mamba's states, because the packages for them were missing.
    if (row.at("model") == "mamba-2.8b") continue;
    const double took = seen("prefill_peak") - cache;
    CHECK(took >= low);
    CHECK(took <= high);
    // The process' memory that is not PyTorch's.
    CHECK(seen("outside") > 512);
    CHECK(seen("outside") < 1024);
  }
}

}  // namespace
}  // namespace kvplan
