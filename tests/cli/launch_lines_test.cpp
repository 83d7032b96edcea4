// A command line that runs: the model as the engine expects it, options that its parser knows, one command per node.
// Names of options: testdata/options, written by scripts/engine_options.py from the engines' own sources.
#include <doctest/doctest.h>

#include <set>
#include <sstream>

#include "cli/command_line.h"
#include "support/figures.h"

namespace kvplan {
namespace {

Run launch(std::vector<std::string> words, const std::string& form = "args") {
  words.insert(words.end(), {"--format", form});
  return run_program(words);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) out.push_back(line);
  return out;
}

constexpr const char* kHybrid = "testdata/configs/qwen3.5-27b.json";
constexpr const char* kDeepseek = "testdata/configs/deepseek-v3.json";
constexpr const char* kDraft = "testdata/configs/qwen3-0.6b.json";

// A config with plain RoPE, without scaling.
constexpr const char* kPlain = R"({"model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"], "hidden_size": 3584,
  "intermediate_size": 18944, "num_hidden_layers": 28, "num_attention_heads": 28, "num_key_value_heads": 4,
  "vocab_size": 152064, "max_position_embeddings": 32768, "rope_theta": 1000000.0, "torch_dtype": "bfloat16"})";

struct EngineParser {
  std::string name, options;  // the options file, and the file with the options that its parser knows
  std::vector<std::vector<std::string>> calls;
};

