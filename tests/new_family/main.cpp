// A new family is one file and one line. They are enough to plan its models and count their parameters, with a note
// that they are unverified. CMakeLists.txt in this folder adds the line.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cstdint>
#include <string>

#include "models/family.h"
#include "models/read.h"
#include "plan/plan.h"
#include "weights/weigh.h"

namespace kvplan {
namespace {

TEST_CASE("a family added as CONTRIBUTING describes") {
  const ModelSpec model = read_config(
      R"({"model_type":"scratch_lm","architectures":["ScratchForCausalLM"],"hidden_size":1024,"num_hidden_layers":4,
          "num_attention_heads":16,"num_key_value_heads":4,"head_dim":64,"intermediate_size":4096,"vocab_size":32000,
          "max_position_embeddings":8192,"dtype":"bfloat16","tie_word_embeddings":false})",
      "", "scratch", {});
  CHECK(model.family == "plain");
  CHECK(model.known_as == &find_family("scratch_lm")->is);
  REQUIRE(model.notes.size() == 1);
  CHECK(model.notes.front().code == "unverified");

  // Queries and outputs of 16 heads, keys and values of 4, a gated MLP, norms of the layer and of its heads.
  constexpr std::uint64_t kLayer = 2 * 1024 * 1024 + 2 * 256 * 1024 + 3 * 4096 * 1024 + 2 * 1024 + 2 * 64;
  CHECK(count_parameters(model).total == 4 * kLayer + 2 * 32000 * 1024 + 1024);

  Request request;
  request.max_model_len = Tokens(4096);
  request.engine = engine_named("vllm");
  // 4 layers of 2 x 4 heads of 64 numbers in 16 bits, and the spare page of each.
  const Plan plan = make_plan(model, request);
  CHECK(plan.kv_cache.logical == Bytes(std::uint64_t{4096} * 4 * 2 * 4 * 64 * 2));
}

TEST_CASE("the program's own families are unchanged") {
  CHECK(find_family("llama") != nullptr);
  CHECK(find_family("zaya") != nullptr);
}

}  // namespace
}  // namespace kvplan
