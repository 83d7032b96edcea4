// Strings of a config, its keys and file names that could be dangerous in the output: terminal and workflow commands,
// markup, spreadsheet formulas, shell words. They are harmless in every output format.
#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "kvplan/strings.h"
#include "support/program.h"
#include "support/words.h"

namespace kvplan {
namespace {

using Json = nlohmann::json;

const std::vector<std::string> kPayloads{
    "::error::PWN \u009b31m \u202eRLO\u2066 \x1b]0;t\x07\x1b[31m \nline2::warning::x\r\n##[add-mask]a @everyone <img "
    "src=x "
    "onerror=alert(1)>\"'><script>alert(1)</script> [l](http://evil.example/) |cell| \\| `c` \u2028\u2029\u0085",
    "=cmd|' /C calc'!A0",
    " =1+1",
    "a\\|b",
    "::stop-commands::aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "x ##[add-mask]1",
    "@everyone https://evil.example #1 ~~x~~ www.evil.example",
    "$(id)`id`';\"&&",
    "{{x}}: [y] # - &a *b !!c |",
    "%0A::error::x",
    "hf_abcdefghijklmnopqrstuvwxyz01234567",
};

// How a workflow runner recognises commands: "::name" at the start of a line, "##[name]" anywhere.
bool is_command(const std::string& line) {
  static const std::regex kSecond(R"(^\s*::[A-Za-z-]+[ :])");
  static const std::regex kFirst(R"(##\[[A-Za-z-]+)");
  return std::regex_search(line, kSecond) || std::regex_search(line, kFirst);
}

void check_text(const std::string& text, bool is_github) {
  for (std::size_t at = 0; at < text.size();) {
    const Character next = character_at(text, at);
    REQUIRE(next.bytes > 0);
    const bool is_harmless = !is_hidden(next.code) || next.code == '\n';
    REQUIRE_MESSAGE(is_harmless, text.substr(at > 40 ? at - 40 : 0, 80));
    at += next.bytes;
  }
  std::istringstream lines(text);
  static const std::regex kAnnotation(R"(^::(notice|warning|error) [^:]*::.*$)");
  for (std::string line; std::getline(lines, line);) {
    if (is_github)
      CHECK_MESSAGE(std::regex_match(line.substr(0, 300), kAnnotation), line.substr(0, 300));
    else
      CHECK_MESSAGE(!is_command(line.substr(0, 4000)), line.substr(0, 300));
    CHECK(line.find("hf_abcdefghijklmnopqrstuvwxyz") == std::string::npos);
  }
}

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

void check_markdown(const std::string& text) {
  CHECK_FALSE(std::regex_search(text, std::regex(R"((^|[^\\])<(img|script))")));
  CHECK_FALSE(std::regex_search(text, std::regex(R"((^|[^\\])@everyone)")));
  CHECK(text.find("https://evil") == std::string::npos);
  CHECK_FALSE(std::regex_search(text, std::regex(R"(www\.evil)")));
  // Each row of a table has as many cells as the one before.
  std::istringstream lines(text);
  std::size_t columns = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with('|')) {
      columns = 0;
      continue;
    }
    std::size_t bars = 0;
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (line[i] == '\\')
        ++i;
      else if (line[i] == '|')
        ++bars;
    }
    if (columns != 0) CHECK_MESSAGE(bars == columns, line.substr(0, 300));
    columns = bars;
  }
}

void check_csv(const std::string& text) {
  // A field begins at the start, after a comma or after a line's end.
  CHECK_FALSE(std::regex_search(text, std::regex("(^|[,\n])\"? *[=+@]")));
}

void check(const std::vector<std::string>& words, const std::string& form) {
  CAPTURE(text_of(words));
  const Run run = run_program(words, "/dev/null");
  CHECK(run.exit <= 3);
  check_text(run.err, false);
  // A fleet has a row or a line for each model.
  const bool is_fleet = words.size() > 1 && words[0].ends_with(".json") && words[1].ends_with(".json");
  if (run.exit > 1 && !is_fleet) {
    CHECK(run.out.empty());
    CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
    return;
  }
  if (form == "json") {
    CHECK(Json::accept(run.out));
    CHECK(run.out.find("##[") == std::string::npos);
    return;
  }
  check_text(run.out, form == "github");
  if (form == "markdown") check_markdown(run.out);
  if (form == "csv") check_csv(run.out);
  if (form == "html") {
    const std::string text = lower_case(run.out);
    CHECK(text.find("<img") == std::string::npos);
    CHECK(text.find("<script>alert") == std::string::npos);
  }
}

Json base() {
  return Json::parse(
      R"({"model_type":"llama","architectures":["LlamaForCausalLM"],"hidden_size":64,"num_hidden_layers":2,
      "num_attention_heads":4,"vocab_size":1000,"intermediate_size":128,"max_position_embeddings":2048,
      "torch_dtype":"bfloat16","hidden_act":"silu","rope_scaling":{"rope_type":"yarn","factor":2.0},
      "quantization_config":{"quant_method":"awq","bits":4,"group_size":128,"modules_to_not_convert":["lm_head"]},
      "vision_config":{"model_type":"clip_vision_model","hidden_size":32,"num_hidden_layers":1}})");
}

