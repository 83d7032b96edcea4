// Folders with several files. If exactly one can be the model, kvplan takes it. Otherwise it does not guess.
#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "support/gguf_writer.h"
#include "support/program.h"

namespace kvplan {
namespace {

std::string model() {
  return GgufWriter("llama")
      .u32(".block_count", 2)
      .u32(".context_length", 4096)
      .u32(".embedding_length", 4096)
      .u32(".attention.head_count", 32)
      .file();
}

TEST_CASE("a folder with a model and its projector is the model") {
  const TemporaryFolder folder;
  folder.write("mmproj-f16.gguf", GgufWriter("clip").file());
  folder.write("model-Q8_0.gguf", model());
  const Run run = run_program({folder.path(), "--json"});
  CHECK(run.exit == 0);
  CHECK(run.err.empty());
}

TEST_CASE("a folder with two models of one type is an error that names them") {
  const TemporaryFolder folder;
  folder.write("a-Q8_0.gguf", model());
  folder.write("b-Q8_0.gguf", model());
  const Run run = run_program({folder.path(), "--json"});
  CHECK(run.exit == 2);
  CHECK(run.out.empty());
  CHECK(run.err.find("a-Q8_0.gguf") != std::string::npos);
}

TEST_CASE("anything at the path of hf_quant_config.json is read or refused, never ignored") {
  const TemporaryFolder folder;
  folder.write("config.json",
               R"({"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 2, "num_attention_heads": 32,
                   "intermediate_size": 11008, "vocab_size": 1000, "torch_dtype": "bfloat16"})");
  CHECK(run_program({folder.path(), "--json"}).exit == 0);
  const std::string quantized = folder.write("hf_quant_config.json", "");
  Run run = run_program({folder.path(), "--json"});
  CHECK(run.exit == 2);
  CHECK(run.err.find("hf_quant_config.json is empty") != std::string::npos);
  std::filesystem::remove(quantized);
  std::filesystem::create_directory(quantized);
  run = run_program({folder.path(), "--json"});
  CHECK(run.exit == 2);
  CHECK(run.err.find("hf_quant_config.json is not a file") != std::string::npos);
}

}  // namespace
}  // namespace kvplan
