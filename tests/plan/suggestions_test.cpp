// Suggestions work: with the suggested options, added to the user's command, the plan is the promised one.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "support/program.h"
#include "support/words.h"

namespace kvplan {
namespace {

using Json = nlohmann::json;

Run plan(const Words& command, const Words& more) {
  return run_program(joined(joined(command, more), {"--json"}));
}

// The options in "; -tp 8 -pp 2 (16 GPUs) makes it fit"; none if the reason has no remedy.
Words remedy_of(const std::string& reason) {
  const auto end = reason.find(" makes it fit");
  if (end == std::string::npos || reason.find("no single change") != std::string::npos) return {};
  std::string text = reason.substr(0, end);
  text = text.substr(text.rfind("; ") + 2);
  if (const auto gpus = text.find(" ("); gpus != std::string::npos) text.resize(gpus);
  std::istringstream in(text);
  Words out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

const std::vector<Words>& commands() {
  const auto model = [](const char* name) { return "testdata/configs/" + std::string(name) + ".json"; };
  static const std::vector<Words> kCommands{
      {model("llama-3.1-8b"), "--engine", "vllm", "--gpu", "rtx-4090", "--max-model-len", "128k"},
      {model("llama-3.1-8b"), "--engine", "vllm", "--gpu", "rtx-4090", "--gpu-count", "2"},
      {model("llama-3.1-8b"), "--engine", "vllm", "--gpu", "l4", "-c", "64k", "--num-seqs", "4"},
      {model("llama-3.1-8b"), "--engine", "sglang", "--gpu", "l4", "--gpu-count", "2", "--num-seqs", "32"},
      {model("llama-3.1-8b"), "--engine", "llama.cpp", "--gpu", "rtx-4090", "-c", "256k", "-np", "4"},
      {model("llama-3.1-8b"), "--engine", "llama.cpp", "--gpu", "rtx-4090", "-c", "512k", "-np", "4", "-kvu"},
      {model("llama-3.1-8b"), "--gpu-memory", "24GiB", "-ctk", "fp16", "-ctv", "fp8", "--max-model-len", "128k"},
      {model("mixtral-8x7b"), "--engine", "vllm", "--gpu", "h100-80gb", "--max-model-len", "32k"},
      {model("mixtral-8x7b"), "--engine", "vllm", "--gpu", "a100-40gb", "--gpu-count", "2", "-dp", "2"},
      {model("deepseek-v3"), "--engine", "vllm", "--gpu", "h100-80gb", "--gpu-count", "8", "--max-model-len", "32k"},
      {model("deepseek-v3"), "--engine", "sglang", "--gpu", "h200", "-tp", "8", "-dp", "4", "--enable-dp-attention",
       "--max-model-len", "160k", "--num-seqs", "64"},
      {model("gpt-oss-20b"), "--engine", "transformers", "--gpu", "rtx-4090", "--max-model-len", "128k"},
      {model("qwen3.5-27b"), "--engine", "vllm", "--gpu", "rtx-4090", "--max-model-len", "4k"},
      {model("gemma-4-26b"), "--engine", "tensorrt-llm", "--gpu", "l40s", "--max-model-len", "16k"},
  };
  return kCommands;
}

TEST_CASE("suggestions: the remedy of a plan that does not fit makes it fit") {
  int remedies = 0;
  for (const Words& command : commands()) {
    CAPTURE(text_of(command));
    const Run run = plan(command, {});
    REQUIRE(run.exit <= 1);
    const Json report = Json::parse(run.out);
    const Words remedy = remedy_of(report["verdict"]["reason"].get<std::string>());
    if (remedy.empty()) continue;
    ++remedies;
    CAPTURE(text_of(remedy));
    const Run again = plan(command, remedy);
    CAPTURE(again.err);
    CHECK(again.exit == 0);
  }
  CHECK(remedies >= 5);
}

TEST_CASE("suggestions: every answer of fit and compare is the plan of its options") {
  int answers = 0;
  for (const char* question : {"fit", "compare"}) {
    for (const Words& command : commands()) {
      CAPTURE(question);
      CAPTURE(text_of(command));
      const Run run = run_program(joined(joined({question}, command), {"--json"}));
      REQUIRE(run.exit <= 1);
      const Json report = Json::parse(run.out);
      int turn = 0;
      for (const Json& answer : report["answers"]) {
        // Every third is enough if they only differ in numbers.
        if (std::string(question) == "compare" && turn++ % (kSanitized ? 12 : 3) != 0) continue;
        Words options;
        for (const auto& [option, value] : answer["changes"].items()) {
          options.push_back(option);
          if (!value.get<std::string>().empty()) options.push_back(value);
        }
        CAPTURE(text_of(options));
        const Run again = plan(command, options);
        CAPTURE(again.err);
        REQUIRE(again.exit <= 1);
        const Json made = Json::parse(again.out);
        CHECK(made["verdict"]["status"] == answer["verdict"]["status"]);
        CHECK(made["total"]["bytes"] == answer["total"]["bytes"]);
        CHECK(made["memory"].size() == answer["memory"].size());
        ++answers;
      }
    }
  }
  CHECK(answers > (kSanitized ? 20 : 100));
}

Words remedy(const Words& command) {
  return remedy_of(Json::parse(plan(command, {}).out)["verdict"]["reason"].get<std::string>());
}

TEST_CASE("suggestions: what the user requested is changed last") {
  const std::string llama = "testdata/configs/llama-3.1-8b.json";
  const Words tight{"--engine", "vllm", "--gpu-memory", "12GiB", "--weights", "nvfp4", "--kv", "fp8"};
  // A length that the user gave stays, whatever it needs.
  const Words named = remedy(joined(joined({llama}, tight), {"--max-model-len", "128k", "--num-seqs", "2"}));
  REQUIRE(!named.empty());
  CHECK(named.front() != "--max-model-len");
  CHECK(named.front() != "--num-seqs");
  // The model's maximum is only a default.
  const Words unnamed = remedy(joined({llama}, {"--engine", "vllm", "--gpu", "l4", "--kv", "fp8"}));
  if (!unnamed.empty()) CHECK(unnamed.front() == "--max-model-len");
}

// Releases before --fit. Later releases move layers by themselves.
TEST_CASE("suggestions: llama.cpp keeps as many layers on the GPU as fit, and moves experts before whole layers") {
  const auto offered = [](const Words& command, const std::string& option) {
    const Json report = Json::parse(plan(command, {}).out);
    for (const Json& each : report["verdict"]["suggestions"])
      if (each["changes"].contains(option)) return std::stoi(each["changes"][option].get<std::string>());
    return -1;
  };
  const auto fits = [](const Words& command, const std::string& option, int value) {
    return plan(command, {option, std::to_string(value)}).exit == 0;
  };
  // llama-fit-params of v0.6.0, whose graphs are smaller, takes 24 layers of 32 with a reserve of 1 GiB.
  const Words dense{"testdata/configs/llama-3.1-8b.json",
                    "--engine",
                    "llama.cpp@b6900",
                    "--weights",
                    "f16",
                    "-c",
                    "4096",
                    "--gpu-memory",
                    "12GiB",
                    "--reserve",
                    "1GiB"};
  const int layers = offered(dense, "-ngl");
  CHECK(layers >= 22);
  CHECK(layers <= 25);
  CHECK(fits(dense, "-ngl", layers));
  CHECK_FALSE(fits(dense, "-ngl", layers + 1));
  const Words mixture{"testdata/configs/gpt-oss-20b.json",
                      "--engine",
                      "llama.cpp@b6900",
                      "-c",
                      "4096",
                      "--gpu-memory",
                      "10GiB",
                      "--reserve",
                      "1GiB"};
  const int experts = offered(mixture, "--n-cpu-moe");
  REQUIRE(experts > 0);
  CHECK(fits(mixture, "--n-cpu-moe", experts));
  CHECK_FALSE(fits(mixture, "--n-cpu-moe", experts - 1));
  // A placement that the command names is changed too.
  CHECK(offered(joined(mixture, {"-ngl", "99"}), "--n-cpu-moe") == experts);
  CHECK(offered(joined(mixture, {"-ngl", "99", "--n-cpu-moe", "1"}), "--n-cpu-moe") == experts);
  CHECK(offered({"testdata/configs/llama-3.1-8b.json", "--engine", "vllm", "--gpu-memory", "12GiB"}, "-ngl") == -1);
}

TEST_CASE("suggestions: changes without loss come first, each as small as possible") {
  // SGLang divides its pool between window layers and others. kvplan suggests fewer tokens for the windows and a larger
  // fraction of the GPU before it suggests another type, length or GPU.
  const auto suggestions = [](const Words& command) {
    return Json::parse(plan(command, {}).out)["verdict"]["suggestions"];
  };
  const Words windows{"testdata/configs/gpt-oss-20b.json",
                      "--engine",
                      "sglang",
                      "--gpu",
                      "rtx-4090",
                      "--max-model-len",
                      "128k",
                      "--mem-fraction-static",
                      "0.8",
                      "--reserve",
                      "1%"};
  const Json dealt = suggestions(windows);
  REQUIRE(!dealt.empty());
  REQUIRE(dealt.front()["changes"].contains("--swa-full-tokens-ratio"));
  const std::string ratio = dealt.front()["changes"]["--swa-full-tokens-ratio"].get<std::string>();
  CHECK(plan(windows, {"--swa-full-tokens-ratio", ratio}).exit == 0);
  CHECK(plan(windows, {"--swa-full-tokens-ratio", std::to_string(std::stod(ratio) + 0.05)}).exit == 1);
  // 438 MiB are missing, of 92 % of 22.03 GiB. Two hundredths are 451 MiB, and suggestions leave 1 % free.
  const Words tight{
      "testdata/configs/llama-3.1-8b.json", "--engine", "vllm", "--gpu", "l4", "--max-model-len", "32320"};
  const Json share = suggestions(tight);
  REQUIRE(!share.empty());
  CHECK(share.front()["changes"]["--gpu-memory-utilization"] == "0.95");
  CHECK(plan(tight, {"--gpu-memory-utilization", "0.94"}).exit == 0);
  CHECK(plan(tight, {"--gpu-memory-utilization", "0.93"}).exit == 1);
  // A fraction that the user gave may be raised too.
  const Json named = suggestions(joined(tight, {"--gpu-memory-utilization", "0.9"}));
  REQUIRE(!named.empty());
  CHECK(named.front()["changes"].contains("--gpu-memory-utilization"));
}

TEST_CASE("suggestions: llama.cpp's have its own option names") {
  const Words two{"testdata/configs/mixtral-8x7b.json",
                  "--engine",
                  "llama.cpp@b6900",
                  "--weights",
                  "q8_0",
                  "--gpu",
                  "rtx-4090+rtx-3060",
                  "-c",
                  "16k",
                  "--reserve",
                  "1GiB"};
  const Json suggestions = Json::parse(plan(two, {}).out)["verdict"]["suggestions"];
  bool joint = false;
  for (const Json& each : suggestions) {
    const Json& changes = each["changes"];
    CHECK_FALSE(changes.contains("-pp"));
    CHECK_FALSE(changes.contains("--kv-cache-dtype"));
    if (!changes.contains("-ngl")) continue;
    // GPUs of 24 and 12 GiB get layers two to one.
    joint = changes.contains("--tensor-split");
    if (joint)
      CHECK(plan(two, {"-ngl", changes["-ngl"].get<std::string>(), "-ts", changes["--tensor-split"].get<std::string>()})
                .exit == 0);
  }
  CHECK(joint);
  const Json long_one = Json::parse(plan({"testdata/configs/llama-3.1-8b.json", "--engine", "llama.cpp", "--weights",
                                          "f16", "--gpu", "2x3060", "-c", "64k"},
                                         {})
                                        .out)["verdict"]["suggestions"];
  REQUIRE(!long_one.empty());
  CHECK(long_one.front()["changes"]["-ctk"] == "q8_0");
  CHECK(long_one.front()["changes"]["-ctv"] == "q8_0");
}

TEST_CASE("different GPUs: layers by memory, and each GPU's plan compared with its own memory") {
  const Words model{"testdata/configs/llama-3.1-8b.json", "-c", "16k"};
  const auto report = [&](const Words& options) { return Json::parse(plan(model, options).out); };
  // GPUs with equal names are equal, so the plan is that of two GPUs that are split evenly.
  const Json twice = report({"--gpu", "rtx-3090+rtx-3090"});
  const Json two = report({"--gpu", "2x3090", "--engine", "llama.cpp", "-pp", "2", "-ts", "1,1"});
  CHECK(twice["request"]["engine"] == "llama.cpp");
  CHECK(twice["total"] == two["total"]);
  CHECK(twice["memory"] == two["memory"]);
  // They are split by 23.5 and 11.6 GiB of memory.
  const Json uneven = report({"--gpu", "rtx-4090+rtx-3060"});
  CHECK(uneven["memory"] ==
        report({"--engine", "llama.cpp", "--gpu", "2x4090", "-pp", "2", "-ts", "23.5,11.6"})["memory"]);
  // The smaller GPU decides.
  CHECK(uneven["verdict"]["budget_bytes"] < 12LL << 30);
  // Each GPU has a row. For the bound of speed they work one after the other: 1,008 and 360 GB/s.
  const Run page = run_program(joined(model, {"--gpu", "rtx-4090+rtx-3060"}));
  CHECK(page.out.find("GPU 0, rtx-4090") != std::string::npos);
  CHECK(page.out.find("GPU 1, rtx-3060") != std::string::npos);
  const auto held = [&](std::size_t gpu) {
    const Json& row = uneven["memory"][gpu];
    return row["weights_bytes"].get<double>() + row["kv_cache_bytes"].get<double>();
  };
  CHECK(uneven["bounds"]["bandwidth_gb_s"].get<double>() ==
        doctest::Approx((held(0) + held(1)) / (held(0) / 1008 + held(1) / 360)).epsilon(0.001));
  const Run evenly = plan(model, {"--engine", "vllm", "--gpu", "rtx-4090+rtx-3060"});
  CHECK(evenly.exit == 2);
  CHECK(evenly.err.find("splits evenly") != std::string::npos);
}

TEST_CASE("layouts: the most tensor parallelism that fits, within a node") {
  const auto layout = [](const Words& command) {
    const Json request = Json::parse(plan(command, {}).out)["request"];
    return std::pair(request["tensor_parallel_size"].get<int>(), request["pipeline_parallel_size"].get<int>());
  };
  const std::string llama = "testdata/configs/llama-3.1-8b.json";
  const Words vllm{llama, "--engine", "vllm", "--max-model-len", "8k", "--gpu", "rtx-4090", "--gpu-count"};
  CHECK(layout(joined(vllm, {"2"})) == std::pair(2, 1));
  CHECK(layout(joined(vllm, {"8"})) == std::pair(8, 1));
  CHECK(layout(joined(vllm, {"16"})) == std::pair(8, 2));
  // Two copies of two.
  CHECK(layout(joined(vllm, {"4", "-dp", "2"})) == std::pair(2, 1));
  // llama.cpp splits only by layers.
  CHECK(layout({llama, "--engine", "llama.cpp", "--gpu", "rtx-4090", "--gpu-count", "2"}) == std::pair(1, 2));
}

}  // namespace
}  // namespace kvplan
