// Hostile files: answered or refused within one second and 256 MiB, or two seconds and 512 MiB for a file of 64 MiB.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/gguf_writer.h"
#include "support/program.h"

namespace kvplan {
namespace {

void check_bounded(const Run& run, double seconds = 1, double mib = 256) {
  CAPTURE(run.err);
  CHECK(run.exit <= 4);
  const bool is_unjudged_log = run.exit == 3 && run.err.empty();
  if (run.exit > 1 && !is_unjudged_log) {
    CHECK(run.out.empty());
    CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
  }
  // On a busy machine two processes share a core and its caches, so a second of work may take 1.5 seconds.
  constexpr double kSharedCore = 1.5;
  CHECK(run.processor_seconds < kSharedCore * seconds * kSanitizerFactor);
  CHECK(run.peak_mib < mib * kSanitizerFactor);
}

const std::string kHead =
    R"({"model_type":"llama","hidden_size":4096,"num_hidden_layers":32,"num_attention_heads":32,"vocab_size":128256)";

std::string filled(const std::string& before, const std::string& unit, const std::string& after, std::size_t bytes) {
  std::string out = kHead + "," + before;
  while (out.size() + unit.size() + after.size() + 2 < bytes) out += unit;
  if (out.ends_with(',')) out.pop_back();
  return out + after + "}";
}

TEST_CASE("bombs: a config of 16 MiB with any contents") {
  const TemporaryFolder folder;
  for (const char* unit :
       {"{},", "[],", "0,", "\"\",", "{\"\":0},", "[[[[[[[[]]]]]]]],", "NaN,", "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaa\","}) {
    CAPTURE(unit);
    const Run run = run_program({folder.write("x.json", filled("\"a\":[", unit, "]", 16 << 20))});
    check_bounded(run);
    CHECK(run.exit == 2);
    CHECK(run.err.find("has more than 500000 values") != std::string::npos);
    // The largest number that kvplan accepts.
    check_bounded(run_program({folder.write("x.json", filled("\"a\":[", unit, "]", 1 << 20))}));
  }
  const auto with_keys = [&](std::string keys, int count, const char* value) {
    for (int i = 0; i < count; ++i) keys += ",\"" + std::to_string(i) + "\":" + value;
    return folder.write("x.json", keys + "}");
  };
  check_bounded(run_program({with_keys(kHead, 499'000, "{}")}));
  check_bounded(run_program({with_keys(kHead, 499'000, "0")}));
  // kvplan translates Mistral's own keys first.
  check_bounded(run_program({with_keys(R"({"dim":4096,"n_layers":32,"n_heads":32,"hidden_dim":14336)", 250'000, "0")}));
  check_bounded(
      run_program({folder.write("x.json", kHead + ",\"architectures\":[\"" + std::string(15 << 20, 'x') + "\"]}")}));
  check_bounded(
      run_program({folder.write("x.json", kHead + ",\"_name_or_path\":\"" + std::string(15 << 20, '[') + "\"}")}));
}

TEST_CASE("bombs: lists of a quantization config") {
  const TemporaryFolder folder;
  const auto plan = [&](const std::string& quantization) {
    check_bounded(run_program({folder.write("x.json", kHead + ",\"quantization_config\":" + quantization + "}")}));
  };
  const auto list = [](int count, const std::string& before, const std::string& after) {
    std::string out = "[";
    for (int i = 0; i < count; ++i) out += (i > 0 ? ",\"" : "\"") + before + std::to_string(i) + after + "\"";
    return out + "]";
  };
  const auto tensors = [&](const std::string& targets, const std::string& ignore) {
    return R"({"quant_method":"compressed-tensors","config_groups":{"g":{"targets":)" + targets +
           R"(,"weights":{"num_bits":4,"type":"int"}}},"ignore":)" + ignore + "}";
  };
  plan(tensors(R"(["re:)" + std::string(22, '(') + "a" +
                   [] {
                     std::string out;
                     for (int i = 0; i < 22; ++i) out += ")+";
                     return out;
                   }() +
                   "\"]",
               "[]"));
  plan(tensors(list(1000, "re:.*.*.*.*.*.*.*.*.*.*.*.*x", ""), "[]"));
  plan(tensors(list(5000, "re:.*.*.*.*.*.*.*.*.*.*.*.*x", ""), "[]"));
  plan(tensors("[\"Linear\"]", list(5000, "re:(a*)*b", "")));
  plan(R"({"quant_method":"modelopt","quant_algo":"FP8","exclude_modules":)" +
       list(50'000, "*", "*a*a*a*a*a*a*a*a*a*a") + "}");
  // The largest number of names that kvplan accepts, with an engine that changes tensors and with suggestions.
  for (const char* after : {".self_attn", ""}) {
    const std::string names = list(200'000, "model.layers.", after);
    const std::string model = folder.write(
        "x.json", kHead + R"(,"quantization_config":{"quant_method":"fp8","modules_to_not_convert":)" + names + "}}");
    check_bounded(run_program({model}));
    check_bounded(run_program({model, "--engine", "vllm", "--gpu", "l4"}));
    check_bounded(run_program({"fit", model, "--engine", "vllm", "--gpu", "l4"}));
  }
  // Expressions that distinguish layers, among other names.
  plan(R"({"quant_method":"fp8","modules_to_not_convert":)" + list(4'900, "re:model", "") + "}");
}

TEST_CASE("bombs: names from a config in a report") {
  const TemporaryFolder folder;
  const auto report = [&](const std::string& rest) {
    const Run run = run_program({folder.write("x.json", kHead + "," + rest + "}"), "--json"});
    check_bounded(run);
    CHECK(run.out.size() < 100'000);
    return run.out;
  };
  const auto keys = [](int count, const std::string& before, const std::string& after) {
    std::string out;
    for (int i = 0; i < count; ++i) out += (i > 0 ? ",\"" : "\"") + before + std::to_string(i) + after;
    return out;
  };
  CHECK(report(keys(400'000, "sliding_window_", "\":1")).find(" and 399968 more") != std::string::npos);
  CHECK(report(keys(100'000, "c", "_config\":{\"hidden_size\":64,\"depth\":2}")).find("99936 further parts") !=
        std::string::npos);
  for (const std::string unit : {"##[", "\xE2\x80\xAE", "\xC2\x9B"}) {
    CAPTURE(unit);
    std::string type;
    while (type.size() < (15 << 20)) type += unit;
    const std::string out = report("\"vision_config\":{\"hidden_size\":64,\"model_type\":\"" + type + "\"}");
    CHECK(out.find(unit) == std::string::npos);
  }
}

TEST_CASE("bombs: calibrations and lists of models") {
  const TemporaryFolder folder;
  std::string records;
  for (int i = 0; i < 2000; ++i)
    records += (i > 0 ? ",{\"device\":\"nvidia geforce card " : "{\"device\":\"nvidia geforce card ") +
               std::to_string(i) + R"(","source":"measure","date":"20)" + std::to_string(10 + i / 28) + "-01-" +
               std::to_string(10 + i % 28 % 18) +
               R"(","figures":[{"name":"context_bytes","n":1,"low":1,"mean":1,"high":1}]})";
  const std::string calibration = folder.write("c.json", R"({"schema_version":1,"calibration":[)" + records + "]}");
  const std::string model = "testdata/configs/llama-3.1-8b.json";
  check_bounded(run_program({model, "--engine", "vllm", "--gpu", "h100-80gb", "--calibration", calibration}));
  check_bounded(run_program({"fit", model, "--engine", "vllm", "--gpu", "h100-80gb", "--calibration", calibration}));
  std::string list;
  for (int i = 0; i < 10'000; ++i) list += "x.json\n";
  const Run run = run_program({"@" + folder.write("list", list)});
  CHECK(run.exit == 2);
  CHECK(run.peak_mib < 256 * kSanitizerFactor);
  CHECK(run.processor_seconds < 1.5 * kSanitizerFactor);
}

TEST_CASE("bombs: the largest number of layers, in every engine") {
  const TemporaryFolder folder;
  std::string types;
  for (int i = 0; i < 512; ++i) types += i % 3 == 0 ? ",\"full_attention\"" : ",\"sliding_attention\"";
  const std::string model = folder.write(
      "x.json", R"({"model_type":"gemma3_text","hidden_size":2560,"num_hidden_layers":512,"num_attention_heads":8,
                    "num_key_value_heads":4,"head_dim":256,"intermediate_size":10240,"vocab_size":262208,
                    "sliding_window":1024,"max_position_embeddings":131072,"layer_types":[)" +
                    types.substr(1) + "]}");
  for (const char* engine : {"logical", "vllm", "sglang", "llama.cpp", "transformers", "mlx", "tensorrt-llm"}) {
    CAPTURE(engine);
    check_bounded(run_program({model, "--engine", engine, "--gpu", "h100-80gb"}));
    check_bounded(run_program({"fit", model, "--engine", engine, "--gpu-memory", "10TiB"}));
  }
  check_bounded(run_program({"explain", model}));
  check_bounded(run_program({model, "--format", "html"}));
}

TEST_CASE("bombs: the largest number of GPUs") {
  const std::string model = "testdata/configs/deepseek-v3.json";
  for (const char* engine : {"logical", "vllm", "sglang"}) {
    CAPTURE(engine);
    const std::vector<std::string> on_cards{model, "--engine", engine, "--gpu", "h100-80gb", "--gpu-count", "2048"};
    for (const char* question : {"plan", "fit", "compare"}) {
      std::vector<std::string> words = on_cards;
      words.insert(words.begin(), question);
      check_bounded(run_program(words));
    }
    std::vector<std::string> words = on_cards;
    words.push_back("--json");
    check_bounded(run_program(words));
  }
  // Each GPU of each answer: some 110 MB of text.
  const Run all = run_program({"compare", model, "--gpu", "h100-80gb", "--gpu-count", "2048", "--json"});
  CHECK(all.exit <= 1);
  CHECK(all.out.size() > 100'000'000);
  CHECK(all.peak_mib < 400 * kSanitizerFactor);
}

TEST_CASE("bombs: graphs of many pipeline stages are computed once") {
  check_bounded(run_program({"fit", "testdata/configs/llama-3.1-8b.json", "--engine", "ollama", "--gpu", "l4", "-pp",
                             "16", "--shared-prefix", "3"}));
  check_bounded(run_program(
      {"testdata/configs/glm-5.2.json", "--engine", "ollama@0.17", "--max-model-len", "40000", "--gpu", "l4"}));
}

TEST_CASE("bombs: headers of weights of 64 MiB") {
  const TemporaryFolder folder;
  folder.write("config.json", kHead + "}");
  std::string header = "{";
  for (int i = 0; header.size() < (64 << 20) - 200; ++i)
    header += (i > 0 ? ",\"model.layers." : "\"model.layers.") + std::to_string(i % 32) +
              ".mlp.experts.up_proj.some_scale." + std::to_string(i) +
              R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  header += "}";
  std::string file(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) file[i] = static_cast<char>(header.size() >> (8 * i));
  folder.write("model.safetensors", file + header);
  check_bounded(run_program({folder.path()}), 2, 512);
  GgufWriter writer("llama");
  writer.u32(".block_count", 2)
      .u32(".embedding_length", 64)
      .u32(".context_length", 2048)
      .u32(".attention.head_count", 4);
  writer.strings("tokenizer.ggml.tokens", 1 << 22, "eight by");
  check_bounded(run_program({folder.write("x.gguf", writer.file())}), 2, 512);
}

TEST_CASE("bombs: plans that are compared") {
  const TemporaryFolder folder;
  const Run plan = run_program({"testdata/configs/llama-3.1-8b.json", "--json"});
  const auto with_facts = [&](const std::string& name, int count, int first, const std::string& value) {
    std::string facts;
    for (int i = first; i < first + count; ++i)
      facts += "{\"key\":\"k" + std::to_string(i) + "\",\"value\":\"" + value + "\",\"origin\":\"file\"},";
    std::string text = plan.out;
    return folder.write(name, text.insert(text.find("\"config\": [") + 11, facts));
  };
  // The largest number of facts that kvplan accepts, in 60 MiB.
  const Run run = run_program({"diff", with_facts("a.json", 9900, 0, std::string(6200, 'a')),
                               with_facts("b.json", 9900, 5000, std::string(6200, 'b'))});
  CHECK(run.exit == 0);
  check_bounded(run, 2, 512);
  check_bounded(run_program({"diff", with_facts("a.json", 200'000, 0, "1"), with_facts("b.json", 200'000, 1, "2")}), 2,
                512);
  std::string bomb = R"({"schema_version":1,"x":[)";
  while (bomb.size() < (63 << 20)) bomb += "{},";
  check_bounded(run_program({"diff", folder.write("c.json", bomb + "{}]}"), "testdata/configs/llama-3.1-8b.json"}), 2,
                512);
}

TEST_CASE("bombs: a log of any length takes 50 MiB") {
  const TemporaryFolder folder;
  constexpr std::size_t kLength = kSanitized ? 8 << 20 : 63 << 20;
  const std::string model = "testdata/configs/llama-3.1-8b.json";
  const auto log = [&](const std::string& line) {
    std::string text;
    while (text.size() < kLength) text += line;
    return folder.write("x.log", text);
  };
  const auto check_log = [&](const std::string& path, double seconds) {
    check_bounded(run_program({"check-log", model, path, "--engine", "vllm"}), seconds, 50);
  };
  for (const std::string line :
       {"INFO Model loading took 14.9888 GiB memory\n", "vllm xxxxxxxxxxxxxxxxxxxxxxxxx", "\x1b[",
        "total_gpu_memory=", " KV buffer size = 1 MiB", "torch.OutOfMemoryError: CUDA out of memory.\n",
        "out of memory out of memory CUDA out of memory out of memory. Tried to allocate\n", "([rank=0]([rank=0]\n"}) {
    CAPTURE(line);
    check_log(log(line), 2);
  }
  // All lines differ.
  for (const std::string line : {"ValueError: #\n", "(Worker_TP3 pid=1) INFO Model loading took #.25 GiB memory\n",
                                 "llama_kv_cache: CUDA# KV buffer size = 1.25 MiB\n",
                                 "{\"log\":\"ValueError: # \\n CUDA out of memory.\\n\"}\n"}) {
    CAPTURE(line);
    std::string text;
    const std::size_t number = line.find('#');
    for (int i = 0; text.size() < kLength; ++i)
      text += line.substr(0, number) + std::to_string(i) + line.substr(number + 1);
    check_log(folder.write("x.log", text), 3);  // every line is a separate failure
  }
}

TEST_CASE("bombs: the output of a watched command") {
  const TemporaryFolder folder;
  for (const char* command : {"head -c 200000000 /dev/zero", "yes 'CUDA out of memory' | head -c 50000000"}) {
    CAPTURE(command);
    const Run run = run_program({"measure", "testdata/configs/llama-3.1-8b.json", "--engine", "vllm", "--device",
                                 "host", "--watch", "--", "sh", "-c", command},
                                "/dev/null", {"TMPDIR=" + folder.path()});
    CHECK(run.exit == 1);
    CHECK(run.out.find("DIED") != std::string::npos);
    CHECK(run.peak_mib < 50 * kSanitizerFactor);
  }
}

}  // namespace
}  // namespace kvplan
