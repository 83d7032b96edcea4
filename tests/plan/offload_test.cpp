// Models larger than a card: what stays in host memory, what that takes and how slow it is, and what makes it fit.
#include "plan/offload.h"
#include "plan/layouts.h"

#include <doctest/doctest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "cli/options.h"
#include "conformance/gguf_header.h"
#include "conformance/planner.h"
#include "plan/plan.h"
#include "plan/remedies.h"
#include "sources/load.h"
#include "support/program.h"
#include "support/words.h"

namespace kvplan {
namespace {

using Json = nlohmann::json;

Json planned(Words words, int status = 0) {
  words.insert(words.begin(), "testdata/configs/llama-3.1-8b.json");
  words.emplace_back("--json");
  const Run run = run_program(words);
  CHECK_MESSAGE(run.exit == status, run.err);
  return Json::parse(run.out);
}

double host_bytes(const Json& plan, const std::string& part) {
  double out = 0;
  for (const Json& line : plan["host_memory"]["lines"])
    if (line["part"] == part) out += line["bytes"].get<double>();
  return out;
}

TEST_CASE("host memory is judged where its size is named") {
  const Words half{"--engine", "llama.cpp", "--gpu", "rtx-4070-ti-super", "-c", "8192", "-ngl", "17"};
  const auto with = [&](const char* size) {
    Words out = half;
    out.insert(out.end(), {"--host-memory", size});
    return out;
  };
  const Json plan = planned(half);
  CHECK(plan["verdict"]["status"] == "fits");
  CHECK(plan["host_memory"]["limit_bytes"].is_null());
  // 16 of 32 layers of 218,112,000 parameters and the table of 128,256 x 4,096, in 16 bit; K and V of 16 layers.
  CHECK(host_bytes(plan, "weights") == 16 * 2 * 218112000.0 + 2 * 128256.0 * 4096);
  CHECK(host_bytes(plan, "kv_cache") == 16 * 8192 * 2 * 8 * 128 * 2.0);
  const Json roomy = planned(with("16GiB"));
  CHECK(roomy["verdict"]["status"] == "fits");
  CHECK(roomy["host_memory"]["limit_bytes"] == 16 * 1073741824.0);
  CHECK(roomy["verdict"]["budget_bytes"] == plan["verdict"]["budget_bytes"]);
  const Json tight = planned(with("8GiB"), 1);
  CHECK(tight["verdict"]["status"] == "does_not_fit");
  CHECK(tight["verdict"]["budget_bytes"] == 8 * 1073741824.0);
  CHECK(tight["verdict"]["reason"].get<std::string>().find("is more than the host memory of 8") != std::string::npos);
}

TEST_CASE("a machine without a card is planned by its memory") {
  const Json plan = planned({"--engine", "llama.cpp", "-c", "8192", "--host-memory", "32GiB"});
  CHECK(plan["verdict"]["status"] == "fits");
  CHECK(plan["memory"][0]["total_bytes"] == 0);
  CHECK(host_bytes(plan, "weights") == 2 * 8030261248.0);
  CHECK(host_bytes(plan, "kv_cache") == 32 * 8192 * 2 * 8 * 128 * 2.0);
  CHECK(host_bytes(plan, "activation") > 512 * 4096 * 4.0);  // at least the hidden states of a micro-batch
  CHECK(planned({"--engine", "llama.cpp", "-c", "8192", "--host-memory", "16GiB"}, 1)["verdict"]["status"] ==
        "does_not_fit");
  // Its page has no rows of a GPU that is not there: 14.96 GiB of weights, and 1 GiB of cache.
  const std::string page = run_program({"testdata/configs/llama-3.1-8b.json", "--engine", "llama.cpp", "-c", "8192",
                                        "--host-memory", "32GiB"})
                               .out;
  CHECK(page.find("Host memory: no GPU holds anything") != std::string::npos);
  CHECK(page.find("14.96") != std::string::npos);
  CHECK(page.find("not known") == std::string::npos);
}

TEST_CASE("a step takes as long as the GPU and the host take one after the other") {
  const Json plan = planned({"--engine", "llama.cpp", "--gpu", "rtx-4090", "-c", "8192", "-ngl", "17",
                             "--gpu-bandwidth", "1000", "--host-bandwidth", "50"});
  const Json& bounds = plan["bounds"];
  // 16 layers and the cache of them at 50 GB/s; the others and the head at 1,000. Norms count.
  const double layer = 2 * 218112000.0, head = 2 * (128256.0 * 4096 + 4096), cache = 8192 * 2 * 8 * 128 * 2.0;
  CHECK(bounds["host_read_bytes"] == 16 * (layer + cache));
  CHECK(bounds["host_bandwidth_gb_s"] == 50);
  const double seconds = (16 * (layer + cache) + head) / 1e12 + 16 * (layer + cache) / 5e10;
  CHECK(bounds["tokens_per_s"].get<double>() == doctest::Approx(1 / seconds));
  const Json whole = planned({"--engine", "llama.cpp", "--gpu", "rtx-4090", "-c", "8192"});
  CHECK(whole["bounds"]["host_read_bytes"] == 0);
  CHECK(whole["bounds"]["host_bandwidth_gb_s"].is_null());
}

TEST_CASE("Apple's working set is taken once, and a laptop stays one") {
  // Metal's recommendedMaxWorkingSetSize of 64 GB is three quarters of it: 48 GiB, in mlx-lm as in llama.cpp.
  for (const char* engine : {"mlx", "llama.cpp"}) {
    const Json plan = planned({"--engine", engine, "--gpu", "m3-max-64gb", "-c", "8192"});
    CHECK(plan["verdict"]["budget_bytes"] == 48 * 1073741824.0);
  }
  // A size is a machine's memory: macOS lets a GPU keep three quarters of it.
  CHECK(planned({"--engine", "mlx", "--gpu-memory", "64GiB", "-c", "8192"})["verdict"]["budget_bytes"] ==
        48 * 1073741824.0);
  const Json large = planned({"--engine", "mlx", "--gpu", "m1-16gb", "-c", "8192"}, 1);
  CHECK(!large["verdict"]["suggestions"].empty());
  for (const Json& remedy : large["verdict"]["suggestions"]) CHECK(!remedy["changes"].contains("-tp"));
}

// Every model that llama.cpp's fit was run over, on cards of all sizes.
TEST_CASE("what makes a model fit does, and one step less does not") {
  const TemporaryFolder folder;
  std::vector<std::string> files;
  for (const auto& row : conformance::read_lines(conformance::kFolder + "llama.cpp-fit.jsonl"))
    if (row.contains("tensors")) files.push_back(conformance::write_gguf(row, folder.path()));
  std::mt19937 random(26);
  const auto one_of = [&](const Words& words) { return words[random() % words.size()]; };
  const auto request_of = [](Words words) {
    words.insert(words.begin(), {"kvplan", "-", "--calibration", "none"});
    std::vector<const char*> pointers;
    for (const std::string& word : words) pointers.push_back(word.c_str());
    return parse_command_line(static_cast<int>(pointers.size()), pointers.data()).value().request;
  };
  int remedies_seen = 0, plans = 0;
  std::map<std::string, int> options;
  for (int turn = 0; turn < 80; ++turn) {
    const ModelSpec model = load_gguf(files[random() % files.size()], {});
    PlanCache cache(model);
    Words words{"--engine", one_of({"llama.cpp", "llama.cpp", "ollama"}), "--gpu-memory",
                one_of({"6GiB", "8GiB", "12GiB", "16GiB", "24GiB", "48GiB"})};
    if (random() % 2 == 0) words.insert(words.end(), {"--max-model-len", one_of({"2k", "8k", "32k", "128k"})});
    if (random() % 3 == 0) words.insert(words.end(), {"--num-seqs", one_of({"2", "4"})});
    if (words[1] == "llama.cpp" && random() % 3 == 0) words.insert(words.end(), {"-pp", "2"});
    if (random() % 3 == 0) words.insert(words.end(), {"--host-memory", one_of({"16GiB", "64GiB"})});
    const Plan asked = make_plan(cache, request_of(words));
    ++plans;
    if (asked.verdict.status != Verdict::kDoesNotFit || asked.verdict.refusal) continue;
    std::string text;
    for (const std::string& word : words) text += word + " ";
    for (const Remedy& remedy : remedies(cache, asked)) {
      const auto fits = [&](const std::string& option, std::int64_t more) {
        Words changed = words;
        for (const auto& [name, value] : remedy.changes) {
          changed.push_back(name);
          if (!value.empty()) changed.push_back(name == option ? std::to_string(std::stoll(value) + more) : value);
        }
        return verdict_of(cache, with_reserve(request_of(changed))).status == Verdict::kFits;
      };
      ++remedies_seen;
      const std::string& option = remedy.changes.front().first;
      ++options[option];
      CHECK_MESSAGE(fits("", 0), model.source << " " << text << ": " << option << " " << remedy.changes.front().second);
      if (option == "-ngl" && remedy.changes.size() == 1)
        CHECK_MESSAGE(!fits(option, 1),
                      model.source << " " << text << ": one layer more than -ngl " << remedy.changes.front().second);
      if (option == "--n-cpu-moe" && remedy.changes.front().second != "1")
        CHECK_MESSAGE(!fits(option, -1),
                      model.source << " " << text << ": one layer less than " << remedy.changes.front().second);
      if (option == "--max-model-len")
        CHECK_MESSAGE(!fits(option, 256), model.source << " " << text << ": 256 tokens more");
    }
  }
  CHECK(plans == 80);
  CHECK(remedies_seen > 100);
  for (const char* option : {"-ngl", "--n-cpu-moe", "--max-model-len", "-ctk"})
    CHECK_MESSAGE(options[option] > 0, option);
}

}  // namespace
}  // namespace kvplan
