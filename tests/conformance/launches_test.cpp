// Launch lines that the engines' own parsers and checks accepted. kvplan must still write the same ones.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>
#include <sstream>

#include "conformance/planner.h"
#include "support/figures.h"
#include "support/program.h"

namespace kvplan::conformance {
namespace {

// A tried launch: the GPU, then one line per node.
using Tried = std::vector<std::string>;

std::vector<std::string> configs() {
  std::vector<std::string> out;
  for (const auto& file : std::filesystem::directory_iterator(KVPLAN_SOURCE_DIR "/testdata/configs"))
    if (file.path().extension() == ".json") out.push_back("testdata/configs/" + file.path().filename().string());
  std::sort(out.begin(), out.end());
  return out;
}

Words asking(const std::string& engine, const std::string& config, const Json& options, const char* form) {
  Words out{config, "--engine", engine, "--calibration", "none"};
  for (const std::string word : options) out.push_back(word);
  out.insert(out.end(), {"--format", form});
  return out;
}

Tried lines_for(const std::string& card, const std::string& text) {
  Tried out{card};
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) out.push_back(line);
  return out;
}

// Whether kvplan says that the engine does not start, for a reason other than memory.
bool is_refused(const Words& words) {
  const Json report = Json::parse(run_program(words).out);
  return !report.at("verdict").at("refusal").is_null();
}

// kvplan reads the command back to the request from which it wrote it.
void check_reading(const std::string& engine, const std::string& config, const Json& options, const std::string& card,
                   const Tried& lines) {
  // Only the first node's command, with configs in place of the checkpoints.
  std::string text = std::regex_replace(lines[1], std::regex(R"((testdata/configs/[\w.-]*?)\.gguf)"), "$1");
  text = std::regex_replace(text, std::regex(R"((testdata/configs/[\w.-]*\w))"), "$1.json");
  const std::string name = config.substr(config.rfind('/') + 1, config.rfind('.') - config.rfind('/') - 1) + ".gguf";
  if (const auto at = text.find(" " + name); at != std::string::npos) text.replace(at + 1, name.size(), config);
  const TemporaryFolder files;
  const Run read =
      run_program({"--gpu", card, "--calibration", "none", "--json", "--command", files.write("line", text)});
  CAPTURE(read.err);
  const Run plan = run_program(asking(engine, config, options, "json"));
  REQUIRE(!read.out.empty());
  const Json one = Json::parse(read.out).at("request");
  const Json other = Json::parse(plan.out).at("request");
  for (const char* key : {"engine", "max_model_len", "weights_dtype", "kv_cache_dtype", "tensor_parallel_size",
                          "pipeline_parallel_size", "data_parallel_size", "enable_expert_parallel",
                          "max_num_batched_tokens", "speculative_method", "num_speculative_tokens"}) {
    if (!one.contains(key) && !other.contains(key)) continue;
    CAPTURE(key);
    if (key == std::string("num_speculative_tokens") && other.value(key, Json()).is_null()) continue;  // a default
    CHECK(one.value(key, Json()) == other.value(key, Json()));
  }
}

void check_launches(const std::string& engine) {
  const std::vector<Json> rows = read_lines(kFolder + "launch-" + engine + ".jsonl");
  REQUIRE(rows.size() > 1);
  const std::string again =
      "run tests/conformance/launches " + engine + " " + rows.front().at("release").get<std::string>();
  std::map<Tried, Json> tried;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    Tried key{rows[i].at("card")};
    for (const std::string line : rows[i].at("lines")) key.push_back(line);
    tried[key] = rows[i];
  }
  const Json asked = Json::parse(test_file("testdata/conformance/launch-asked.json")).at(engine);
  std::size_t accepted = 0;
  std::map<Tried, bool> seen;
#ifdef KVPLAN_SANITIZED
  constexpr std::size_t kEvery = 12, kReadBack = 0;
#else
  constexpr std::size_t kReadBack = 5;
  constexpr std::size_t kEvery = 1;
#endif
  const std::vector<std::string> all = configs();
  for (std::size_t i = 0; i < all.size(); i += kEvery) {
    const std::string& config = all[i];
    for (const Json& options : asked) {
      const std::string card = *std::next(std::find(options.begin(), options.end(), "--gpu"));
      const Run run = run_program(asking(engine, config, options, "args"));
      const Tried lines = lines_for(card, run.out);
      // If the placeholder is for a checkpoint of another type, there is no config to try.
      if (lines.size() == 1 || run.err.find("cannot convert to") != std::string::npos || seen[lines]) continue;
      seen[lines] = true;
      CAPTURE(lines[1]);
      const auto found = tried.find(lines);
      if (kReadBack > 0 && seen.size() % kReadBack == 0 && run.exit == 0)
        check_reading(engine, config, options, card, lines);
      if (found == tried.end()) {
        FAIL_CHECK("a line that was not tried: " << again);
      } else if (found->second.contains("accepted")) {
        ++accepted;
      } else if (found->second.contains("refused") && !found->second.contains("artefact")) {
        CAPTURE(found->second.at("refused"));
        CHECK(is_refused(asking(engine, config, options, "json")));
      }
    }
  }
  CHECK(accepted * 2 > seen.size());  // the test notices a harness that accepts nothing
  if (kEvery == 1) CHECK_MESSAGE(seen.size() == tried.size(), "lines were tried that kvplan does not write: " << again);
}

TEST_CASE("launch lines: vLLM accepts them") {
  check_launches("vllm");
}
TEST_CASE("launch lines: SGLang accepts them") {
  check_launches("sglang");
}
TEST_CASE("launch lines: llama.cpp accepts them") {
  check_launches("llama.cpp");
}
TEST_CASE("launch lines: mlx-lm accepts them") {
  check_launches("mlx");
}

}  // namespace
}  // namespace kvplan::conformance
