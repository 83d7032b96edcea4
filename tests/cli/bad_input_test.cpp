// Every bad input through the real program: the contract's exit code, one line that names the source, nothing on
// standard output, and little time and memory.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "kvplan/error.h"
#include "support/program.h"

namespace kvplan {
namespace {

// A build with sanitizers is slower and larger.
#ifdef KVPLAN_SANITIZED
constexpr double kMaxSeconds = 20;
constexpr double kMaxMib = 4096;
#else
constexpr double kMaxSeconds = 2;
constexpr double kMaxMib = 200;
#endif

void check_refused(const Run& run, Exit exit, const std::string& source) {
  CAPTURE(run.err);
  CHECK(run.exit == static_cast<int>(exit));
  CHECK(run.out.empty());
  CHECK(run.err.starts_with("kvplan: " + source));
  CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
  CHECK(run.err.find("; ") != std::string::npos);  // what is wrong; what to do
  CHECK(std::none_of(run.err.begin(), run.err.end() - 1, [](char c) { return c >= 0 && c < 0x20; }));
  CHECK(run.seconds < kMaxSeconds);
  CHECK(run.peak_mib < kMaxMib);
}

TEST_CASE("bad input: every file of testdata/bad, as a table and as JSON") {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(KVPLAN_SOURCE_DIR) + "/testdata/bad")) {
    const std::string name = entry.path().filename().string();
    const std::string path = "testdata/bad/" + name;
    CAPTURE(name);
    const Exit exit = name.starts_with("unknown-") ? Exit::kUnknownArchitecture : Exit::kBadInput;
    check_refused(run_program({path}), exit, path);
    check_refused(run_program({path, "--json"}), exit, path);
    ++files;
  }
  CHECK(files >= 44);
}

TEST_CASE("bad input: an error that only a report finds also names its source") {
  const TemporaryFolder folder;
  const std::string wide = folder.write(
      "wide.json", R"({"model_type":"llama","hidden_size":1099511627776,"num_hidden_layers":32,"num_attention_heads":64,
                       "head_dim":128,"intermediate_size":1099511627776,"vocab_size":128256})");
  for (const std::vector<std::string>& words : {std::vector<std::string>{wide, "--json"}, {"explain", wide}})
    check_refused(run_program(words), Exit::kBadInput, wide);
  const Run run = run_program({"testdata/configs/llama-3.1-8b.json", "--format", "args"});
  CHECK(run.err.starts_with("kvplan: command line: --format args"));
}

TEST_CASE("bad input: input that is too large to store in testdata") {
  const TemporaryFolder folder;
  const std::string head = "{\"model_type\":\"llama\",\"x\":";
  const std::string brackets = folder.write("brackets.json", std::string(100000, '['));
  const std::string closed =
      folder.write("closed.json", head + std::string(200000, '[') + std::string(200000, ']') + "}");
  const std::string objects = folder.write("objects.json", [] {
    std::string text;
    for (int i = 0; i < 100000; ++i) text += "{\"a\":";
    return text;
  }());
  const std::string large = folder.write("large.json", head + std::string(100 << 20, ' ') + "0}");
  for (const std::string& path : {brackets, closed, objects, large}) {
    CAPTURE(path);
    check_refused(run_program({path, "--json"}), Exit::kBadInput, path);
    check_refused(run_program({"-", "--json"}, path), Exit::kBadInput, "standard input");
  }
}

TEST_CASE("bad input: paths that are not files") {
  const TemporaryFolder folder;
  check_refused(run_program({"./no-such-model.json"}), Exit::kBadInput, "./no-such-model.json");
  check_refused(run_program({"./no-such-model.gguf"}), Exit::kBadInput, "./no-such-model.gguf");
  check_refused(run_program({folder.path()}), Exit::kBadInput, folder.path());
  check_refused(run_program({"/dev/zero"}), Exit::kBadInput, "/dev/zero");
  check_refused(run_program({"-"}, "/dev/zero"), Exit::kBadInput, "standard input");
  check_refused(run_program({"-"}, "/dev/null"), Exit::kBadInput, "standard input");
}

TEST_CASE("bad input: a log may begin with a bracket, a JSON document is not a log") {
  const TemporaryFolder folder;
  const auto check_log = [&](const char* text) { return run_program({"check-log", folder.write("a.log", text)}).exit; };
  CHECK(check_log("[62617] loading\n") == static_cast<int>(Exit::kUnknownArchitecture));
  CHECK(check_log("[1, 2]\n") == static_cast<int>(Exit::kBadInput));
  CHECK(check_log("{\"a\": [1]}\n") == static_cast<int>(Exit::kBadInput));
}

