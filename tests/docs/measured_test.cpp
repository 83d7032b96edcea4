// Figures from real GPUs (testdata/measured). Today's plan must still match the measurement.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

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
      // Whole granules that the run explained are added.
      const double measured = row.at("measured_bytes").get<double>();
      const double granules = row.at("rounding_bytes").get<double>() + 4 * row.at("granularity_bytes").get<double>();
      CHECK(std::fabs(planned - measured) <= 0.01 * planned + granules);
      ++rows;
    }
  }
  MESSAGE(rows << " measurements on real cards are held against today's plans");
}

}  // namespace
}  // namespace kvplan
