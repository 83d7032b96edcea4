// Experts that move between ranks (EPLB), and the buffers that carry tokens to them. By arithmetic from the config, and
// from LowLatencyLayout of DeepEP's config.hpp.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "support/program.h"
#include "support/words.h"

namespace kvplan {
namespace {

using Json = nlohmann::json;

// Qwen3-30B-A3B: 48 layers of 128 experts, each of three matrices of 2048 x 768 in bfloat16.
constexpr double kExpert = 3 * 2048.0 * 768 * 2, kLayers = 48;

Run unconnected(const Words& words) {
  return run_program(words, "/dev/null", {"HF_HUB_OFFLINE=1", "HF_HOME=/nonexistent"});
}

Json planned(const Words& engine, const Words& more, int status = 0) {
  Words words{"Qwen/Qwen3-30B-A3B", "--gpu", "h100-80gb", "--max-model-len", "8192", "--json"};
  words.insert(words.end(), engine.begin(), engine.end());
  words.insert(words.end(), more.begin(), more.end());
  const Run run = unconnected(words);
  CHECK_MESSAGE(run.exit == status, run.err);
  return Json::parse(run.out);
}

double line(const Json& plan, const std::string& what) {
  for (const Json& each : plan["memory"][0]["lines"])
    if (each["what"] == what) return each["bytes"].get<double>();
  return 0;
}

TEST_CASE("EPLB: copies of experts, and a layer of them in transfer") {
  const Words vllm{"--engine", "vllm", "-tp", "8", "--enable-expert-parallel"};
  CHECK(line(planned(vllm, {}), "experts") == kLayers * 16 * kExpert);
  const Json balanced = planned(vllm, {"--enable-eplb", "--num-redundant-experts", "32"});
  CHECK(line(balanced, "experts") == kLayers * 20 * kExpert);
  CHECK(line(balanced, "experts in transfer") == 20 * kExpert);
  CHECK(line(planned(vllm, {"--enable-eplb"}), "experts in transfer") == 16 * kExpert);

  const Words sglang{"--engine", "sglang", "-tp", "8", "--enable-expert-parallel"};
  CHECK(line(planned(sglang, {"--num-redundant-experts", "32"}), "experts") == kLayers * 20 * kExpert);
  CHECK(planned(sglang, {"--num-redundant-experts", "3"}, 1)["verdict"]["starts"] == false);
}

TEST_CASE("EPLB: what vLLM refuses") {
  const Words vllm{"--engine", "vllm", "-tp", "8"};
  for (const Words& more : {Words{"--enable-eplb"}, Words{"--enable-expert-parallel", "--num-redundant-experts", "8"},
                            Words{"--enable-expert-parallel", "--enable-eplb", "--num-redundant-experts", "3"}})
    CHECK(planned(vllm, more, 1)["verdict"]["starts"] == false);
  CHECK(unconnected({"Qwen/Qwen3-30B-A3B", "--num-redundant-experts", "1024"}).exit == 2);
}

TEST_CASE("DeepEP's buffers, where data parallel ranks share the experts") {
  const Words vllm{"--engine", "vllm@0.33", "-dp", "8", "--enable-expert-parallel"};
  constexpr const char* kName = "buffers to exchange tokens";
  CHECK(line(planned(vllm, {}), kName) == 0);
  CHECK(line(planned({"--engine", "vllm", "-tp", "8", "--enable-expert-parallel"},
                     {"--all2all-backend", "deepep_low_latency"}),
             kName) == 0);
  constexpr double kGib = 1024.0 * 1024 * 1024, kWorkspace = 32.0 * 1024 * 1024;
  CHECK(line(planned(vllm, {"--all2all-backend", "deepep_high_throughput"}), kName) == kGib + kWorkspace);
  // 256 tokens of 16 blocks of 128 values with a scale of 4 B, for 128 experts, sent and received, twice.
  const double messages = 4.0 * 256 * 128 * 16 * (128 * 2 + 4);
  CHECK(line(planned(vllm, {"--all2all-backend", "deepep_low_latency"}), kName) == messages + kGib + kWorkspace);
}

}  // namespace
}  // namespace kvplan
