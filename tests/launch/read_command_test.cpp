#include "launch/read_command.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/arguments.h"
#include "kvplan/error.h"
#include "kvplan/strings.h"
#include "support/figures.h"

namespace kvplan {
namespace {

ReadCommand read(const std::string& text) {
  return read_command(find_commands(text).at(0), "");
}
// A command as options of kvplan: "--option value; --flag".
std::string asks(const std::string& text) {
  return join(read(text).settings.settings, "; ",
              [](const CommandSetting& each) { return each.option + (each.value.empty() ? "" : " " + each.value); });
}
// The options that kvplan warns about.
std::string warns(const std::string& text) {
  std::vector<std::string> out;
  for (const Note& note : read(text).notes)
    if (note.level == NoteLevel::kWarning) {
      const std::string words = in_words(note.message);
      out.push_back(words.substr(0, words.find_first_of(" :")));
    }
  return join(out, " ");
}
std::string error_of(const std::string& text) {
  try {
    read(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("Options are read as the engine's parser reads them") {
  CHECK(asks("vllm serve m --max_model_len=32k -tp 2") == "--max-model-len 32000; --tensor-parallel-size 2");
  CHECK(asks("vllm serve m --max-model-len 131_072") == "--max-model-len 131072");
  CHECK(asks("vllm serve m --max-model-len 32K") == "--max-model-len 32768");
  CHECK(asks("vllm serve m --max-model-len -1") == "--max-model-len auto");
  CHECK(asks("vllm serve m --no-enable-prefix-caching --enforce-eager --no-enforce-eager") ==
        "--no-enable-prefix-caching");
  CHECK(asks("vllm serve m -O0 --served-model-name a b --max-num-seqs 4") == "--enforce-eager; --max-num-seqs 4");
  CHECK(asks("vllm serve m --max-num-seqs 4 --max-num-seqs 8") == "--max-num-seqs 8");
  CHECK(asks("vllm serve m --speculative-config '{\"method\": \"mtp\", \"num_speculative_tokens\": 3}'") ==
        "--speculative-method mtp; --num-speculative-tokens 3");
  CHECK(asks("vllm serve m -sc.method ngram -sc.num_speculative_tokens=2") ==
        "--speculative-method ngram; --num-speculative-tokens 2");
  CHECK(asks("vllm serve m -cc '{\"cudagraph_capture_sizes\": [1, 2, 4], \"pass_config\": {\"x\": true}}'") ==
        "--cudagraph-capture-sizes 1,2,4");
  CHECK(asks("sglang serve --model m --tp 8 --moe-a2a-backend deepep") ==
        "--tensor-parallel-size 8; --moe-a2a-backend deepep");
  CHECK(warns("sglang serve --model m --moe-a2a-backend none").empty());
  CHECK(read("VLLM_USE_V1=0 vllm serve m").request.wants_v0);
  CHECK(warns("VLLM_USE_V1=0 vllm serve m").empty());
  CHECK(!read("VLLM_USE_V1=1 vllm serve m").request.wants_v0);
  CHECK(asks("sglang serve --model m --mem-fraction 0.8 --ep 4 --disable-cuda-graph") ==
        "--mem-fraction-static 0.8; --enable-expert-parallel; --enforce-eager");
  CHECK(asks("sglang serve --model m --speculative-algorithm EAGLE") == "--speculative-method EAGLE");
  CHECK(asks("llama-server -m m -fa -c 512 --n-gpu-layers all -np 2") ==
        "--flash-attn on; --ctx-size 512; --n-gpu-layers all; --num-seqs 2");
  CHECK(asks("llama-cli -m m -ts 3,1") == "--tensor-split 3,1; --tool cli; --pipeline-parallel-size 2");
  CHECK(asks("llama-server -m m -sm none -mg 1 -ts 3,1") == "--split-mode none; --main-gpu 1");
  CHECK(asks("llama-server -m m --lora a --lora b") == "--lora a; --lora b");
  CHECK(asks("VLLM_PP_LAYER_PARTITION=20,12 vllm serve m -pp 2") ==
        "--pp-layer-partition 20,12; --pipeline-parallel-size 2");
  // LMCache has 5 GiB for each rank if no variable sets its size. For vLLM's connectors the bytes are for all ranks, or
  // for each.
  const std::string connector = R"(vllm serve m -tp 2 --kv-transfer-config '{"kv_connector": ")";
  CHECK(asks(connector + R"(LMCacheConnectorV1", "kv_role": "kv_both"}')") ==
        "--tensor-parallel-size 2; --kv-offloading-size 10");
  CHECK(asks("LMCACHE_MAX_LOCAL_CPU_SIZE=20 " + connector + "LMCacheConnectorV1\"}'") ==
        "--tensor-parallel-size 2; --kv-offloading-size 40");
  CHECK(asks(connector + R"(OffloadingConnector", "kv_connector_extra_config": {"cpu_bytes_to_use": 8589934592}}')") ==
        "--tensor-parallel-size 2; --kv-offloading-size 8");
  CHECK(
      asks(connector +
           R"(SimpleCPUOffloadConnector", "kv_connector_extra_config": {"cpu_bytes_to_use_per_rank": 8589934592}}')") ==
      "--tensor-parallel-size 2; --kv-offloading-size 16");
  CHECK(asks("sglang serve --model m --enable-hierarchical-cache --hicache-ratio 3 --enable-eplb") ==
        "--enable-hierarchical-cache; --hicache-ratio 3; --enable-eplb");
  CHECK(asks("LLAMA_ARG_CTX_SIZE=8192 llama-server -m m") == "--ctx-size 8192");
  CHECK(asks("LLAMA_ARG_CPU_MOE=1 LLAMA_ARG_CACHE_RAM=0 llama-server -m m") == "--cpu-moe; --cache-ram 0");
  CHECK(asks("LLAMA_ARG_CPU_MOE=0 LLAMA_ARG_KV_OFFLOAD=0 llama-server -m m") == "--no-kv-offload");
  // ollama#11772: ollama 0.30 runs llama-server, which reads its own environment.
  CHECK(asks("LLAMA_ARG_CPU_MOE=1 ollama run m") == "--cpu-moe");
  CHECK(asks("OLLAMA_NUM_PARALLEL=4 OLLAMA_FLASH_ATTENTION=1 ollama run m") == "--num-seqs 4; --flash-attn on");
  CHECK(asks("mlx_lm.server --model m --kv-bits 8 --prefill-step-size 512") ==
        "--kv-cache-dtype int8; --max-num-batched-tokens 512");
  CHECK(asks("mistralrs serve -m m --pa-cache-type f8e4m3 --max-seqs 16") ==
        "--kv-cache-dtype fp8_e4m3; --max-num-seqs 16");
  CHECK(read("llama-server -hf org/m:Q4_K_M").settings.model == "org/m:Q4_K_M");
  CHECK(read("ollama run qwen3:8b").settings.model == "ollama:qwen3:8b");
  CHECK(asks("vllm serve m --enable-prefix-caching=False --enforce-eager=True") ==
        "--no-enable-prefix-caching; --enforce-eager");
  CHECK(asks("vllm serve m --quantization ascend").empty());
  CHECK(warns("vllm serve m --quantization ascend") == "--quantization");
  CHECK(asks("vllm serve m --quantization awq").empty());
  CHECK(asks("vllm serve m --quantization fp8") == "--weights fp8");
}

TEST_CASE("An option that is not modelled warns, and leaves no verdict where it can raise memory") {
  const std::string small = "vllm serve m --moe-backend X --port 1 --api-key a --trust-remote-code";
  CHECK(warns(small) == "--moe-backend");
  CHECK(read(small).request.unmodelled.empty());
  const std::string more = "vllm serve m --enable-return-routed-experts --num-gpu-blocks-override 5";
  CHECK(warns(more) == "--enable-return-routed-experts --num-gpu-blocks-override");
  CHECK(read(more).request.unmodelled.size() == 2);
  CHECK(warns("vllm serve m --compilation-config '{\"nope\": 1}'") == "--compilation-config.nope");
  CHECK(warns("vllm serve m --speculative-config '{\"method\": \"dflash9\"}'") == "--speculative-config.method");
}

TEST_CASE("An option that no release has is an error, one that this release lacks is a refusal") {
  CHECK(error_of("vllm serve m --tensor-paralel-size 2").find("--tensor-parallel-size") != std::string::npos);
  CHECK(error_of("llama-server -m m -fx").find("-fx") != std::string::npos);
  CHECK(error_of("vllm serve m --max-model-len $N").find("$N") != std::string::npos);
  CHECK(error_of("vllm serve m --port $N").empty());
  CHECK(error_of("vllm serve $M").find("--model-source") != std::string::npos);
  CHECK(error_of("vllm serve").find("--model-source") != std::string::npos);
  CHECK(error_of("vllm serve m --config x.yaml").find("x.yaml") != std::string::npos);
  CHECK(error_of("vllm serve m --speculative-config '{'").find("JSON") != std::string::npos);
  // declared-vllm.txt: --swap-space until 0.17, --engram-config since 0.30.
  const std::string old = "docker run vllm/vllm-openai:v0.12.0 --model m ";
  CHECK(read(old + "--engram-config '{}'").request.refusal == "unrecognized arguments: --engram-config");
  CHECK(read(old + "--swap-space 4").request.refusal.empty());
  CHECK(read("docker run vllm/vllm-openai:v0.20.0 --model m --swap-space 4").request.cure ==
        "--swap-space is not an option of this release: the last release with it is 0.17.0");
  CHECK(read("vllm serve m --swap-space 4").engine == "vllm@0.17.0");
  CHECK(read("vllm serve m").engine == "vllm");
}

TEST_CASE("The edited command keeps the rest, and hides secrets") {
  const ReadCommand one =
      read("A=1 HF_TOKEN=hf_x vllm serve m --max-model-len 32k --api-key sk-1 --hf-token=hf_y --port 80");
  CHECK(edited_command(one, {{"--max-model-len", "4096"}, {"--kv-cache-dtype", "fp8"}}) ==
        "A=1 vllm serve m --max-model-len 4096 --api-key ... --hf-token=... --port 80 --kv-cache-dtype fp8");
  CHECK(edited_command(one, {{"--gpu-count", "2"}}).empty());
  CHECK(edited_command(read("docker run vllm/vllm-openai:v0.8.4 --model m"), {{"--tensor-parallel-size", "2"}}) ==
        "docker run vllm/vllm-openai:v0.8.4 --model m --tensor-parallel-size 2");
  CHECK(edited_command(read("sudo docker run --gpus all -e HF_TOKEN=hf_x --env=B=2 --rm lmsysorg/sglang python3 -m "
                            "sglang.launch_server --model m"),
                       {{"--tensor-parallel-size", "2"}}) ==
        "sudo docker run --gpus all -e HF_TOKEN=... --env=B=2 --rm lmsysorg/sglang python3 -m sglang.launch_server "
        "--model m --tp-size 2");
  CHECK(
      edited_command(read("C=3 box --token st.x numactl -N 0 python3 -m vllm.entrypoints.openai.api_server --model m"),
                     {{"--max-model-len", "4096"}}) ==
      "C=3 box --token ... numactl -N 0 python3 -m vllm.entrypoints.openai.api_server --model m --max-model-len "
      "4096");
}

// Every option that a parser has or had is in the engine's table. Otherwise a pasted command with it would be an error.
TEST_CASE("The tables of options are complete") {
  struct Parser {
    std::string engine;
    std::vector<std::string> declared, names, executed;
  };
  const Parser parsers[] = {
      {"vllm",
       {"declared-vllm"},
       {"vllm-0.33.0"},
       {"options-vllm-0.26.0", "options-vllm-0.30.0", "options-vllm-0.33.0"}},
      {"sglang", {"declared-sglang"}, {"sglang-0.5.23"}, {"options-sglang-0.5.8", "options-sglang-0.5.23"}},
      {"llama.cpp",
       {"declared-llama.cpp"},
       {"llama.cpp-b11434"},
       {"options-llama.cpp-b11549", "options-llama.cpp-v0.5.0"}},
      {"mlx", {}, {"mlx-0.32.2"}, {}},
      {"tensorrt-llm", {}, {"tensorrt-llm"}, {}},
  };
  for (const Parser& parser : parsers) {
    const EngineOptions table(engine_named(parser.engine)->command.options());
    const auto check = [&](std::string_view name) {
      CAPTURE(parser.engine);
      CHECK_MESSAGE(table.find(name).first != nullptr, std::string(name));
    };
    for (const std::string& file : parser.names) {
      const std::string text = test_file("testdata/options/" + file + ".txt");
      for (const std::string_view name : split(text, '\n')) check(name);
    }
    for (const std::string& file : parser.executed) {
      const nlohmann::json all = nlohmann::json::parse(test_file("testdata/conformance/" + file + ".json"));
      for (const auto& [name, row] : (all.contains("options") ? all["options"] : all).items()) {
        check(name);
        if (row.is_object() && row.contains("also"))
          for (const std::string also : row["also"]) check(also);
      }
    }
    for (const std::string& file : parser.declared) {
      const std::string text = test_file("testdata/conformance/" + file + ".txt");
      for (const std::string_view line : split(text, '\n')) {
        const std::vector<std::string_view> columns = split(line, '\t');
        if (!columns[0].starts_with("options")) continue;
        check(columns[1]);
        const std::vector<std::string_view> also = split(columns[2]);
        for (std::size_t i = 1; i < also.size(); ++i) check(also[i]);
      }
    }
  }
}

TEST_CASE("A table names options that kvplan has, and each name once") {
  for (const Engine& engine : engines()) {
    if (engine.command.options == nullptr) continue;
    const EngineOptions table(engine.command.options());
    std::vector<std::string_view> names;
    for (const EngineOption& row : table.rows()) {
      const std::string target(row.target.substr(0, row.target.find_last_not_of('=') + 1));
      CAPTURE(std::string(engine.name));
      CAPTURE(std::string(row.names.front()));
      if (!target.empty() && target[0] == '-') CHECK_MESSAGE(find_option(target) != nullptr, target);
      CHECK_MESSAGE(table.find(row.names.front()).first != nullptr, "no row for its other values");
      if (row.values.empty()) names.insert(names.end(), row.names.begin(), row.names.end());
    }
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    CHECK_MESSAGE(twice == names.end(), std::string(twice == names.end() ? "" : *twice));
  }
}

}  // namespace
}  // namespace kvplan
