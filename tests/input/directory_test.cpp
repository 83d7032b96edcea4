// Folders that hold more than one file: the model is the one that can be it, or nobody guesses.
#include <doctest/doctest.h>

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

}  // namespace
}  // namespace kvplan
