#include <doctest/doctest.h>

#include "engines/requests.h"
#include "kvplan/error.h"
#include "plan/plan.h"
#include "support/figures.h"

namespace kvplan {
namespace {

TEST_CASE("A mix of lengths: slabs, pages and a shared prefix") {
  const ModelSpec model = test_model("llama-3.1-8b");  // 131072 B a token
  Request request = request_for("sglang", 32768);
  request.block_size = 16;
  request.seq_lens = {Tokens(500), Tokens(2048), Tokens(8192)};
  request.shared_prefix = Tokens(300);
  const Plan plan = make_plan(model, request);
  REQUIRE(plan.mix.has_value());
  CHECK(plan.mix->sequences == 3);
  CHECK(plan.mix->needed == Bytes(std::uint64_t{500 + 2048 + 8192} * 131072));
  CHECK(plan.mix->slab == Bytes(std::uint64_t{3 * 32768} * 131072));
  CHECK(plan.mix->pages == Bytes(std::uint64_t{512 + 2048 + 8192} * 131072));
  CHECK(plan.mix->page_table == Bytes((32 + 128 + 512) * 4));
  CHECK(plan.mix->shared_saving == Bytes(std::uint64_t{2 * 288} * 131072));  // whole pages, stored once
  request.seq_lens = {Tokens(40000)};
  CHECK_THROWS_AS(make_plan(model, request), Error);
  request.seq_lens = {Tokens(200)};
  CHECK_THROWS_AS(make_plan(model, request), Error);  // shorter than its prefix
}

TEST_CASE("A mix of mean length stands for every sequence") {
  const ModelSpec model = test_model("gpt-oss-20b");
  Request request = request_for("transformers", 4096);
  request.num_seqs = 4;
  request.avg_len = Tokens(100);
  const Plan plan = make_plan(model, request);
  REQUIRE(plan.mix.has_value());
  CHECK(plan.mix->needed == Bytes(std::uint64_t{4 * 100} * 49152));
  CHECK(plan.mix->block_size == 16);
  CHECK_FALSE(plan.mix->engine_pages);
  // A slab holds all tokens of the full layers and the window of the others.
  CHECK(plan.mix->slab == Bytes(std::uint64_t{4 * 24576} * (4096 + 128)));
  CHECK_FALSE(make_plan(model, request_for("transformers", 4096)).mix.has_value());
}

}  // namespace
}  // namespace kvplan