const std::vector<std::string> kPlaces{"/model_type",
                                       "/architectures/0",
                                       "/hidden_size",
                                       "/num_hidden_layers",
                                       "/torch_dtype",
                                       "/hidden_act",
                                       "/rope_scaling/rope_type",
                                       "/quantization_config/quant_method",
                                       "/quantization_config/modules_to_not_convert/0",
                                       "/vision_config/model_type",
                                       "/sliding_window",
                                       "/cache_of_a_kind"};

TEST_CASE("injection: a string of a config, in every form") {
  const TemporaryFolder folder;
  std::size_t turn = 0;
  for (const std::string& place : kPlaces)
    for (const std::string& payload : kPayloads) {
      if (kSanitized && ++turn % 4 != 0) continue;
      Json config = base();
      config[Json::json_pointer(place)] = payload;
      const std::string path = folder.write("x.json", config.dump());
      // Each place and each string in three forms. All pairs would take minutes.
      const std::vector<std::string> forms{"table", "json", "markdown", "csv", "html", "github"};
      for (std::size_t i = 0; i < 3; ++i) {
        const std::string& form = forms[(turn + i * 2 + turn / 6) % forms.size()];
        check({path, "--assume", "--format", form}, form);
      }
      const std::vector<std::vector<std::string>> commands{
          {"explain", path},
          {"fit", path, "--gpu", "l40s", "--format", "markdown"},
          {"compare", path, "--format", "csv"},
          {"compare", path, "--format", "markdown"},
          {path, path, "--gpu", "l40s,h100-80gb", "--format", "markdown"},
          {path, "testdata/configs/qwen3-0.6b.json", "--format", "csv"},
          {"diff", path, "testdata/configs/qwen3-0.6b.json"},
          {path, "--engine", "vllm", "--format", "github"}};
      std::vector<std::string> words = commands[turn % commands.size()];
      words.emplace_back("--assume");
      const auto format = std::find(words.begin(), words.end(), "--format");
      check(words, format == words.end() ? "table" : *(format + 1));
      ++turn;
    }
}

// fuzz_printed found this: a word wider than the page was broken before "::", so "::" started a line.
TEST_CASE("injection: a word that the page wraps does not begin a line with a command") {
  const TemporaryFolder folder;
  for (const std::string colons : {"::", "::::::::"})
    for (std::size_t length = 55; length < 78; ++length) {
      Json config = base();
      config["quantization_config"]["quant_method"] = std::string(length, 'x') + colons + "error::y";
      const Run run = run_program({folder.write("x.json", config.dump()), "--assume"}, "/dev/null");
      REQUIRE(run.exit == 0);
      std::istringstream lines(run.out);
      for (std::string line; std::getline(lines, line);) {
        const std::size_t first = line.find_first_not_of(' ');
        if (first != std::string::npos) CHECK_FALSE_MESSAGE(line.substr(first).starts_with("::"), line);
      }
    }
}

TEST_CASE("injection: a file's name, in every form") {
  const TemporaryFolder folder;
  for (const std::string name :
       {"=1+1.json", "-rf.json", "@x.json", "::error::x.json", "a\x1b[31mb\n.json", "\u009b\u202e.json",
        "\xff\xfe.json", "##[add-mask]x.json", "$(id)'`;.json", "a b\"c.json"}) {
    const std::string path = folder.write(name, base().dump());
    for (const char* form : {"table", "json", "markdown", "csv", "html", "github"})
      check({path, "--format", form}, form);
    check({path, "testdata/configs/qwen3-0.6b.json", "--format", "csv"}, "csv");
    check({path, "--engine", "vllm", "--format", "k8s"}, "k8s");
    check({path, "--engine", "vllm", "--format", "args"}, "args");
  }
}

TEST_CASE("injection: a token in the wrong place is not repeated") {
  const std::string token = "hf_abcdefghijklmnopqrstuvwxyz01234567";
  const std::string model = "testdata/configs/llama-3.1-8b.json";
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{token},
                                             {"@" + token},
                                             {"diff", token, model},
                                             {model, "--gpu", token},
                                             {model, "--lora", token},
                                             {model, "--draft", token},
                                             {model, "--engine", token},
                                             {model, "--calibration", token},
                                             {model, "--weights", token},
                                             {"check-log", model, token},
                                             {model, "-o", "/nowhere/" + token}}) {
    CAPTURE(text_of(words));
    const Run run = run_program(words, "/dev/null", {"HF_HUB_OFFLINE=1"});
    CHECK(run.exit >= 2);
    CHECK((run.out + run.err).find("abcdefghijklmnop") == std::string::npos);
  }
}

}  // namespace
}  // namespace kvplan
