// kvplan measure card with a simulated driver (tests/fakes/fake_gpu.cpp), and its safeguards.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "support/program.h"
#include "support/words.h"

namespace kvplan {
namespace {

#ifdef KVPLAN_FAKE_GPU

using Json = nlohmann::json;

const std::string kFake = KVPLAN_FAKE_GPU;
const std::string kH100 = "KVPLAN_FAKE_GPUS=NVIDIA H100 80GB HBM3=81090";

Run played(Words words, Words environment) {
  environment.insert(environment.end(),
                     {"KVPLAN_LIBCUDA=" + kFake, "KVPLAN_LIBHIP=" + kFake, "KVPLAN_NVML=" + kFake, kH100});
  return run_program(words, "/dev/null", environment);
}
Run card(Words words, const Words& environment = {}) {
  words.insert(words.begin(), {"measure", "card"});
  return played(words, environment);
}
Json json_of(const Run& run) {
  REQUIRE_FALSE(run.out.empty());
  return Json::parse(run.out);
}

TEST_CASE("measure card: a GPU's identity, memory and speed") {
  const Json seen = json_of(card({"--json"}, {"KVPLAN_FAKE_PIDS=1"}));
  CHECK(seen["uuid"] == "GPU-abababab-abab-abab-abab-ababababab00");
  CHECK(seen["is_slice"] == false);
  CHECK(seen["corrects_errors"] == true);
  CHECK(seen["reserved_bytes"] == 500ull << 20);
  CHECK(seen["usable_bytes"] == 81090ull << 20);
  CHECK(seen["context_bytes"] == 400ull << 20);
  CHECK(seen["context_is_by_process"] == true);
  CHECK(seen["block_bytes"] == 4ull << 30);
  CHECK(seen["read_gb_s"]["mean"].get<double>() == doctest::Approx(3200).epsilon(0.001));
  CHECK(seen["copy_gb_s"]["mean"].get<double>() == doctest::Approx(3000).epsilon(0.001));
  CHECK(seen["probes"][0] == Json{{"asked_bytes", 1}, {"took_bytes", 2 << 20}});
  CHECK(seen["is_disturbed"] == false);
  CHECK(card({}).out.find("not yet tested") == std::string::npos);
}

TEST_CASE("measure card: a slice is queried by its UUID, because its GPU refuses") {
  const Json seen = json_of(card({"--json"}, {"KVPLAN_FAKE_SLICE=1"}));
  CHECK(seen["uuid"] == "MIG-abababab-abab-abab-abab-ababababab00");
  CHECK(seen["is_slice"] == true);
  CHECK(seen["context_bytes"] == 400ull << 20);
}

TEST_CASE(
    "measure card: nothing is saved if another program changes memory, or if the context has an impossible size") {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/c.json";
  const Words neighbour = {"KVPLAN_FAKE_PROCESSES=2", "KVPLAN_FAKE_OTHERS=600"};
  Words moving = neighbour;
  moving.emplace_back("KVPLAN_FAKE_NEIGHBOUR=5:64");
  const Run disturbed = card({"--json", "--share", "--save-calibration", file}, moving);
  CHECK(disturbed.exit == 1);
  CHECK(json_of(disturbed)["is_disturbed"] == true);
  CHECK_FALSE(std::filesystem::exists(file));
  const Run still = card({"--json", "--share", "--save-calibration", file}, neighbour);
  CHECK(still.exit == 0);
  CHECK(std::filesystem::exists(file));
  // The saved figures apply to every engine.
  for (const char* engine : {"transformers", "llama.cpp"}) {
    const Run later = run_program({"testdata/configs/llama-3.1-8b.json", "--engine", engine, "--gpu", "h100-80gb",
                                   "--max-model-len", "8k", "--json", "--calibration", file});
    CHECK(later.err == "");
    CHECK(later.exit == 0);
    CHECK(json_of(later)["calibration"]["figures"].size() >= 1);
  }
  // 6 GiB belong to another engine that started meanwhile, not to a context.
  const Json large = json_of(card({"--json"}, {"KVPLAN_FAKE_CONTEXT=6000"}));
  CHECK(large["context_bytes"].is_null());
  // A measured plan does not save anything either.
  const std::string other = folder.path() + "/d.json";
  const Run plan = played({"testdata/configs/llama-3.1-8b.json", "--measure", "--share", "--max-model-len", "8k",
                           "--save-calibration", other},
                          moving);
  CHECK(plan.err.find("nothing was saved") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(other));
}

TEST_CASE("measure: a GPU that others use is refused without --share") {
  const Words busy = {"KVPLAN_FAKE_PROCESSES=1", "KVPLAN_FAKE_OTHERS=300"};
  for (const Run& run : {card({}, busy), played({"testdata/configs/llama-3.1-8b.json", "--measure"}, busy)}) {
    CHECK(run.exit == 5);
    CHECK(run.out.empty());
    CHECK(run.err.find("1 program computes on it") != std::string::npos);
    CHECK(run.err.find("--share") != std::string::npos);
  }
  // In a container NVML lists no process, but much memory is in use.
  CHECK(card({}, {"KVPLAN_FAKE_OTHERS=3000"}).exit == 5);
  CHECK(card({"--share"}, busy).exit == 0);
}

TEST_CASE("measure: shared main memory, and memory that Windows swaps, is never filled") {
  const Words words = {"testdata/configs/llama-3.1-8b.json", "--measure-max", "--max-model-len", "4k"};
  const Run integrated = played(words, {"KVPLAN_FAKE_INTEGRATED=1"});
  CHECK(integrated.exit == 2);
  CHECK(integrated.err.find("this GPU uses main memory") != std::string::npos);
  const Run paged = played(words, {"KVPLAN_DXG=/dev/null"});
  CHECK(paged.exit == 2);
  CHECK(paged.err.find("Windows swaps") != std::string::npos);
  const Json seen = json_of(card({"--json"}, {"KVPLAN_FAKE_INTEGRATED=1"}));
  CHECK(seen["is_integrated"] == true);
}

TEST_CASE("measure card: a kernel that the driver refuses is a remark, and copying is still measured") {
  const Json seen = json_of(card({"--json"}, {"KVPLAN_FAKE_FAIL=launch:1", "KVPLAN_FAKE_ERROR=1"}));
  CHECK(seen["read_gb_s"].is_null());
  REQUIRE_FALSE(seen["remarks"].empty());
  CHECK(seen["remarks"][0].get<std::string>().find("cuLaunchKernel") != std::string::npos);
  CHECK(card({"--device", "host"}).exit == 2);
}

TEST_CASE("measure: measuring another GPU than the planned one gives a note") {
  const Run run =
      played({"testdata/configs/llama-3.1-8b.json", "--measure", "--gpu", "l4", "--max-model-len", "8k"}, {});
  CHECK(run.out.find("planned for l4") != std::string::npos);
}

TEST_CASE("measure: AMD's pages of 4 KiB are not the granularity") {
  const Run run = played(
      {"testdata/configs/llama-3.1-8b.json", "--measure", "--json", "--device", "hip:0", "--max-model-len", "8k"},
      {"KVPLAN_FAKE_GRANULE=4096"});
  CHECK(json_of(run)["measurement"]["device"]["granularity_bytes"] == 2 << 20);
}

#endif

}  // namespace
}  // namespace kvplan
