// Every bad input through the real program: the contract's exit code, one line that names the source, nothing on
// standard output, and no time or memory to speak of.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "kvplan/error.h"
#include "support/program.h"

namespace kvplan {
namespace {

// A sanitizer's build is slower and larger.
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
  CHECK(files >= 40);
}

TEST_CASE("bad input: what is too large to keep in a file") {
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

TEST_CASE("bad input: what is no file") {
  const TemporaryFolder folder;
  check_refused(run_program({"./no-such-model.json"}), Exit::kBadInput, "./no-such-model.json");
  check_refused(run_program({"./no-such-model.gguf"}), Exit::kBadInput, "./no-such-model.gguf");
  check_refused(run_program({folder.path()}), Exit::kBadInput, folder.path());
  check_refused(run_program({"/dev/zero"}), Exit::kBadInput, "/dev/zero");
  check_refused(run_program({"-"}, "/dev/zero"), Exit::kBadInput, "standard input");
  check_refused(run_program({"-"}, "/dev/null"), Exit::kBadInput, "standard input");
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
      {},
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
  };
  for (const auto& arguments : rows) {
    CAPTURE(arguments.empty() ? std::string() : arguments.back());
    check_refused(run_program(arguments), Exit::kBadInput, "");
  }
}

}  // namespace
}  // namespace kvplan
