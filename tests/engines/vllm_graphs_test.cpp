// What vLLM's backends keep in addition to the graphs, and for prefills of sparse attention, through whole plans.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "support/program.h"

namespace kvplan {
namespace {

// GiB of the lines whose name or formula has the word; 0 if there is none.
double gib_of(const std::vector<std::string>& arguments, const std::string& word, const std::string& part) {
  const nlohmann::json plan = nlohmann::json::parse(run_program(arguments).out);
  double out = 0;
  for (const nlohmann::json& line : plan["memory"][0]["lines"]) {
    const bool named = line["what"].get<std::string>().find(word) != std::string::npos;
    if (named && line["part"] == part) out += line["bytes"].get<double>() / (1ULL << 30);
  }
  return out;
}

double graphs(const char* engine, const char* gpu, const char* cache) {
  return gib_of({"testdata/configs/llama-3.1-8b.json", "--engine", engine, "--gpu", gpu, "--kv-cache-dtype", cache,
                 "--max-num-seqs", "256", "--json"},
                "CUDA graphs", "runtime");
}

TEST_CASE("vllm: the extra reserve for graphs is a quarter of their memory, and half if CPU and GPU share memory") {
  const auto share = [](const char* gpu) {
    const std::vector<std::string> arguments{
        "testdata/configs/gpt-oss-20b.json", "--engine", "vllm@0.28", "--gpu", gpu, "--json"};
    return gib_of(arguments, "beyond what they take", "activation") / gib_of(arguments, "CUDA graphs", "runtime");
  };
  CHECK(share("h100-80gb") == doctest::Approx(0.25));
  CHECK(share("dgx-spark-128gb") == doctest::Approx(0.5));
}

TEST_CASE("vllm: on Hopper the graphs' pool has the outputs of 32 splits (logs of llm-d-planner, Llama-3.1-8B)") {
  const auto taken = [](const char* gpu, const char* ranks) {
    return gib_of({"testdata/configs/llama-3.1-8b.json", "--engine", "vllm@0.19", "--gpu", gpu, "-tp", ranks, "--json"},
                  "CUDA graphs", "runtime");
  };
  CHECK(taken("h100-80gb", "1") == doctest::Approx(0.91).epsilon(0.02));
  CHECK(taken("h100-80gb", "2") == doctest::Approx(0.76).epsilon(0.05));
  CHECK(taken("h100-80gb", "4") == doctest::Approx(0.67).epsilon(0.1));
  // 512 tokens * 32 heads of a rank * 128 * 4 B * 32 splits
  CHECK(taken("h100-80gb", "1") - taken("h100-80gb", "2") == doctest::Approx(0.125));
  CHECK(taken("a100-80gb", "1") == taken("a100-80gb", "2"));
}

TEST_CASE("vllm: an FP8 cache without FlashAttention's kernel keeps FlashInfer's workspace with the graphs") {
  constexpr double kWorkspace = 394.0 / 1024;
  CHECK(graphs("vllm@0.28", "rtx-4090", "fp8") - graphs("vllm@0.28", "rtx-4090", "auto") ==
        doctest::Approx(kWorkspace));
  // Logs name the backend since 0.16: Qwen3.5-122B in 4 bit on two GPUs of 48 GB, 0.69 GiB for 4 and 3 graphs.
  CHECK(graphs("vllm@0.16", "l40s", "fp8") - graphs("vllm@0.16", "l40s", "auto") == doctest::Approx(kWorkspace));
  // Hopper has the kernel. Turing has no FlashInfer, and 0.11 uses Triton.
  for (const char* gpu : {"h100-80gb", "t4"})
    CHECK(graphs("vllm@0.28", gpu, "fp8") == graphs("vllm@0.28", gpu, "auto"));
  CHECK(graphs("vllm@0.11", "rtx-4090", "fp8") == graphs("vllm@0.11", "rtx-4090", "auto"));
}

TEST_CASE("vllm: NCCL keeps memory for captured all-reduces of more than two GPUs without NVLink") {
  const auto taken = [](const char* engine, const char* gpu, const char* ranks) {
    return gib_of({"meta-llama/Llama-3.1-70B-Instruct", "--engine", engine, "--gpu", gpu, "-tp", ranks,
                   "--max-num-seqs", "256", "--json"},
                  "CUDA graphs", "runtime");
  };
  // Qwen2.5-72B, which has as many layers, on four L40S: 2.62 GiB printed; 0.82 without the 86 * 80 * 2 all-reduces.
  CHECK(taken("vllm@0.19", "l40s", "4") == doctest::Approx(2.62).epsilon(0.05));
  CHECK(taken("vllm@0.19", "l40s", "4") - taken("vllm@0.19", "a100-80gb", "4") ==
        doctest::Approx(86.0 * 80 * 2 * 132 / (1 << 20)));
  CHECK(taken("vllm@0.19", "l40s", "2") == taken("vllm@0.19", "a100-80gb", "2"));
  CHECK(taken("vllm@0.28", "rtx-pro-6000", "4") == taken("vllm@0.28", "a100-80gb", "4"));
}

TEST_CASE("vllm: graphs of bitsandbytes have an unpacked matrix and more kernels (a log of 0.11: 1.09 GiB)") {
  const auto taken = [](const char* weights) {
    return gib_of({"testdata/configs/llama-3.1-8b.json", "--engine", "vllm@0.11", "--gpu", "h100-nvl", "--weights",
                   weights, "--max-num-seqs", "320", "--json"},
                  "CUDA graphs", "runtime");
  };
  CHECK(taken("bnb-nf4") == doctest::Approx(1.09).epsilon(0.1));
  // 4 B of a matrix of 4096 * 14336, and 42 KiB for each of 32 layers of 67 and 43 graphs
  CHECK(taken("bnb-nf4") - taken("bfloat16") ==
        doctest::Approx((4096.0 * 14336 * 4 + (67 + 43) * 32 * 42 * 1024) / (1 << 30)));
}

TEST_CASE("vllm: sparse attention keeps a workspace of the indexer's keys for prefills (get_max_prefill_buffer_size)") {
  const auto kept = [](const char* config, const char* engine, const char* length, const char* part) {
    return gib_of({std::string("testdata/configs/") + config, "--engine", engine, "-tp", "4", "--max-model-len", length,
                   "--kv-cache-dtype", "fp8", "--gpu", "b200-180gb", "--json"},
                  "indexer's workspace", part);
  };
  const auto by_hand = [](double room, double tokens) { return room * tokens * 132 / (1ULL << 30); };
  // Until 0.26 it is printed within the peak, since then within "consumed". Since 0.33 it is 16 times a long context.
  CHECK(kept("glm-5.2.json", "vllm@0.26", "819200", "activation") == doctest::Approx(by_hand(40, 819200)));
  CHECK(kept("glm-5.2.json", "vllm@0.28", "819200", "runtime") == doctest::Approx(by_hand(40, 819200)));
  CHECK(kept("glm-5.2.json", "vllm@0.33", "819200", "runtime") == doctest::Approx(by_hand(16, 819200)));
  CHECK(kept("glm-5.2.json", "vllm@0.33", "131072", "runtime") == doctest::Approx(by_hand(40, 131072)));
  // Each key covers four tokens.
  CHECK(kept("deepseek-v4-flash.json", "vllm@0.26", "131072", "activation") == doctest::Approx(by_hand(10, 131072)));
  CHECK(kept("glm-5.2.json", "vllm@0.12", "819200", "activation") == 0);
  CHECK(kept("llama-3.1-8b.json", "vllm@0.26", "131072", "activation") == 0);
  // On CDNA the logits of a batch of decodes are in the same workspace: 16,384 * 1,048,576 / 4 * 4 B.
  CHECK(gib_of({"testdata/configs/deepseek-v4-flash.json", "--engine", "vllm@0.28", "-tp", "8", "--max-model-len",
                "1048576", "--kv-cache-dtype", "fp8", "--gpu", "mi300x", "--json"},
               "indexer's logits of decodes", "runtime") == doctest::Approx(16));
}

TEST_CASE("vllm: encoder-decoders only capture whole decode steps (VllmConfig, FULL_DECODE_ONLY)") {
  // Whisper-large-v3 under WSL, 0.15: 0.22 GiB printed.
  const double taken = gib_of({"testdata/configs/whisper-medium.json", "--engine", "vllm@0.15", "--gpu", "rtx-4090",
                               "--max-num-batched-tokens", "2048", "--max-num-seqs", "256", "--json"},
                              "CUDA graphs", "runtime");
  CHECK(taken == doctest::Approx((50 + 128 + 35.0 * 24 * 20 / 1024) / 1024).epsilon(0.001));  // 35 sizes up to 256
  CHECK(taken == doctest::Approx(0.22).epsilon(0.16));
}

TEST_CASE(
    "vllm: drafts widen the largest graph, and since 0.29 steps of whole requests have sizes (_set_cudagraph_sizes)") {
  // 16 requests of three tokens: up to 96 tokens in 15 sizes, nine of which fit a decode step of 48. 3, 6 and 12 come
  // with 0.29.
  const auto count = [](const char* engine, const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"testdata/configs/glm-5.2.json",
                                       "--engine",
                                       engine,
                                       "--gpu",
                                       "h100-80gb",
                                       "-tp",
                                       "8",
                                       "--max-num-seqs",
                                       "16",
                                       "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const nlohmann::json plan = nlohmann::json::parse(run_program(arguments).out);
    std::string formula;
    for (const nlohmann::json& line : plan["memory"][0]["lines"])
      if (line["what"] == "CUDA graphs") formula = line["formula"];
    const std::size_t end = formula.find(" graphs *");
    return end == std::string::npos
               ? formula
               : formula.substr(formula.rfind(' ', end - 1) + 1, end - formula.rfind(' ', end - 1) - 1);
  };
  const std::vector<std::string> drafts{"--speculative-config", R"({"method":"mtp","num_speculative_tokens":2})"};
  CHECK(count("vllm@0.28", drafts) == "24");
  CHECK(count("vllm@0.29", drafts) == "30");
  CHECK(count("vllm@0.12", drafts) != count("vllm@0.13", drafts));
  // If the limits are given, vLLM adds no such sizes.
  std::vector<std::string> limited = drafts;
  limited.insert(limited.end(), {"--max-cudagraph-capture-size", "96"});
  CHECK(count("vllm@0.29", limited) == "24");
}

TEST_CASE("vllm: the sampler sorts all logits until 0.16") {
  // Qwen3-14B on an AMD GPU of 48 GB in 0.16 has 13.49 GiB left, which matches a sampler of 39 B per element.
  const auto each = [](const char* engine, const char* gpu) {
    return gib_of({"testdata/configs/llama-3.1-8b.json", "--engine", engine, "--gpu", gpu, "--max-num-batched-tokens",
                   "2048", "--max-num-seqs", "256", "--json"},
                  "activation peak", "activation");
  };
  CHECK(each("vllm@0.16", "w7900-48gb") == each("vllm@0.15", "w7900-48gb"));
  CHECK(each("vllm@0.17", "w7900-48gb") == each("vllm@0.17", "rtx-4090"));
  CHECK(each("vllm@0.16", "w7900-48gb") == each("vllm@0.16", "rtx-4090"));
  CHECK(each("vllm@0.16", "rtx-4090") > 2 * each("vllm@0.17", "rtx-4090"));
}

}  // namespace
}  // namespace kvplan