TEST_CASE("launch lines: the engine's parser knows every option") {
  const TemporaryFolder folder;
  const std::string beyond = folder.write("config.json", kPlain);
  const std::vector<EngineParser> engines{
      {"vllm",
       "vllm-0.33.0",
       {{kLlamaConfig,
         "-tp",
         "2",
         "-pp",
         "2",
         "-dp",
         "2",
         "--num-seqs",
         "8",
         "--kv",
         "fp8",
         "--dtype",
         "float16",
         "--gpu-memory-utilization",
         "0.8",
         "--block-size",
         "32",
         "--max-num-batched-tokens",
         "4k",
         "--enforce-eager",
         "--cpu-offload-gb",
         "1",
         "--weights",
         "fp8",
         "--max-loras",
         "2",
         "--max-lora-rank",
         "16",
         "--max-cpu-loras",
         "4",
         "--fully-sharded-loras",
         "--lora-target-modules",
         "q_proj"},
        {kLlamaConfig, "--kv-cache-memory-bytes", "8GiB", "--draft", kDraft, "--disable-hybrid-kv-cache-manager",
         "--no-enable-prefix-caching"},
        {beyond, "--max-model-len", "128k"},
        {kHybrid, "--mamba-cache-mode", "align", "--mamba-ssm-cache-dtype", "float32", "--language-model-only"},
        {kDeepseek, "-tp", "8", "-pp", "2", "--enable-expert-parallel", "-dcp", "8"},
        {kDeepseek, "-dp", "16", "--enable-expert-parallel"}}},
      {"sglang",
       "sglang-0.5.23",
       {{kLlamaConfig,
         "-tp",
         "2",
         "-pp",
         "2",
         "-dp",
         "2",
         "--num-seqs",
         "8",
         "--kv",
         "fp8",
         "--dtype",
         "float16",
         "--mem-fraction-static",
         "0.8",
         "--block-size",
         "32",
         "--max-num-batched-tokens",
         "4k",
         "--enforce-eager",
         "--cpu-offload-gb",
         "1",
         "--weights",
         "fp8",
         "--max-loras",
         "2",
         "--max-lora-rank",
         "16",
         "--max-cpu-loras",
         "4",
         "--lora-target-modules",
         "q_proj",
         "--disable-radix-cache",
         "--max-total-tokens",
         "64k"},
        {kLlamaConfig, "--draft", kDraft, "--draft-weights", "fp8"},
        {beyond, "--max-model-len", "128k"},
        {"testdata/configs/gpt-oss-20b.json", "--swa-full-tokens-ratio", "0.5"},
        {kHybrid, "--mamba-full-memory-ratio", "0.5", "--max-mamba-cache-size", "64", "--mamba-ssm-cache-dtype", "bf16",
         "--mamba-scheduler-strategy", "extra_buffer"},
        {kDeepseek, "-tp", "16", "--enable-expert-parallel", "-dp", "16", "--enable-dp-attention"}}},
      {"llama.cpp",
       "llama.cpp-b11434",
       {{kLlamaConfig, "-np", "4", "-ctk", "q8_0", "-ctv", "q8_0", "-b", "1024", "-ub", "256", "-ngl", "99", "-fa",
         "on", "--kv-unified", "--swa-full", "--no-kv-offload"},
        {kLlamaConfig, "--draft", kDraft, "-ctkd", "q8_0", "-ctvd", "q8_0", "--num-speculative-tokens", "4"},
        {beyond, "--max-model-len", "128k"},
        {"testdata/configs/mixtral-8x7b.json", "--cpu-moe"},
        {"testdata/configs/mixtral-8x7b.json", "--n-cpu-moe", "4"}}},
      {"tensorrt-llm",
       "tensorrt-llm",
       {{kLlamaConfig, "-tp", "2", "-pp", "2", "--num-seqs", "8", "--gpu-memory-utilization", "0.8",
         "--max-num-batched-tokens", "4k"},
        {kDeepseek, "-tp", "8", "--enable-expert-parallel"}}},
      {"mlx",
       "mlx-0.32.2",
       {{kLlamaConfig, "--kv", "int8", "--max-num-batched-tokens", "1k"},
        {kLlamaConfig, "--num-seqs", "4", "--draft", kDraft, "--num-speculative-tokens", "4"}}},
  };
  for (const EngineParser& engine : engines) {
    const std::vector<std::string> names = words_of(test_file("testdata/options/" + engine.options + ".txt"));
    const std::set<std::string> known(names.begin(), names.end());
    REQUIRE(known.size() > 20);
    CHECK(known.count("--draft-max") == 0);
    for (std::vector<std::string> call : engine.calls) {
      call.insert(call.end(), {"--engine", engine.name});
      const Run run = launch(call);
      CAPTURE(run.err);
      CAPTURE(run.out);
      CHECK(run.exit <= 1);
      for (const std::string& word : words_of(run.out)) {
        if (!word.starts_with("-") || word == "-m") continue;
        CAPTURE(word);
        // vLLM's parser creates the negative form of a switch itself.
        CHECK((known.count(word) == 1 || (word.starts_with("--no-") && known.count("--" + word.substr(5)) == 1)));
      }
    }
  }
}

TEST_CASE("launch lines: the model as the engine takes it") {
  const TemporaryFolder folder;
  const std::string path = folder.write("config.json", test_file(kLlamaConfig));
  const std::string& directory = folder.path();
  CHECK(has(launch({path, "--engine", "vllm"}).out, "vllm serve " + directory + " --max-model-len"));
  CHECK(launch({path, "--engine", "vllm"}).err.empty());
  CHECK(has(launch({path, "--engine", "sglang"}).out, "--model-path " + directory + " --"));
  CHECK(has(launch({path, "--engine", "tensorrt-llm"}).out, "trtllm-serve " + directory + " --"));
  // A config without weights: a note explains the placeholder in the command.
  const Run alone = launch({kLlamaConfig, "--engine", "vllm"});
  CHECK(has(alone.out, "vllm serve testdata/configs/llama-3.1-8b --"));
  CHECK(has(alone.err, "is the directory with the model's weights: replace it with yours"));
  const Run converted = launch({kLlamaConfig, "--engine", "llama.cpp"});
  CHECK(has(converted.out, "llama-server -m llama-3.1-8b.gguf "));
  CHECK(has(converted.err, "llama.cpp loads a GGUF"));
}

