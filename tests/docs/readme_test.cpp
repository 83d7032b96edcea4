// The screens in the documentation are what the program prints, and their commands run.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "support/gguf_writer.h"
#include "support/program.h"
#include "support/words.h"

namespace {

// Re-runs every screen of a page, and with KVPLAN_UPDATE_GOLDEN writes what is printed now.
void check_screens(const std::string& path) {
  CAPTURE(path);
  const std::string file = std::string(KVPLAN_SOURCE_DIR) + "/" + path;
  std::ifstream page(file);
  REQUIRE(page.good());
  int screens = 0;
  std::string command;
  std::string shown;
  std::string updated;
  bool inside = false;
  for (std::string line; std::getline(page, line);) {
    if (line == "```console") {
      inside = true;
      command.clear();
      shown.clear();
    } else if (inside && line == "```") {
      inside = false;
      ++screens;
      CAPTURE(command);
      // The pages' models are in the catalogue, so that their commands run in any folder.
      CHECK(command.find("testdata/") == std::string::npos);
      std::string printed =
          kvplan::run_program(kvplan::words_of(command), "/dev/null", {"HF_HUB_OFFLINE=1", "HF_HOME=/nonexistent"}).out;
      // A screen that ends with "..." shows the first lines.
      if (shown.ends_with("\n...\n")) {
        std::size_t end = 0;
        for (auto lines = std::count(shown.begin(), shown.end(), '\n'); lines > 1; --lines)
          end = std::min(printed.find('\n', end), printed.size() - 1) + 1;
        printed = printed.substr(0, end) + "...\n";
      }
      CHECK(printed == shown);
      updated += printed;
    } else if (inside && line.starts_with("$ kvplan")) {
      command = line.substr(8);
    } else if (inside) {
      shown += line + "\n";
      continue;
    }
    updated += line + "\n";
  }
  CHECK(screens >= 1);
  if (std::getenv("KVPLAN_UPDATE_GOLDEN") != nullptr) std::ofstream(file) << updated;
}

}  // namespace

TEST_CASE("docs/*.md: the pages show what kvplan prints") {
  for (const char* page : {"README.md", "docs/compare.md", "docs/extras.md", "docs/fit.md", "docs/fleet.md"})
    check_screens(page);
}

TEST_CASE("docs/*.svg: the pages' pictures are what kvplan draws") {
  const std::string before = "<!-- kvplan ", after = " -->";
  int pictures = 0;
  for (const std::string path : {"README.md", "docs/fleet.md"}) {
    std::ifstream page(std::string(KVPLAN_SOURCE_DIR) + "/" + path);
    std::string command;
    for (std::string line; std::getline(page, line);) {
      if (line.starts_with(before) && line.ends_with(after))
        command = line.substr(before.size(), line.size() - before.size() - after.size());
      const std::size_t from = line.find("](");
      if (!line.starts_with("![") || command.empty() || from == std::string::npos) continue;
      ++pictures;
      const std::string folder = KVPLAN_SOURCE_DIR "/" + path.substr(0, path.rfind('/') + 1);
      const std::string file = folder + line.substr(from + 2, line.find(')', from) - from - 2);
      CAPTURE(file);
      const kvplan::Run run = kvplan::run_program(kvplan::words_of(std::exchange(command, "")));
      CHECK(run.exit == 0);
      if (std::getenv("KVPLAN_UPDATE_GOLDEN") != nullptr) std::ofstream(file) << run.out;
      std::ostringstream shown;
      shown << std::ifstream(file).rdbuf();
      CHECK(shown.str() == run.out);
    }
  }
  CHECK(pictures >= 1);
}

// Placeholders in the documentation's commands, and the files that replace them here.
std::string named_here(const std::string& word, const kvplan::TemporaryFolder& folder) {
  static const std::string kConfig = "testdata/configs/llama-3.1-8b.json";
  for (const auto& [placeholder, file] :
       std::vector<std::pair<std::string, std::string>>{{"config.json", kConfig},
                                                        {"./Llama-3.1-8B/config.json", kConfig},
                                                        {"*.json", "testdata/configs"},
                                                        {"before.json", kConfig},
                                                        {"after.json", "testdata/configs/qwen3-0.6b.json"},
                                                        {"model.gguf", folder.path() + "/model.gguf"},
                                                        {"server.log", folder.path() + "/server.log"},
                                                        {"start.sh", folder.path() + "/start.sh"},
                                                        {"plan.html", folder.path() + "/plan.html"},
                                                        {"@models.txt", "@" + folder.path() + "/models.txt"}})
    if (word == placeholder) return file;
  return word;
}

