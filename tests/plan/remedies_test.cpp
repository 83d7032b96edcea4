// Suggestions work, for many random plans: with the suggested options, added to the command with the same --reserve,
// the plan fits, and with one step less it does not.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <random>

#include "support/program.h"
#include "support/words.h"

namespace kvplan {
namespace {

using Json = nlohmann::json;

class Dice {
 public:
  explicit Dice(unsigned seed) : random_(seed) {}
  std::string one_of(const Words& words) { return words[random_() % words.size()]; }

 private:
  std::mt19937 random_;  // the same everywhere
};

Words random_command(Dice& dice) {
  const std::string engine =
      dice.one_of({"vllm", "vllm", "sglang", "llama.cpp@b6900", "transformers", "tensorrt-llm", "logical"});
  Words out{"testdata/configs/" +
                dice.one_of({"llama-3.1-8b", "qwen3.5-27b", "gpt-oss-20b", "gemma-4-26b", "mixtral-8x7b", "deepseek-v3",
                             "falcon-h1-1.5b", "qwen3-0.6b", "glm-5.2", "kimi-linear-48b"}) +
                ".json",
            "--engine",
            engine,
            "--gpu",
            dice.one_of({"rtx-3060", "rtx-4090", "l40s", "a100-40gb", "h100-80gb", "h200", "b200"}),
            "--max-model-len",
            dice.one_of({"4k", "16k", "32k", "64k", "128k"}),
            "--num-seqs",
            dice.one_of({"1", "2", "8", "32", "64"}),
            "--reserve",
            dice.one_of({"0%", "1%", "5%", "1GiB", "1500MiB"})};
  const std::string layout = dice.one_of({"", "", "--gpu-count", "-tp"});
  if (!layout.empty() && (!engine.starts_with("llama.cpp") || layout == "--gpu-count")) {
    out.push_back(layout);
    out.push_back(dice.one_of({"2", "4", "8"}));
  }
  return out;
}

Words options_of(const Json& changes) {
  Words out;
  for (const auto& [option, value] : changes.items()) {
    out.push_back(option);
    if (!value.get<std::string>().empty()) out.push_back(value.get<std::string>());
  }
  return out;
}

// The same change, one step smaller; none if it has no steps.
Words one_step_less(const Json& changes) {
  if (changes.size() != 1) return {};
  const auto [option, value] = std::pair(changes.begin().key(), changes.begin().value().get<std::string>());
  if (option == "--max-model-len" || option == "--ctx-size" || option == "--num-seqs" || option == "-ngl")
    return {option, std::to_string(std::stoull(value) + 1)};
  if (option == "--n-cpu-moe") return {option, std::to_string(std::stoull(value) - 1)};
  if (option == "--gpu-memory-utilization" || option == "--mem-fraction-static")
    return {option, std::to_string(std::stod(value) - 0.01)};
  if (option == "--swa-full-tokens-ratio" && value != "0.95") return {option, std::to_string(std::stod(value) + 0.05)};
  return {};
}

// The number of GPUs in a change that names ranks or GPUs; 0 for other changes.
std::uint64_t gpus_of(const Json& changes) {
  if (changes.contains("--gpu-count")) return std::stoull(changes["--gpu-count"].get<std::string>());
  if (!changes.contains("-tp")) return 0;
  std::uint64_t out = 1;
  for (const char* ranks : {"-tp", "-pp", "-dp"})
    if (changes.contains(ranks)) out *= std::stoull(changes[ranks].get<std::string>());
  return out;
}

// The command with the next smaller usual number of GPUs, in its best layout; none if that is the command's own number.
Words on_fewer_gpus(Words command, std::uint64_t gpus) {
  constexpr std::array<std::uint64_t, 11> kCounts{1, 2, 4, 8, 16, 24, 32, 40, 48, 56, 64};
  std::uint64_t own = 1;
  for (const char* option : {"--gpu-count", "-tp"})
    if (const auto at = std::find(command.begin(), command.end(), option); at != command.end()) {
      own = std::stoull(*(at + 1));
      command.erase(at, at + 2);
    }
  std::uint64_t fewer = 0;
  for (const std::uint64_t count : kCounts)
    if (count < gpus) fewer = count;
  return fewer > own ? joined(command, {"--gpu-count", std::to_string(fewer)}) : Words{};
}

TEST_CASE("remedies: over random plans each fits with the same reserve, and one step less does not") {
  Dice dice(20261123);
  int held = 0;
  int steps = 0;
  int counts = 0;
  for (int turn = 0; turn < (kSanitized ? 40 : 240); ++turn) {
    const Words command = random_command(dice);
    CAPTURE(text_of(command));
    const Run run = run_program(joined(command, {"--json"}));
    if (run.exit > 1) continue;  // the engine does not have such a plan
    const Json report = Json::parse(run.out);
    for (const Json& remedy : report["verdict"]["suggestions"]) {
      const Words options = options_of(remedy["changes"]);
      CAPTURE(text_of(options));
      const Run again = run_program(joined(joined(command, options), {"--json"}));
      CAPTURE(again.err);
      CHECK(again.exit == 0);
      ++held;
      if (const Words fewer = on_fewer_gpus(command, gpus_of(remedy["changes"])); !fewer.empty()) {
        CHECK(run_program(joined(fewer, {"--json"})).exit != 0);
        ++counts;
      }
      const Words less = one_step_less(remedy["changes"]);
      if (less.empty()) continue;
      CAPTURE(text_of(less));
      CHECK(run_program(joined(joined(command, less), {"--json"})).exit == 1);
      ++steps;
    }
  }
  if (kSanitized) return;
  CHECK(held > 200);
  CHECK(steps > 80);
  CHECK(counts > 20);
}

TEST_CASE("remedies: every layout and length in the answer of fit fits with the same reserve") {
  Dice dice(26);
  int held = 0;
  for (int turn = 0; turn < (kSanitized ? 6 : 24); ++turn) {
    const Words command = random_command(dice);
    CAPTURE(text_of(command));
    const Run run = run_program(joined(joined({"fit"}, command), {"--json"}));
    if (run.exit > 1) continue;
    const Json report = Json::parse(run.out);
    for (const Json& answer : report["answers"]) {
      const Words options = options_of(answer["changes"]);
      if (std::find(options.begin(), options.end(), "any") != options.end()) continue;
      CAPTURE(text_of(options));
      const Run again = run_program(joined(joined(command, options), {"--json"}));
      CAPTURE(again.err);
      CHECK(again.exit == 0);
      ++held;
    }
  }
  CHECK(held > (kSanitized ? 6 : 60));
}

}  // namespace
}  // namespace kvplan