TEST_CASE("launch lines: the sequences of the plan are the scheduler's cap") {
  CHECK(has(launch({kLlamaConfig, "--engine", "vllm", "--num-seqs", "4"}).out, "--max-num-seqs 4"));
  CHECK(!has(launch({kLlamaConfig, "--engine", "vllm"}).out, "--max-num-seqs"));
  CHECK(has(launch({kLlamaConfig, "--engine", "vllm", "--num-seqs", "4", "-dp", "2"}).out, "--max-num-seqs 2"));
  CHECK(
      has(launch({kLlamaConfig, "--engine", "sglang", "--num-seqs", "4", "-dp", "2"}).out, "--max-running-requests 4"));
  CHECK(has(launch({kLlamaConfig, "--engine", "tensorrt-llm", "--num-seqs", "4"}).out, "--max_batch_size 4"));
  CHECK(
      has(launch({kLlamaConfig, "--engine", "llama.cpp", "-np", "4", "--max-model-len", "8k"}).out, "-c 32768 -np 4"));
}

// Keys: vllm/config/model.py, sglang/srt/utils/hf_transformers/config.py, llama.cpp common/arg.cpp.
TEST_CASE("launch lines: a context beyond the model's own") {
  const TemporaryFolder folder;
  const std::string plain = folder.write("config.json", kPlain);
  const auto four_times = [](const std::string& model, const char* engine) {
    return launch({model, "--max-model-len", "128k", "--engine", engine});
  };
  const std::string vllm = four_times(plain, "vllm").out;
  CHECK(has(vllm, "VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 vllm serve"));
  CHECK(has(vllm,
            "--hf-overrides '{\"max_position_embeddings\": 131072, \"rope_parameters\": {\"rope_type\": \"yarn\", "
            "\"rope_theta\": 1e+06, \"factor\": 4, \"original_max_position_embeddings\": 32768}}'"));
  const std::string sglang = four_times(plain, "sglang").out;
  CHECK(has(sglang, "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1 python -m sglang"));
  CHECK(has(sglang, "--json-model-override-args '{\"max_position_embeddings\": 131072, \"rope_scaling\""));
  CHECK(has(four_times(plain, "llama.cpp").out, "--rope-scaling yarn --rope-scale 4 --yarn-orig-ctx 32768"));
  // kvplan cannot extend a context that is already scaled, or a config without rope settings.
  std::string scaled_text = kPlain;
  scaled_text.insert(1, R"("rope_scaling": {"rope_type": "linear", "factor": 2.0}, )");
  const TemporaryFolder other;
  const std::string scaled = other.write("config.json", scaled_text);
  for (const char* engine : {"vllm", "sglang", "llama.cpp"}) {
    CAPTURE(engine);
    const Run run = four_times(scaled, engine);
    CHECK(!has(run.out, "yarn"));
    CHECK(has(run.err, "131072 tokens are beyond the model's maximum of 32768"));
    CHECK(!has(launch({plain, "--engine", engine}).out, "yarn"));
  }
  // A model with images has its text settings in a nested config.
  const std::string nested = R"({"model_type": "gemma3n", "text_config": )" + std::string(kPlain) + "}";
  const TemporaryFolder third;
  CHECK(has(four_times(third.write("config.json", nested), "vllm").out,
            "{\"text_config\": {\"max_position_embeddings\""));
}

