#include <doctest/doctest.h>

#include "engines/requests.h"
#include "kvplan/error.h"
#include "plan/questions.h"
#include "report/words.h"
#include "support/figures.h"

namespace kvplan {
namespace {

TEST_CASE("A mix of lengths: caches per sequence, pages and a shared prefix") {
  const ModelSpec model = test_model("llama-3.1-8b");  // 131072 B per token
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
  CHECK(plan.mix->shared_saving == Bytes(std::uint64_t{2 * 288} * 131072));  // whole pages are stored once
  request.seq_lens = {Tokens(40000)};
  CHECK_THROWS_AS(make_plan(model, request), Error);
  request.seq_lens = {Tokens(200)};
  CHECK_THROWS_AS(make_plan(model, request), Error);  // a sequence that is shorter than the prefix
}

TEST_CASE("A shared prefix is stored once in whole blocks, and states are not shared") {
  Request request = request_for("vllm", 4096);
  request.card.gpu = &parse_gpu("h100-80gb");
  request.num_seqs = 8;
  request.avg_len = Tokens(3001);
  request.shared_prefix = Tokens(1003);
  // The first sequence has 188 blocks of 16 tokens. The others share 62 of them.
  const Plan paged = make_plan(test_model("llama-3.1-8b"), request);
  CHECK(paged.verdict.needed == Bytes(std::uint64_t{188 + 7 * (188 - 62)} * 16 * 131072));
  request.engine = engine_named("logical");
  const Plan bytes = make_plan(test_model("llama-3.1-8b"), request);
  CHECK(bytes.kv_cache.reserved == Bytes(std::uint64_t{1003 + 8 * (3001 - 1003)} * 131072));
  // Every sequence has a separate state, so nothing is saved.
  const Plan states = make_plan(test_model("falcon-mamba-7b"), request);
  CHECK(states.kv_cache.reserved > Bytes(0));
  CHECK(states.verdict.spared == Bytes(0));
  // A window of 128 tokens after the prefix is not shared.
  const Plan windows = make_plan(test_model("gpt-oss-20b"), request);
  const std::uint64_t full = 1003 + 8 * (3001 - 1003);
  CHECK(windows.kv_cache.reserved == Bytes((full + 8 * 128) * 24576));
}

TEST_CASE("An average length applies to every sequence") {
  const ModelSpec model = test_model("gpt-oss-20b");
  Request request = request_for("transformers", 4096);
  request.num_seqs = 4;
  request.avg_len = Tokens(100);
  const Plan plan = make_plan(model, request);
  REQUIRE(plan.mix.has_value());
  CHECK(plan.mix->needed == Bytes(std::uint64_t{4 * 100} * 49152));
  CHECK(plan.mix->block_size == 16);
  CHECK_FALSE(plan.mix->engine_pages);
  // A slab has all tokens of the full layers and the window of the others.
  CHECK(plan.mix->slab == Bytes(std::uint64_t{4 * 24576} * (4096 + 128)));
  CHECK_FALSE(make_plan(model, request_for("transformers", 4096)).mix.has_value());
}

// In half of the engines this was once an error: contexts below a given length were tried and counted as fitting.
TEST_CASE(
    "Every engine plans users with an average length, in a context that is long enough and within the model's "
    "maximum") {
  const ModelSpec model = test_model("llama-3.1-8b");
  for (const Engine& engine : engines()) {
    CAPTURE(engine.name);
    Request request;
    request.engine = &engine;
    request.card.gpu = &parse_gpu("h200-141gb");
    request.num_seqs = 64;
    request.users = true;
    request.avg_len = Tokens(8192);
    const Answers answers = fit_model(model, request);
    for (const Answer& answer : answers.rows) {
      CHECK(answer.plan.load.max_model_len >= Tokens(8192));
      CHECK(answer.plan.load.max_model_len <= Tokens(131072));
    }
    if (!engine.is_logical) CHECK(!answers.rows.empty());
  }
}

TEST_CASE("An engine that needs memory for one full sequence to start needs it for any given lengths") {
  Request request = request_for("vllm", 131072);
  request.card.gpu = &parse_gpu("rtx-4090");
  request.seq_lens = {Tokens(30720), Tokens(2048), Tokens(2048)};
  const Plan plan = make_plan(test_model("llama-3.1-8b"), request);
  CHECK(plan.verdict.status == Verdict::kDoesNotFit);
  CHECK(plan.verdict.needed == Bytes(std::uint64_t{131072} * 131072));  // 131,072 B per token
  CHECK_FALSE(plan.verdict.close);
  CHECK(request_text(plan).starts_with("3 sequences of 2,048 to 30,720 tokens (up to 131,072 tokens)"));
}

}  // namespace
}  // namespace kvplan
