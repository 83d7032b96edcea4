// Tables of models and GPUs: every cell agrees with plan and fit.
#include "plan/questions.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "kvplan/gpus.h"
#include "plan/plan_cache.h"
#include "plan/search.h"
#include "support/figures.h"

namespace kvplan {
namespace {

TEST_CASE("grid: a cell has the plan's verdict and the longest context of fit") {
  const std::vector<const Gpu*> cards{find_gpu("rtx-3060"), find_gpu("rtx-4090"), find_gpu("h100-80gb")};
  for (const char* name : {"llama-3.1-8b", "gpt-oss-20b", "falcon-h1-1.5b"}) {
    const ModelSpec model = test_model(name);
    Request request;
    request.max_model_len = Tokens(32768);
    request.num_seqs = 2;
    for (const GridRow& row :
         grid_rows(model, request, {"vllm", "llama.cpp", "transformers"}, {"bfloat16", "int4"}, cards)) {
      REQUIRE(row.cells.size() == cards.size());
      for (std::size_t c = 0; c < cards.size(); ++c) {
        const GridCell& cell = row.cells[c];
        CAPTURE(name);
        CAPTURE(row.engine);
        CAPTURE(row.weights);
        CAPTURE(cards[c]->name);
        Request here = request;
        here.engine = engine_named(row.engine);
        here.weights = row.weights;
        here.card.gpu = cards[c];
        PlanCache cache(model);
        lower_seqs_cap(cache, here);
        const Plan plan = make_plan(model, here);
        CHECK(cell.verdict.status == plan.verdict.status);
        CHECK(cell.verdict.headroom == plan.verdict.headroom);
        if (plan.verdict.status == Verdict::kPartlyOnCpu) continue;  // the longest context depends on the placement
        here.parallel.given = true;
        CHECK(cell.longest == std::min(longest_that_fits(model, here), model.max_model_len.count()));
        if (c > 0 && row.cells[c - 1].verdict.status != Verdict::kPartlyOnCpu)
          CHECK(cell.longest >= row.cells[c - 1].longest);
      }
    }
  }
}

TEST_CASE("grid: a model that an engine refuses has a separate row") {
  const ModelSpec model = test_model("llama-3.1-8b");
  Request request;
  request.cache_type_k = request.cache_type_v = Dtype::kQ8_0;
  const std::vector<GridRow> rows = grid_rows(model, request, {"llama.cpp", "vllm"}, {}, {find_gpu("rtx-4090")});
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].error.empty());
  CHECK(rows[1].cells.empty());
  CHECK(rows[1].exit == Exit::kBadInput);
  Grid grid;
  grid.rows = rows;
  CHECK(worst_of(grid) == Exit::kBadInput);
}

TEST_CASE("grid: plans with a shared cache equal separate plans") {
  const ModelSpec model = test_model("deepseek-v3");
  PlanCache cache(model);
  for (const Engine& engine : engines()) {
    for (const char* card : {"h100-80gb", "b200-180gb"}) {
      for (const std::uint64_t count : {1U, 8U}) {
        for (const std::uint64_t tokens : {100U, 4096U, 100000U}) {
          Request request;
          request.engine = &engine;
          request.card.gpu = &parse_gpu(card);
          request.card.count = count;
          request.max_model_len = Tokens(tokens);
          CAPTURE(engine.name);
          CAPTURE(card);
          CAPTURE(count);
          CAPTURE(tokens);
          std::optional<Plan> alone, shared;
          try {
            alone = make_plan(model, request);
          } catch (const Error&) {
          }
          try {
            shared = make_plan(cache, request);
          } catch (const Error&) {
          }
          REQUIRE(alone.has_value() == shared.has_value());
          if (!alone) continue;
          CHECK(alone->total.bytes == shared->total.bytes);
          CHECK(alone->total.high == shared->total.high);
          CHECK(alone->verdict.headroom == shared->verdict.headroom);
          CHECK(alone->verdict.status == shared->verdict.status);
          CHECK(alone->request.parallel.tensor == shared->request.parallel.tensor);
          CHECK(alone->notes.size() == shared->notes.size());
        }
      }
    }
  }
}

TEST_CASE("fit without a GPU only offers GPUs that the engine runs on") {
  const ModelSpec model = test_model("llama-3.1-8b");
  for (const Engine& engine : engines()) {
    Request request;
    request.engine = &engine;
    request.max_model_len = Tokens(8192);
    const Answers answers = fit_model(model, request);
    CAPTURE(engine.name);
    REQUIRE_FALSE(answers.rows.empty());
    Bytes smallest = answers.rows.front().plan.request.card.gpu->budget();
    for (const Answer& answer : answers.rows) {
      const Gpu& gpu = *answer.plan.request.card.gpu;
      CHECK(runs_on(engine, gpu));
      CHECK(gpu.budget() >= smallest);
      smallest = gpu.budget();
    }
    // No smaller GPU that the engine runs on fits the request.
    for (const Gpu& gpu : gpus()) {
      if (!runs_on(engine, gpu) || gpu.budget() >= answers.rows.front().plan.request.card.gpu->budget()) continue;
      Request on = request;
      on.card.gpu = &parse_gpu(std::string(gpu.name));
      CAPTURE(gpu.name);
      CHECK(make_plan(model, with_reserve(on)).verdict.status != Verdict::kFits);
    }
  }
  const auto runs = [](const char* name, const char* card) {
    Request request;
    return runs_on(find_engine(name, request), parse_gpu(card));
  };
  CHECK_FALSE(runs("tensorrt-llm", "mi300x"));
  CHECK_FALSE(runs("tensorrt-llm", "t4"));
  CHECK(runs("tensorrt-llm", "a100-80gb"));
  CHECK_FALSE(runs("vllm", "m4-max"));
  CHECK_FALSE(runs("mlx", "h100"));
  CHECK(runs("mlx", "m4-max"));
  CHECK(runs("llama.cpp", "m4-max"));
  CHECK(runs("vllm", "gaudi3"));
  CHECK_FALSE(runs("vllm", "p40"));
}

}  // namespace
}  // namespace kvplan
