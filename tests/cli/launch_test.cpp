// The printed command is the deployment that was planned: every option that changes memory in the engine's spelling, or
// an error that names it. Spellings: vllm/engine/arg_utils.py, sglang/srt/server_args.py, llama.cpp common/arg.cpp.
#include <doctest/doctest.h>

#include "support/program.h"

namespace kvplan {
namespace {

struct Row {
  std::string model;
  std::vector<std::string> options;
  std::string expected;  // part of the command
};

Run launch_of(std::string model, std::vector<std::string> options, const std::string& form = "args") {
  model = "testdata/configs/" + model + ".json";
  options.insert(options.begin(), {model, "--max-model-len", "4k", "--format", form});
  return run_program(options);
}

TEST_CASE("launch: every option that changes memory, in the engine's spelling") {
  const std::vector<Row> rows{
      {"deepseek-v3", {"--engine", "sglang", "-tp", "8", "-dp", "8", "--enable-dp-attention"}, "--enable-dp-attention"},
      {"deepseek-v3", {"--engine", "sglang", "-tp", "8", "--enable-expert-parallel"}, "--ep-size 8"},
      {"deepseek-v3", {"--engine", "sglang@0.4", "-tp", "8", "--enable-expert-parallel"}, "--enable-ep-moe"},
      {"deepseek-v3", {"--engine", "vllm", "-tp", "8", "--enable-expert-parallel"}, "--enable-expert-parallel"},
      {"qwen3.5-27b", {"--engine", "vllm", "--no-enable-prefix-caching"}, "--no-enable-prefix-caching"},
      {"qwen3.5-27b", {"--engine", "vllm@0.30", "--mamba-cache-mode", "all"}, "--mamba-cache-mode all"},
      {"qwen3.5-27b", {"--engine", "vllm", "--mamba-ssm-cache-dtype", "fp32"}, "--mamba-ssm-cache-dtype float32"},
      {"qwen3.5-27b", {"--engine", "sglang", "--mamba-ssm-cache-dtype", "bf16"}, "--mamba-ssm-dtype bfloat16"},
      {"llama-3.1-8b", {"--engine", "sglang", "--dtype", "float16"}, "--dtype float16"},
      {"llama-3.1-8b", {"--engine", "sglang", "--kv", "nvfp4"}, "--kv-cache-dtype nvfp4"},
      {"llama-3.1-8b", {"--engine", "sglang@0.5.14", "--kv", "nvfp4"}, "--kv-cache-dtype fp4_e2m1"},
      {"llama-3.1-8b", {"--engine", "sglang", "--kv", "mxfp8"}, "--kv-cache-dtype mxfp8"},
      {"llama-3.1-8b", {"--engine", "vllm", "--kv", "int8"}, "--kv-cache-dtype int8_per_token_head"},
      {"llama-3.1-8b", {"--engine", "vllm", "--cpu-offload-gb", "2"}, "--cpu-offload-gb 2"},
      {"llama-3.1-8b", {"--engine", "vllm@0.6", "--swap-space", "8"}, "--swap-space 8"},
      {"llama-3.1-8b", {"--engine", "vllm", "--max-num-seqs", "32"}, "--max-num-seqs 32"},
      {"llama-3.1-8b", {"--engine", "mlx", "--num-seqs", "2"}, "--decode-concurrency 2"},
      {"llama-3.1-8b", {"--engine", "sglang", "--max-num-seqs", "32"}, "--max-running-requests 32"},
      {"llama-3.1-8b", {"--engine", "sglang", "--max-total-tokens", "4096"}, "--max-total-tokens 4096"},
      {"gpt-oss-20b", {"--engine", "sglang", "--swa-full-tokens-ratio", "0.25"}, "--swa-full-tokens-ratio 0.25"},
      {"qwen3.5-27b", {"--engine", "sglang", "--mamba-full-memory-ratio", "0.5"}, "--mamba-full-memory-ratio 0.5"},
      {"qwen3.5-27b", {"--engine", "sglang", "--max-mamba-cache-size", "64"}, "--max-mamba-cache-size 64"},
      {"llama-3.1-8b", {"--engine", "sglang", "--max-lora-rank", "8", "--max-cpu-loras", "9"}, "--max-loaded-loras 9"},
      {"mixtral-8x7b", {"--engine", "llama.cpp", "--cpu-moe"}, "--cpu-moe"},
      {"mixtral-8x7b", {"--engine", "llama.cpp", "--n-cpu-moe", "4"}, "--n-cpu-moe 4"},
      {"llama-3.1-8b",
       {"--engine", "llama.cpp", "--draft", "testdata/configs/qwen3-0.6b.json", "-ctkd", "q8_0"},
       "-ctkd q8_0"},
      {"llama-3.1-8b",
       {"--engine", "sglang", "--draft", "testdata/configs/qwen3-0.6b.json", "--num-speculative-tokens", "4"},
       "--speculative-num-steps 4 --speculative-eagle-topk 1 --speculative-num-draft-tokens 5"},
  };
  for (const Row& row : rows) {
    const Run run = launch_of(row.model, row.options);
    CAPTURE(row.expected);
    CAPTURE(run.err);
    CHECK(run.exit == 0);
    CHECK(run.out.find(" " + row.expected) != std::string::npos);
  }
}

TEST_CASE("launch: a setting without an engine option is refused by name") {
  const std::vector<Row> rows{
      {"llama-3.1-8b", {"--engine", "vllm", "--attention", "naive"}, "--attention naive"},
      {"llama-3.1-8b", {"--engine", "sglang@0.5.14", "--kv", "mxfp8"}, "--kv-cache-dtype mxfp8"},
      {"llama-3.1-8b", {"--engine", "llama.cpp", "-dp", "2"}, "--data-parallel-size"},
      {"llama-3.1-8b", {"--engine", "sglang", "--cpu-offload-gb", "1.5"}, "--cpu-offload-gb"},
      {"llama-3.1-8b", {"--engine", "ollama", "-b", "256"}, "-b"},
      {"llama-3.1-8b", {"--engine", "tensorrt-llm", "--kv", "fp8"}, "--kv-cache-dtype"},
      {"llama-3.1-8b", {"--engine", "mlx", "--kv", "int8", "--num-seqs", "2"}, "--num-seqs 2"},
      {"qwen3.5-27b", {"--engine", "sglang", "--kv-cache-memory-bytes", "8GiB"}, "--kv-cache-memory-bytes"},
  };
  for (const Row& row : rows) {
    const Run run = launch_of(row.model, row.options);
    CAPTURE(row.expected);
    CAPTURE(run.err);
    CHECK(run.exit == 2);
    CHECK(run.out.empty());
    CHECK(run.err.find(row.expected) != std::string::npos);
  }
}

// vLLM and SGLang quantize to FP8 and NF4 while loading. kvplan has no name for other types that they make.
TEST_CASE("launch: a weight type is passed on if the engine has it") {
  for (const char* engine : {"vllm", "sglang"}) {
    CHECK(launch_of("llama-3.1-8b", {"--engine", engine, "--weights", "fp8"}).out.find("--quantization fp8") !=
          std::string::npos);
    CHECK(launch_of("llama-3.1-8b", {"--engine", engine, "--weights", "nf4"}).out.find("--quantization bitsandbytes") !=
          std::string::npos);
    const Run own = launch_of("llama-3.1-8b", {"--engine", engine, "--weights", "bf16"});
    CHECK(own.exit == 0);
    CHECK(own.out.find("--quantization") == std::string::npos);
  }
}

TEST_CASE("launch: the command has as many GPUs as the plan") {
  const auto gpus = [](const std::vector<std::string>& options) {
    const Run run = launch_of("mixtral-8x7b", options, "k8s");
    const std::string limit = "nvidia.com/gpu: ";
    const std::size_t at = run.out.find(limit) + limit.size();
    return run.out.substr(at, run.out.find('\n', at) - at);
  };
  CHECK(gpus({"--engine", "vllm"}) == "1");
  CHECK(gpus({"--engine", "vllm", "-tp", "2", "-pp", "2", "-dp", "2"}) == "8");
  CHECK(gpus({"--engine", "sglang", "-tp", "8", "-dp", "4", "--enable-dp-attention"}) == "8");
  CHECK(gpus({"--engine", "llama.cpp", "--gpu", "h100", "--gpu-count", "2"}) == "2");
}

}  // namespace
}  // namespace kvplan
