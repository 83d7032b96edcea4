// An engine's command in place of a MODEL, as a user pastes it.
#include "cli/pasted.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/command_line.h"
#include "cli/engine_options.h"
#include "engines/engine.h"
#include "support/figures.h"

namespace kvplan {
namespace {

using Json = nlohmann::json;

const std::string kModel = "testdata/configs/qwen3-0.6b.json";

Json asked(const Words& words) {
  const Run run = run_program(words);
  CAPTURE(run.err);
  REQUIRE(!run.out.empty());
  return Json::parse(run.out);
}

TEST_CASE("A command behind --, without it, and from a file give the same plan") {
  const TemporaryFolder folder;
  const std::string file = folder.write("start.sh", "#!/bin/sh\nexec vllm serve " + kModel + " \\\n  -tp 2 --port 1\n");
  const Words card{"--gpu", "l4", "--json", "--calibration", "none"};
  const auto with = [&](Words more) {
    more.insert(more.begin(), card.begin(), card.end());
    return asked(more);
  };
  const Json plan = with({kModel, "--engine", "vllm", "-tp", "2"});
  for (const Json& each : {with({"--", "vllm", "serve", kModel, "-tp", "2"}),
                           with({"vllm", "serve", kModel, "-tp", "2"}), with({"--command", file})})
    for (const char* part : {"request", "memory", "verdict", "capacity"}) CHECK(each.at(part) == plan.at(part));
}

TEST_CASE("kvplan's options stand before --, and win") {
  const Json plan =
      asked({"--max-model-len", "1024", "--json", "--", "vllm", "serve", kModel, "--max-model-len", "2048"});
  CHECK(plan.at("request").at("max_model_len") == 1024);
  const auto names_release = [](const Json& each) {
    return std::none_of(each.at("notes").begin(), each.at("notes").end(),
                        [](const Json& note) { return note.at("code") == "release_not_named"; });
  };
  CHECK(!names_release(plan));
  CHECK(names_release(asked({"--engine", "vllm@0.20", "--json", "--", "vllm", "serve", kModel})));
  check_refuses({kModel, "--", "vllm", "serve", kModel}, "leave one of them out");
  check_refuses({"--", "vllm", "serve", kModel, "--nope"}, "--nope");
  check_refuses({"--", "no", "command"}, "no engine command");
  check_refuses({"--command", "/no/such/file"}, "/no/such/file");
}

TEST_CASE("Several commands are a fleet; one that cannot be read does not hide the others") {
  const TemporaryFolder folder;
  const std::string file =
      folder.write("two", "vllm serve " + kModel + "\nsglang serve --model " + kModel + " --nope\n");
  const Run run = run_program({"--json", "--command", file});
  CHECK(run.exit == 2);
  const Json plans = Json::parse(run.out).at("plans");
  REQUIRE(plans.size() == 2);
  CHECK(plans[0].at("request").at("engine") == "vllm");
  CHECK(plans[1].at("exit") == 2);
}

TEST_CASE("diff compares two commands") {
  const Run run =
      run_program({"diff", "--", "vllm", "serve", kModel, "--", "vllm", "serve", kModel, "--max-model-len", "4096"});
  CHECK(run.exit == 0);
  CHECK(has(run.out, "max_model_len 40960 -> 4096"));
}

TEST_CASE("An option that is not modelled leaves no verdict; a release's own parser is the first check") {
  const Words base{"--gpu", "l4", "--json", "--", "vllm", "serve", kModel};
  Words more = base;
  more.push_back("--enable-return-routed-experts");
  const Json open = asked(more);
  CHECK(open.at("verdict").at("status") == "unknown");
  const Json lacks = asked({"--gpu", "l4", "--json", "--", "docker", "run", "vllm/vllm-openai:v0.12.0", "--model",
                            kModel, "--engram-config", "{}"});
  CHECK(lacks.at("verdict").at("starts") == false);
  CHECK(has(lacks.at("verdict").at("reason").get<std::string>(), "--engram-config"));
}

TEST_CASE("What the engine refuses of a command is why it does not start") {
  const Json plan =
      asked({"--json", "--", "vllm", "serve", "testdata/configs/deepseek-v3.json", "-tp", "8", "--block-size", "7"});
  CHECK(plan.at("verdict").at("starts") == false);
  CHECK(has(plan.at("verdict").at("refusal").get<std::string>(), "--block-size 7"));
  CHECK(plan.at("request").at("tensor_parallel_size") == 8);
}

TEST_CASE("A model that is not here asks for one that stands for it") {
  const Run run = run_program({"--offline", "--", "vllm", "serve", "/models/none", "-tp", "2"});
  check_refused(run, "--model-source");
  CHECK(run_program({"--model-source", kModel, "--", "vllm", "serve", "/models/none"}).exit == 0);
}

TEST_CASE("The answer to a command that does not fit is a command") {
  const Run run = run_program({"--gpu", "l4", "--", "vllm", "serve", kModel, "--gpu-memory-utilization", "0.2"});
  CHECK(run.exit == 1);
  CHECK(has(run.out, "Run this instead"));
  CHECK(has(run.out, "  vllm serve " + kModel + " --gpu-memory-utilization"));
}

// transformers_utils/config.py, config.update: a nested config's members one by one, any other value as a whole.
TEST_CASE("Overrides of a command replace the config's members") {
  const auto layers = [](const Words& command) {
    Words words{"--json", "--"};
    words.insert(words.end(), command.begin(), command.end());
    return asked(words).at("model").at("num_layers");
  };
  CHECK(layers({"vllm", "serve", kModel, "--hf-overrides", R"({"num_hidden_layers": 4})"}) == 4);
  CHECK(layers({"sglang", "serve", "--model-path", kModel, "--json-model-override-args",
                R"({"num_hidden_layers": 3})"}) == 3);
  const std::string nested = "testdata/configs/gemma-4-26b.json";
  const auto all = layers({"vllm", "serve", nested});
  CHECK(layers({"vllm", "serve", nested, "--hf-overrides", R"({"text_config": {"max_position_embeddings": 4096}})"}) ==
        all);
  for (const char* bad : {"[1]", "{x", "3", ""}) {
    CAPTURE(bad);
    const Run run = run_program({"--", "vllm", "serve", kModel, "--hf-overrides", bad});
    CHECK(run.exit == 2);
    CHECK(run.out.empty());
    CHECK(has(run.err, "--hf-overrides: not a JSON object"));
  }
}

// 28 layers x 8 heads x 128 x 2 x 8,192 tokens in blocks of 34 bytes for 32 values.
TEST_CASE("The command in front of a log says how the engine was started") {
  const TemporaryFolder folder;
  const std::string lines = "llama_context: n_ctx = 8192\nllama_kv_cache: CUDA0 KV buffer size = 476.00 MiB\n";
  const auto check = [&](const std::string& command) {
    return run_program({"check-log", kModel, folder.write("x.log", command + lines)}).out;
  };
  const std::string shown =
      check("build 1\n$ llama-server -m /models/x.gguf -c 8192 \\\n  -ctk q8_0 -ctv q8_0 --api-key sk-topsecret\n");
  CHECK(has(shown, "read from the log: llama-server -m /models/x.gguf -c 8192 -ctk q8_0"));
  CHECK(has(shown, "476.00 MiB  476.00 MiB"));
  CHECK(!has(shown, "by the figures"));
  CHECK(!has(shown, "sk-topsecret"));
  for (const char* none : {"", "I ran llama-server -ctk q8_0\n", "llama-server -m a.gguf\nllama-server -m b.gguf\n",
                           "+ llama-server --no-such-option 3\n"})
    CHECK(has(check(none), "q8_0, by the figures"));
}

TEST_CASE("Secrets of a command are in no output") {
  const std::string secrets[] = {"sk-topsecret", "hf_abcdefghijklmnopqrstuvwxyz0123456789", "pw-topsecret"};
  const TemporaryFolder folder;
  for (const std::string& model : {kModel, std::string("/models/none")})
    for (const char* tail : {"", " --gpu-memory-utilization 0.2", " --enable-return-routed-experts", " --nope"}) {
      const std::string text = "docker run -e HF_TOKEN=" + secrets[1] + " -e DB_PASSWORD=" + secrets[2] +
                               " vllm/vllm-openai --model " + model + " --api-key " + secrets[0] +
                               " --hf-token=" + secrets[1] + tail;
      for (const char* form : {"table", "json", "html", "markdown", "csv", "github", "args", "k8s"}) {
        const Run run =
            run_program({"--gpu", "l4", "--offline", "--format", form, "--command", folder.write("secret", text)});
        for (const std::string& secret : secrets) {
          CAPTURE(text);
          CAPTURE(form);
          CHECK(!has(run.out, secret));
          CHECK(!has(run.err, secret));
        }
      }
    }
}

// vllm/config/vllm.py, _set_cudagraph_sizes: 1, 2, 4, 8, then steps of 8.
TEST_CASE("The batches that vLLM captures are the command's") {
  const auto sizes = [](const Words& options) {
    Words words{"--json", "--", "vllm", "serve", kModel};
    words.insert(words.end(), options.begin(), options.end());
    return asked(words).at("engine_settings").at("cuda_graph_sizes").get<int>();
  };
  CHECK(sizes({"--max-cudagraph-capture-size", "32"}) == 7);
  CHECK(sizes({"--cudagraph-capture-sizes", "1", "2", "4"}) == 3);
  CHECK(sizes({"--compilation-config", R"({"max_cudagraph_capture_size": 8})"}) == 4);
  CHECK(sizes({"-O0"}) == 0);
}

TEST_CASE("With --engine the engine's own spellings are options") {
  const Json plan = asked({kModel, "--engine", "sglang", "--tp-size", "2", "--page-size", "64",
                           "--max-running-requests", "12", "--gpu", "l4", "--json"});
  CHECK(plan.at("request").at("tensor_parallel_size") == 2);
  CHECK(plan.at("engine_settings").at("max_num_seqs") == 12);
  CHECK(run_program({kModel, "--engine", "llama.cpp", "--no-mmap", "-t", "8", "--ctx-size", "4096"}).exit == 0);
  check_refuses({kModel, "--engine", "mlx", "--page-size", "64"}, "--page-size");
  // kvplan has this one only for SGLang.
  CHECK(run_program({kModel, "--engine", "vllm", "--attention-backend", "FLASH_ATTN"}).exit == 0);
  // Before "--", --draft is kvplan's option; after it, llama-server's number of tokens.
  check_refuses({kModel, "--engine", "llama.cpp", "--draft", "/no/draft"}, "/no/draft");
  const Json after = asked({"--json", "--", "llama-server", "-m", kModel, "-md", kModel, "--draft", "7"});
  CHECK(after.at("request").at("num_speculative_tokens") == 7);
}

// Names with different meanings in kvplan and an engine: before "--" kvplan's meaning applies, after it the engine's.
TEST_CASE("Options of the same name are known") {
  std::vector<std::string> both;
  for (const Engine& engine : engines()) {
    if (engine.command.options == nullptr) continue;
    const EngineOptions table(engine.command.options());
    for (const EngineOption& row : table.rows()) {
      if (!row.values.empty()) continue;
      for (const std::string_view name : row.names) {
        const Option* own = find_option(name);
        const std::string_view target = row.target.substr(0, row.target.find_last_not_of('=') + 1);
        const bool is_ours = own != nullptr && is_option_of(own->name(), engine);
        if (is_ours && own != find_option(target)) both.push_back(std::string(engine.name) + " " + std::string(name));
      }
    }
  }
  std::sort(both.begin(), both.end());
  const std::string expected = test_file("testdata/options/collisions.txt");
  std::string now;
  for (const std::string& each : both) now += each + "\n";
  CHECK(now == expected);
}

}  // namespace
}  // namespace kvplan
