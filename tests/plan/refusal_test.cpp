// kvplan plans a request even if the engine refuses it at the start. The words are vLLM's own, executed in
// testdata/conformance.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "support/program.h"
#include "support/words.h"

namespace kvplan {
namespace {

using Json = nlohmann::json;

struct Asked {
  int exit = 0;
  Json verdict;
};

Asked ask(const std::string& config, std::vector<std::string> options) {
  options.insert(options.begin(), "testdata/configs/" + config + ".json");
  options.emplace_back("--json");
  const Run run = run_program(options);
  REQUIRE_MESSAGE(run.exit <= 1, run.err);
  return {run.exit, Json::parse(run.out).at("verdict")};
}

// The words of a refusal; empty if there is none.
std::string refused(const std::string& config, std::vector<std::string> options) {
  const Asked asked = ask(config, std::move(options));
  if (asked.verdict.at("refusal").is_null()) return {};
  CHECK(asked.exit == 1);
  CHECK(asked.verdict.at("status") == "does_not_fit");
  CHECK(asked.verdict.at("starts") == false);
  CHECK(asked.verdict.at("close") == false);
  const std::string words = asked.verdict.at("refusal");
  CHECK(asked.verdict.at("reason").get<std::string>().starts_with(words + "; "));
  return words;
}

TEST_CASE("vLLM refuses ranks that do not divide the heads, and the plan is shown") {
  CHECK(refused("llama-3.1-8b", {"--engine", "vllm", "-tp", "3"}) ==
        "Total number of attention heads (32) must be divisible by tensor parallel size (3)");
  CHECK(has(refused("qwen3.5-27b", {"--engine", "vllm", "-tp", "3"}), "16"));
  CHECK(refused("llama-3.1-8b", {"--engine", "vllm", "-tp", "4"}).empty());
  // 4 ranks repeat 2 KV heads. For a number of GPUs, no layout with such ranks is chosen.
  CHECK(refused("qwen3.5-27b", {"--engine", "vllm", "-tp", "8"}).empty());
  CHECK(refused("llama-3.1-8b", {"--engine", "vllm", "--gpu", "a100-80gb", "--gpu-count", "6"}).empty());
}

TEST_CASE("vLLM refuses a length beyond the model's") {
  CHECK(has(refused("llama-3.1-8b", {"--engine", "vllm", "--max-model-len", "131073"}),
            "User-specified max_model_len (131073) is greater than the derived max_model_len (131072)"));
  CHECK(refused("llama-3.1-8b", {"--engine", "vllm", "--max-model-len", "131072"}).empty());
}

TEST_CASE("vLLM refuses more sequences than a model with states has blocks, if it captures whole steps") {
  // The sentence: vllm-project/vllm#49064.
  std::vector<std::string> options{
      "--engine", "vllm@0.25", "--kv-cache-memory-bytes", "3.86GiB", "--max-model-len", "32768", "--gpu", "h100-80gb"};
  const Asked asked = ask("qwen3.5-27b", options);
  const std::uint64_t most = asked.verdict.at("largest_max_num_seqs");
  CHECK(asked.verdict.at("refusal") ==
        "max_num_seqs (1024) exceeds available Mamba cache blocks (" + std::to_string(most) + ")");
  CHECK(asked.verdict.at("suggestions").at(0).at("changes").at("--max-num-seqs") == std::to_string(most));
  const auto with = [&](std::initializer_list<const char*> more) {
    std::vector<std::string> all = options;
    all.insert(all.end(), more.begin(), more.end());
    return refused("qwen3.5-27b", all);
  };
  CHECK(with({"--max-num-seqs", std::to_string(most).c_str()}).empty());
  CHECK_FALSE(with({"--max-num-seqs", std::to_string(most + 1).c_str()}).empty());
  CHECK(with({"--enforce-eager"}).empty());
  // 0.19 captures fewer sizes instead of refusing.
  options[1] = "vllm@0.19";
  CHECK(refused("qwen3.5-27b", options).empty());
  // The printed command starts.
  options[1] = "vllm@0.25";
  options.insert(options.begin(), "testdata/configs/qwen3.5-27b.json");
  options.insert(options.end(), {"--format", "args"});
  const Run args = run_program(options);
  CHECK(args.exit == 0);
  CHECK(has(args.out, "--max-num-seqs " + std::to_string(most)));
}

TEST_CASE("vLLM refuses GPUs without a kernel") {
  for (const std::string card : {"a100-80gb", "rtx-4090", "l4"})
    CHECK(has(refused("deepseek-v3.2", {"--engine", "vllm", "--gpu", card}), "No valid attention backend found"));
  for (const std::string card : {"h100-80gb", "b200", "rtx-5090"})
    CHECK(refused("deepseek-v3.2", {"--engine", "vllm", "--gpu", card}).empty());
  CHECK(refused("deepseek-v3.2", {"--engine", "vllm", "--gpu-memory", "80GiB"}).empty());
  // FP8 in Triton's attention: gpt-oss has sinks, Gemma 4 has heads of 512, DeepSeek-V3 has latents.
  for (const std::string model : {"gpt-oss-20b", "gemma-4-26b", "deepseek-v3"}) {
    CHECK(has(refused(model, {"--engine", "vllm", "--gpu", "a100-80gb", "--kv-cache-dtype", "fp8"}), "SM89+"));
    CHECK(refused(model, {"--engine", "vllm", "--gpu", "l40s", "--kv-cache-dtype", "fp8"}).empty());
    CHECK(refused(model, {"--engine", "vllm", "--gpu", "a100-80gb"}).empty());
  }
  CHECK(refused("llama-3.1-8b", {"--engine", "vllm", "--gpu", "a100-80gb", "--kv-cache-dtype", "fp8"}).empty());
  // Types that the GPU cannot compute in.
  CHECK(has(refused("gpt-oss-20b", {"--engine", "vllm", "--gpu", "t4"}), "Minimum capability: 80"));
  CHECK(has(refused("llama-3.1-8b", {"--engine", "vllm", "--gpu", "t4", "--dtype", "bfloat16"}), "Bfloat16"));
  CHECK(refused("llama-3.1-8b", {"--engine", "vllm", "--gpu", "t4"}).empty());
  // The class of 0.26 requires the option.
  CHECK(has(refused("deepseek-v4-flash", {"--engine", "vllm@0.26"}), "got auto"));
  CHECK(refused("deepseek-v4-flash", {"--engine", "vllm@0.26", "--kv-cache-dtype", "fp8"}).empty());
  CHECK(refused("deepseek-v4-flash", {"--engine", "vllm"}).empty());
}

TEST_CASE("SGLang has no kernels of sparse latents before Hopper") {
  // sgl-project/sglang#35420
  for (const std::string card : {"a100-80gb", "rtx-4090"})
    for (const std::string model : {"deepseek-v3.2", "glm-5.2"})
      CHECK_FALSE(refused(model, {"--engine", "sglang", "--gpu", card}).empty());
  CHECK(refused("deepseek-v3.2", {"--engine", "sglang", "--gpu", "h200"}).empty());
  CHECK(refused("deepseek-v3.2", {"--engine", "sglang", "--gpu-memory", "80GiB"}).empty());
  // Its experts are FP8, for which Fp8MoEMethod has no kernel on Ampere (sgl-project/sglang#5871).
  CHECK(has(refused("deepseek-v3", {"--engine", "sglang", "--gpu", "a100-80gb"}), "fp8e4nv"));
}

TEST_CASE("A model that mlx-lm does not quantize is planned, and refused") {
  const auto quantized = [](const char* config) {
    return refused(config, {"--engine", "mlx", "--kv-cache-dtype", "int4"});
  };
  CHECK(has(quantized("gemma-4-26b"), "RotatingKVCache Quantization NYI"));
  CHECK(has(quantized("deepseek-v3"), "latent attention"));
  CHECK(has(quantized("phi-3-small"), "64") == false);  // heads of 128
  CHECK(quantized("llama-3.1-8b").empty());
}

TEST_CASE("vLLM refuses a model without a class") {
  CHECK(has(refused("rwkv6-1.6b", {"--engine", "vllm"}), "no class"));
}

}  // namespace
}  // namespace kvplan
