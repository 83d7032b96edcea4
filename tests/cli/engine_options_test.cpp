#include "cli/shell.h"

#include <doctest/doctest.h>

#include "cli/options.h"
#include "engines/engine.h"
#include "kvplan/error.h"
#include "kvplan/strings.h"
#include "support/gguf_writer.h"
#include "support/program.h"

namespace kvplan {
namespace {

TEST_CASE("Every option that only one engine has is an option of kvplan") {
  for (const Engine& engine : engines())
    for (const std::string_view own : split(engine.options)) {
      bool found = false;
      for (const Option& option : options()) found = found || option.names.substr(0, option.names.find(' ')) == own;
      CHECK_MESSAGE(found, std::string(own));
    }
}

TEST_CASE("An option that the engine does not have names the engines that do") {
  const Run run = run_program({"testdata/configs/llama-3.1-8b.json", "--engine", "transformers", "--block-size", "16"});
  CHECK(run.exit == 2);
  CHECK(run.out.empty());
  CHECK(run.err.find("sglang") != std::string::npos);
  CHECK(run_program({"testdata/configs/llama-3.1-8b.json", "--engine", "sglang", "--block-size", "16"}).exit == 0);
  CHECK(run_program({"testdata/configs/llama-3.1-8b.json", "--engine", "mlx", "--enable-dp-attention"}).exit == 2);
}

TEST_CASE("Several engines give a fleet of one model, or one table") {
  const std::vector<std::string> arguments{"testdata/configs/gpt-oss-20b.json", "--engine", "sglang,transformers@4.57"};
  const Run table = run_program(arguments);
  CHECK(table.exit == 0);
  CHECK(table.out.find("What explains the differences") != std::string::npos);
  CHECK(table.out.find("transformers 4.57") != std::string::npos);
  std::vector<std::string> json = arguments;
  json.push_back("--json");
  CHECK(run_program(json).out.find("\"plans\"") != std::string::npos);
  CHECK(run_program({"compare", "testdata/configs/gpt-oss-20b.json", "--engine", "sglang,mlx"}).exit == 0);
  CHECK(run_program({"testdata/configs/gpt-oss-20b.json", "--engine", "sglang,"}).exit == 2);
}

TEST_CASE("A GGUF is planned in the engine that runs it") {
  const TemporaryFolder folder;
  const std::string file = GgufWriter("llama")
                               .u32(".block_count", 2)
                               .u32(".embedding_length", 64)
                               .u32(".context_length", 4096)
                               .u32(".feed_forward_length", 128)
                               .u32(".attention.head_count", 4)
                               .tensor({"token_embd.weight", {64, 100}, 1, 64 * 100 * 2})
                               .file();
  const std::string path = folder.write("model.gguf", file);
  CHECK(run_program({path, "--json"}).out.find("\"engine\": \"llama.cpp\"") != std::string::npos);
  CHECK(run_program({path, "-ngl", "1", "--json"}).out.find("option_of_an_engine") == std::string::npos);
  CHECK(run_program({path, "--engine", "logical", "--json"}).out.find("\"engine\": \"logical\"") != std::string::npos);
  CHECK(run_program({path, "--enforce-eager"}).exit == 2);
  CHECK(implied_engine("ollama:qwen3:32b") == "ollama");
  CHECK(implied_engine("llama.cpp:org/name") == "llama.cpp");
  CHECK(implied_engine("config.json").empty());
}

}  // namespace
}  // namespace kvplan