// A line as a shell reads it: the last command of a pipe, without comments and redirected input.
std::vector<std::string> command_words(std::string line, const kvplan::TemporaryFolder& folder) {
  if (const std::size_t comment = line.find("   "); comment != std::string::npos) line.resize(comment);
  if (const std::size_t pipe = line.find("| kvplan "); pipe != std::string::npos) line.erase(0, pipe + 2);
  if (!line.starts_with("kvplan ")) return {};
  // A program that ends at once replaces the engine.
  if (const std::size_t engine = line.find(" -- "); line.find("--watch") < engine && engine != std::string::npos)
    line.replace(engine, line.size(), " -- true");
  std::vector<std::string> words = kvplan::words_of(line.substr(7, line.find(" < ") - 7));
  for (std::string& word : words) word = named_here(word, folder);
  return words;
}

TEST_CASE("the pages' commands are valid commands of kvplan") {
  const kvplan::TemporaryFolder folder;
  const std::string log = folder.write("server.log",
                                       "INFO 11-01 10:00:00 [core.py:1] Initializing a V1 LLM engine (v0.11.0)\n"
                                       "INFO 11-01 10:00:09 [gpu_worker.py:1] Available KV cache memory: 4.20 GiB\n"
                                       "INFO 11-01 10:00:09 [kv_cache_utils.py:1] GPU KV cache size: 34,400 tokens\n");
  std::ostringstream models;
  models << KVPLAN_SOURCE_DIR << "/testdata/configs/qwen3-0.6b.json\n";
  folder.write("models.txt", models.str());
  const std::string script = folder.write("start.sh", "vllm serve testdata/configs/qwen3-0.6b.json\n");
  folder.write("model.gguf", kvplan::GgufWriter("llama")
                                 .u32(".block_count", 2)
                                 .u32(".embedding_length", 64)
                                 .u32(".context_length", 65536)
                                 .u32(".feed_forward_length", 128)
                                 .u32(".attention.head_count", 4)
                                 .tensor({"token_embd.weight", {64, 100}, 1, 64 * 100 * 2})
                                 .file());
  int commands = 0;
  for (const char* name :
       {"README.md", "docs/ci.md", "docs/commands.md", "docs/compare.md", "docs/extras.md", "docs/failing-starts.md",
        "docs/fit.md", "docs/fleet.md", "docs/measure.md", "docs/models.md", "docs/verify.md"}) {
    std::ifstream page(std::string(KVPLAN_SOURCE_DIR) + "/" + name);
    REQUIRE(page.good());
    bool inside = false;
    for (std::string line; std::getline(page, line);) {
      if (line.starts_with("```")) {
        inside = line == "```sh";
        continue;
      }
      const std::vector<std::string> words = inside ? command_words(line, folder) : std::vector<std::string>{};
      if (words.empty()) continue;
      ++commands;
      CAPTURE(name);
      CAPTURE(line);
      const bool reads_log = line.find("| kvplan check-log") != std::string::npos;
      const bool reads_command = line.find("--command -") != std::string::npos;
      const bool reads_config = line.find(" < ") != std::string::npos;
      const kvplan::Run run = kvplan::run_program(
          words,
          reads_log       ? log
          : reads_command ? script
          : reads_config  ? "testdata/configs/llama-3.1-8b.json"
                          : "/dev/null",
          {"HF_HUB_OFFLINE=1", "KVPLAN_CACHE=" + folder.path(), "HF_HOME=" + folder.path(), "HOME=" + folder.path()});
      CAPTURE(run.err);
      // A result, or an error for a model, GPU or engine that is not available here. Wrong usage would be exit code 2.
      CHECK((run.exit == 0 || run.exit == 1 || run.exit == 4 || run.exit == 5));
    }
  }
  CHECK(commands >= 25);
}