TEST_CASE("launch lines: a command for each node") {
  const auto lines = [](std::vector<std::string> options) {
    options.insert(options.begin(), kDeepseek);
    return lines_of(launch(options).out);
  };
  // If a copy spans nodes, each node's command has the number of nodes; vllm/config/parallel.py.
  const auto spans = lines({"--engine", "vllm", "-tp", "8", "-pp", "2"});
  REQUIRE(spans.size() == 2);
  CHECK(has(spans[0], "--nnodes 2 --node-rank 0 --master-addr HOST"));
  CHECK(!has(spans[0], "--headless"));
  CHECK(has(spans[1], "--nnodes 2 --node-rank 1 --master-addr HOST --headless"));
  // Copies that fit in a node.
  const auto copies = lines({"--engine", "vllm", "-dp", "12", "--enable-expert-parallel"});
  REQUIRE(copies.size() == 2);
  CHECK(has(copies[0], "--data-parallel-size 12"));
  CHECK(has(copies[0], "--data-parallel-size-local 8 --data-parallel-address HOST"));
  CHECK(has(copies[1], "--data-parallel-size-local 4 --data-parallel-start-rank 8 --data-parallel-address HOST"));
  CHECK(has(copies[1], "--headless"));
  const auto sglang = lines({"--engine", "sglang", "-tp", "16"});
  REQUIRE(sglang.size() == 2);
  CHECK(has(sglang[1], "--nnodes 2 --node-rank 1 --dist-init-addr HOST:20000"));
  CHECK(launch({kDeepseek, "--engine", "sglang", "-dp", "16"}).exit == 2);
  CHECK(launch({kDeepseek, "--engine", "vllm@0.10", "-tp", "16"}).exit == 2);
  const Run k8s = launch({kDeepseek, "--engine", "vllm", "-tp", "8", "-pp", "2"}, "k8s");
  CHECK(has(k8s.out, "kind: LeaderWorkerSet\n"));
  CHECK(has(k8s.out, "nvidia.com/gpu: 8\n"));
  CHECK(!has(k8s.out, "nvidia.com/gpu: 16"));
}

TEST_CASE("launch lines: Ollama is started by its environment") {
  const Run run =
      launch({kLlamaConfig, "--engine", "ollama", "--max-model-len", "32k", "--kv", "q8_0", "--num-seqs", "2"});
  CHECK(run.exit == 0);
  CHECK(run.out ==
        "OLLAMA_CONTEXT_LENGTH=32768 OLLAMA_KV_CACHE_TYPE=q8_0 OLLAMA_FLASH_ATTENTION=1 OLLAMA_NUM_PARALLEL=2 "
        "ollama serve\n");
  const Run pod = launch({kLlamaConfig, "--engine", "ollama", "--max-model-len", "32k"}, "k8s");
  CHECK(has(pod.out, "            - name: OLLAMA_CONTEXT_LENGTH\n              value: \"32768\"\n"));
  CHECK(has(launch({kLlamaConfig, "--engine", "ollama", "-ngl", "3"}).err, "PARAMETER num_gpu 3"));
}

TEST_CASE("launch lines: a plan that does not fit says so beside its command") {
  const Run run = launch({kLlamaConfig, "--engine", "vllm", "--gpu-memory", "8GiB"});
  CHECK(run.exit == 1);
  CHECK(run.out.starts_with("vllm serve "));
  CHECK(run.err.starts_with("kvplan: testdata/configs/llama-3.1-8b.json: does not fit: "));
}

TEST_CASE("launch lines: fit prints a command that fits") {
  const auto fit = [](std::vector<std::string> options) {
    options.insert(options.begin(), {"fit", kLlamaConfig, "--engine", "vllm"});
    return launch(options);
  };
  // The requested length, if it fits.
  const Run asked = fit({"--gpu", "h100-80gb"});
  CHECK(asked.exit == 0);
  CHECK(has(asked.out, "--max-model-len 131072"));
  CHECK(!has(asked.err, "another request"));
  // The longest context that fits the GPU.
  const Run longest = fit({"--gpu", "rtx-4090"});
  CHECK(longest.exit == 1);
  CHECK(!has(longest.out, "--max-model-len 131072"));
  CHECK(has(longest.err, "than you requested: --max-model-len"));
  // A length that the user named stays, and more GPUs are used.
  const Run layout = fit({"--gpu", "rtx-4090", "--max-model-len", "128k"});
  CHECK(has(layout.out, "--max-model-len 131072 "));
  CHECK(has(layout.out, "--tensor-parallel-size 2"));
  // Nothing fits: no command.
  const Run none = fit({"--gpu-memory", "1GiB"});
  CHECK(none.exit == 1);
  CHECK(none.out.empty());
  CHECK(has(none.err, "nothing fits"));
}

}  // namespace
}  // namespace kvplan