TEST_CASE("bad input: kvplan does not wait for a pipe without a writer") {
  const TemporaryFolder folder;
  const std::string model = "testdata/configs/llama-3.1-8b.json";
  const std::string pipe = folder.path() + "/pipe.json";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  check_refused(run_program({pipe}), Exit::kBadInput, pipe);
  check_refused(run_program({model, "--gpu-file", pipe}), Exit::kBadInput, "");
  check_refused(run_program({model, "--calibration", pipe}), Exit::kBadInput, "");
  check_refused(run_program({"check-log", model, pipe}), Exit::kBadInput, pipe);
  check_refused(run_program({"diff", pipe, pipe}), Exit::kBadInput, pipe);
  // A pipe without a reader is refused, and stays a pipe.
  check_refused(run_program({model, "--max-model-len", "8k", "-o", pipe}), Exit::kBadInput, pipe);
  CHECK(std::filesystem::is_fifo(pipe));
}

TEST_CASE("bad input: -o does not change a path that is not a file") {
  const TemporaryFolder folder;
  const std::string model = "testdata/configs/llama-3.1-8b.json";
  check_refused(run_program({model, "--max-model-len", "8k", "-o", folder.path()}), Exit::kBadInput, folder.path());
  CHECK(run_program({model, "--max-model-len", "8k", "-o", "/dev/null"}).exit == 0);
  CHECK(std::filesystem::is_character_file("/dev/null"));
  // A link stays a link. Its target is written and keeps its mode.
  const std::string there = folder.write("there.txt", "old");
  const std::string link = folder.path() + "/link.txt";
  std::filesystem::create_symlink("there.txt", link);
  std::filesystem::permissions(there, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  CHECK(run_program({model, "--max-model-len", "8k", "-o", link}).exit == 0);
  CHECK(std::filesystem::is_symlink(link));
  CHECK(std::filesystem::file_size(there) > 100);
  CHECK(std::filesystem::status(there).permissions() ==
        (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write));
}

TEST_CASE("bad input: a quantization file beside the config is named") {
  const TemporaryFolder folder;
  folder.write("config.json",
               R"({"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4})");
  CHECK(run_program({folder.path(), "--json"}).exit == 0);
  folder.write("hf_quant_config.json", "{\"quantization\": ");
  check_refused(run_program({folder.path(), "--json"}), Exit::kBadInput, "hf_quant_config.json");
}

TEST_CASE("bad usage") {
  const std::string model = "testdata/configs/llama-3.1-8b.json";
  const std::vector<std::vector<std::string>> rows{
      {"--json"},
      {model, "--max-model-len", "0"},
      {model, "--max-model-len", "-1"},
      {model, "--max-model-len", "many"},
      {model, "--max-model-length", "4096"},
      {model, "--engine", "no-such-engine"},
      {model, "--kv-cache-dtype", "float17"},
      {model, "--kv-cache-dtype", "fp8_ds_mla"},
      {model, "-ctk", "q9_9"},
      {model, "-tp", "0"},
      {model, "-tp", "two"},
      {model, "--gpu", "no-such-card"},
      {model, "--gpu-memory", "24XiB"},
      {model, "--gpu-memory", "24GiB", "--gpu-memory-utilization", "-0.5"},
      {model, "--format", "yaml"},
      {model, "--num-seqs", "18446744073709551615"},
      {model, "--gpu-count", "1152921504606846976"},
      {model, "-dp", "65536"},
      {"engines", "zzz"},
      {"man", "kvplan"},
  };
  for (const auto& arguments : rows) {
    CAPTURE(arguments.empty() ? std::string() : arguments.back());
    check_refused(run_program(arguments), Exit::kBadInput, "");
  }
}

TEST_CASE("bad usage: every message says what to do") {
  const std::string model = "testdata/configs/llama-3.1-8b.json";
  for (const char* option : {"--engine", "--max-model-len", "--weights", "--dtype", "--gpu", "--gpu-memory", "--format",
                             "--flash-attn", "--color", "--margin", "--speculative-method", "--seq-lens"}) {
    CAPTURE(option);
    const Run run = run_program({model, option, std::string(100000, 'a') + "\xc3\xa9"});
    check_refused(run, Exit::kBadInput, "");
    CHECK(run.err.size() < 1000);
  }
}

TEST_CASE("verify: without the Python package the program says that it needs it") {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"verify"},
                                             {"verify", "testdata/configs/qwen3-0.6b.json", "--engine", "vllm"},
                                             {"verify", "no.json", "--python", "/no/python", "--report", "x"},
                                             {"verify", "--gpu", "l40s", "--", "vllm", "serve", "org/name"}})
    check_refused(run_program(words), Exit::kNoDevice, "verify: this needs the Python package; pip install kvplan");
}

}  // namespace
}  // namespace kvplan
