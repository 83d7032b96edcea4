// An engine's command in place of a MODEL, as a user pastes it.
#include "cli/arguments.h"

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <tuple>

#include "cli/command_line.h"
#include "cli/shell.h"
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

TEST_CASE("kvplan's options come before --, and take precedence") {
  const Json plan =
      asked({"--max-model-len", "1024", "--json", "--", "vllm", "serve", kModel, "--max-model-len", "2048"});
  CHECK(plan.at("request").at("max_model_len") == 1024);
  const auto names_release = [](const Json& each) {
    return std::none_of(each.at("notes").begin(), each.at("notes").end(),
                        [](const Json& note) { return note.at("code") == "release_not_named"; });
  };
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

TEST_CASE("A context beyond the model's maximum needs a variable, or scaled positions") {
  const auto starts = [](const Words& command) {
    Words words{"--gpu", "h100", "--json", "--model-source", kModel, "--"};
    words.insert(words.end(), command.begin(), command.end());
    return asked(words).at("verdict").at("starts").get<bool>();
  };
  const Words vllm{"vllm", "serve", "m", "--max-model-len", "65536"};
  const Words sglang{"sglang", "serve", "--model-path", "m", "--context-length", "65536"};
  const auto with = [](const std::string& variable, Words words) {
    words.insert(words.begin(), variable);
    return words;
  };
  CHECK_FALSE(starts(vllm));
  CHECK(starts(with("VLLM_ALLOW_LONG_MAX_MODEL_LEN=1", vllm)));
  CHECK_FALSE(starts(sglang));
  CHECK(starts(with("SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1", sglang)));
  // The command that Qwen3's authors publish, for vLLM before 0.12.
  Words scaled = vllm;
  scaled.insert(scaled.end(),
                {"--rope-scaling", R"({"rope_type":"yarn","factor":4.0,"original_max_position_embeddings":32768})"});
  CHECK(starts(scaled));
}

TEST_CASE("vLLM refuses a word that belongs to no option") {
  // vllm#22303: --enforce_eager true
  const Json verdict =
      asked({"--gpu", "h100", "--json", "--", "vllm", "serve", kModel, "--enforce_eager", "true"}).at("verdict");
  CHECK(verdict.at("starts") == false);
  CHECK(has(verdict.at("refusal").get<std::string>(), "unrecognized arguments: true"));
  CHECK(
      asked({"--gpu", "h100", "--json", "--", "vllm", "serve", kModel, "-tp", "1", "..."}).at("verdict").at("starts") ==
      true);
}

TEST_CASE("vLLM: the new model runner ignores --cpu-offload-gb before 0.28") {
  // vllm#51396: DeepSeek-V2-Lite-Chat and Qwen2.5 with 0.25.1 and 0.27.1; Qwen/QwQ-32B-AWQ starts with 0.29.0.
  const auto verdict = [](const char* image) {
    return asked({"--gpu", "l4", "--json", "--", "docker", "run", image, "--model",
                  "testdata/configs/llama-3.1-8b.json", "--cpu-offload-gb", "8", "--max-model-len", "4096"})
        .at("verdict");
  };
  const Json ignored = verdict("vllm/vllm-openai:v0.27.1");
  CHECK(ignored.at("status") == "unknown");
  CHECK(has(ignored.at("reason").get<std::string>(), "ignores --cpu-offload-gb"));
  CHECK(verdict("vllm/vllm-openai:v0.29.0").at("status") == "partly_on_cpu");
}

TEST_CASE("Of different GPUs a command may use some") {
  const auto cards = [](const Words& command) {
    Words words{"--gpu", "rtx-4090+2x3060", "--json", "--model-source", kModel, "--"};
    words.insert(words.end(), command.begin(), command.end());
    const Json request = asked(words).at("request");
    return request.at("gpu").get<std::string>() + " " + request.at("gpu_count").dump();
  };
  CHECK(cards({"llama-server", "-m", "m.gguf"}) == "rtx-3060 3");
  CHECK(cards({"llama-server", "-m", "m.gguf", "-dev", "CUDA0"}) == "rtx-4090 1");
  CHECK(cards({"CUDA_VISIBLE_DEVICES=2", "llama-server", "-m", "m.gguf"}) == "rtx-3060 1");
  CHECK(cards({"CUDA_VISIBLE_DEVICES=0,1", "llama-server", "-m", "m.gguf"}) == "rtx-3060 2");
}

TEST_CASE("vLLM: n-gram tables are in host memory, unless --engram-config places them on the GPUs") {
  // 384,006,168 and 384,016,682 rows of 256 values of a byte, and a scale byte for 32 of them.
  constexpr double kTables = (384006168.0 + 384016682.0) * (256 + 8);
  const TemporaryFolder folder;
  std::istringstream configs(test_file("testdata/conformance/configs.jsonl"));
  std::string config;
  for (std::string line; config.empty() && std::getline(configs, line);)
    if (has(line, R"("name":"deepseek-v4.1-flash")"))
      config = folder.write("config.json", Json::parse(line).at("config").dump());
  const auto weights = [&](const Words& more) {
    Words words{"--gpu", "8xh200", "--json", "--", "vllm", "serve", config, "-tp", "8"};
    words.insert(words.end(), more.begin(), more.end());
    return asked(words).at("memory").at(0).at("weights_bytes").get<double>();
  };
  const double usual = weights({});
  CHECK(weights({"--engram-config", R"({"cpu_offload": true, "use_thp": true})"}) == usual);
  CHECK(weights({"--engram-config", R"({"cpu_offload": false})"}) - usual ==
        doctest::Approx(kTables / 8).epsilon(0.001));
}

TEST_CASE("If the engine refuses a command, the report says so as the reason") {
  const Json plan =
      asked({"--json", "--", "vllm", "serve", "testdata/configs/deepseek-v3.json", "-tp", "8", "--block-size", "7"});
  CHECK(plan.at("verdict").at("starts") == false);
  CHECK(has(plan.at("verdict").at("refusal").get<std::string>(), "--block-size 7"));
  CHECK(plan.at("request").at("tensor_parallel_size") == 8);
}

TEST_CASE("If a command's model is not on this machine, the error says how to name another one") {
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

// transformers_utils/config.py, config.update: members of a nested config are replaced one by one, any other value as a
// whole.
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
  // kvplan has this option only for SGLang.
  CHECK(run_program({kModel, "--engine", "vllm", "--attention-backend", "FLASH_ATTN"}).exit == 0);
  // Before "--", --draft is kvplan's option; after it, llama-server's number of tokens.
  check_refuses({kModel, "--engine", "llama.cpp", "--draft", "/no/draft"}, "/no/draft");
  const Json after = asked({"--json", "--", "llama-server", "-m", kModel, "-md", kModel, "--draft", "7"});
  CHECK(after.at("request").at("num_speculative_tokens") == 7);
}

// Each means the same before "--" and after it.
TEST_CASE("With --engine the engine's values, lists and short options are read as in its command") {
  const std::string mixture = "testdata/configs/mixtral-8x7b.json", hybrid = "testdata/configs/qwen3.5-27b.json";
  struct Case {
    std::string engine, model;
    Words command, options;
  };
  const std::string cache = R"({"kv_connector":"LMCacheConnectorV1","kv_role":"kv_both"})";
  const Words vllm{"vllm", "serve", "m"}, llama{"llama-server", "-m", "m"},
      sglang{"sglang", "serve", "--model-path", "m"}, mlx{"mlx_lm.server", "--model", "m"};
  const std::vector<Case> cases{
      {"vllm", kModel, vllm, {"--cudagraph-capture-sizes", "1", "2", "4"}},
      {"vllm", kModel, vllm, {"-cc.cudagraph_mode=NONE"}},
      {"vllm", kModel, vllm, {"--compilation-config", R"({"cudagraph_mode":"PIECEWISE"})"}},
      {"vllm", mixture, vllm, {"-tp", "2", "--all2all-backend", "pplx"}},
      {"vllm", kModel, vllm, {"--kv-transfer-config", cache}},
      {"vllm", kModel, vllm, {"--limit-mm-per-prompt", R"({"image":{"count":2,"width":64},"video":0})"}},
      {"llama.cpp", kModel, llama, {"--fit", "off", "-cb"}},
      {"llama.cpp", hybrid, llama, {"-ctxcp", "4"}},
      {"llama.cpp", kModel, llama, {"-sm", "tensor"}},
      {"sglang", hybrid, sglang, {"--tp", "2", "--speculative-algorithm", "EAGLE"}},
      {"sglang", mixture, sglang, {"--tp", "2", "--moe-a2a-backend", "deepep"}},
      {"mlx", kModel, mlx, {"--prompt-cache-size", "4", "--prompt-cache-bytes", "1GB"}},
  };
  for (const Case& each : cases) {
    CAPTURE(each.options.front());
    // Without its layout a plan before "--" searches one; a command has the engine's default.
    const bool on_two = each.options.front().ends_with("tp") || each.options.front() == "-sm";
    const char* card = on_two ? "2xh100-80gb" : "h100-80gb";
    Words before{each.model, "--engine", each.engine, "--json", "--gpu", card};
    Words after{"--json", "--gpu", card, "--model-source", each.model, "--"};
    if (each.engine == "mlx") before.back() = after[2] = "m4-max-64gb";
    after.insert(after.end(), each.command.begin(), each.command.end());
    for (Words* words : {&before, &after}) words->insert(words->end(), each.options.begin(), each.options.end());
    const Json one = asked(before), other = asked(after);
    for (const char* part : {"request", "memory", "host_memory"}) CHECK(one.at(part) == other.at(part));
    CHECK(one.at("verdict").at("status") == other.at("verdict").at("status"));
    CHECK(one.at("verdict").at("status") != "unknown");
  }
}

// llama-model.cpp llama_meta_device_get_split_state; ggml-org/llama.cpp#24216 and #25884.
TEST_CASE("llama.cpp's GPUs divide a model by layers, rows or tensors") {
  const auto plan = [](const char* engine, Words more) {
    Words words{"testdata/configs/llama-3.1-8b.json", "--engine", engine, "-q", "q8_0", "-c", "8192", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return asked(words);
  };
  const auto weights = [](const Json& planned, std::size_t gpu) {
    return planned.at("memory").at(gpu).at("weights_bytes").get<std::int64_t>();
  };
  // An even part of every matrix, the head's too; norms stay with their layers.
  const Json rows = plan("llama.cpp@b8352", {"--gpu", "2xrtx-3090", "-sm", "row"});
  CHECK(std::abs(weights(rows, 0) - weights(rows, 1)) < 1 << 20);
  const Json layers = plan("llama.cpp@b8352", {"--gpu", "2xrtx-3090"});
  CHECK(weights(rows, 0) + weights(rows, 1) - weights(layers, 0) - weights(layers, 1) < 16);
  CHECK(weights(layers, 1) - weights(layers, 0) > 64 << 20);  // the head has 558 MB, minus two layers
  const Json uneven = plan("llama.cpp@b8352", {"--gpu", "2xrtx-3090", "-sm", "row", "-ts", "3,1"});
  CHECK(weights(uneven, 0) > 2.9 * static_cast<double>(weights(uneven, 1)));
  const Json tensors = plan("llama.cpp", {"--gpu", "2xrtx-3090", "-sm", "tensor"});
  CHECK(tensors.at("memory").at(0).at("kv_cache_bytes") == 8192 * 131072 / 2);  // 4 of 8 heads
  CHECK(std::abs(weights(tensors, 0) - weights(rows, 0)) < 8 << 20);
  for (const auto& [engine, options, why] :
       {std::tuple<const char*, Words, const char*>{"llama.cpp", {"-sm", "row"}, "does not support split buffers"},
        {"llama.cpp@b8352", {"-sm", "tensor"}, "no tensor mode"},
        {"llama.cpp", {"-sm", "tensor", "-fa", "off"}, "requires flash_attn"}}) {
    Words words{"--gpu", "2xrtx-3090"};
    words.insert(words.end(), options.begin(), options.end());
    const Json refused = plan(engine, words);
    CHECK(refused.at("verdict").at("starts") == false);
    CHECK(refused.at("verdict").at("refusal").dump().find(why) != std::string::npos);
  }
  CHECK(plan("llama.cpp", {"--gpu", "2xarc-b580", "--backend", "sycl", "-sm", "row"}).at("verdict").at("refusal") ==
        nullptr);
}

// unslothai/unsloth#11073: a copy has 149.6 MiB, and each of 4 slots has 32 copies. Qwen3.5-27B has the same states.
TEST_CASE("llama-server's copies of states are in host memory") {
  Words words{"testdata/configs/qwen3.5-27b.json",
              "--engine",
              "llama.cpp",
              "-np",
              "4",
              "-c",
              "639000",
              "--json",
              "--gpu",
              "h100-80gb",
              "-ctk",
              "q4_0",
              "-ctv",
              "q4_0"};
  const auto copies = [&] {
    const Json plan = asked(words);
    for (const Json& line : plan.at("host_memory").at("lines"))
      if (line.at("what") == "context checkpoints") return line.at("high_bytes").get<double>() / (1 << 20);
    return 0.0;
  };
  CHECK(copies() == doctest::Approx(149.6 * 128).epsilon(0.001));
  words.insert(words.end(), {"--ctx-checkpoints", "0"});
  CHECK(copies() == 0);
}

// Names with different meanings in kvplan and an engine: before "--" kvplan's meaning applies, after it the engine's.
TEST_CASE("Options that kvplan and an engine both have are listed") {
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
