// One number for the longest context: the plan's, for every command and output format.
#include <doctest/doctest.h>

#include <algorithm>

#include "engines/engine.h"
#include "kvplan/error.h"
#include "plan/questions.h"
#include "plan/search.h"
#include "support/figures.h"

namespace kvplan {
namespace {

const Answer* answer_called(const Answers& answers, std::string_view name) {
  for (const Answer& answer : answers.rows)
    if (answer.name == name) return &answer;
  return nullptr;
}

bool starts_at(PlanCache& cache, Request request, std::uint64_t tokens) {
  request.max_model_len = Tokens(tokens);
  return make_plan(cache, request).verdict.status == Verdict::kFits;
}

// Requests for which different rules decide what fits.
std::vector<Request> kinds_of_requests() {
  std::vector<Request> out(7);
  out[1].num_seqs = 16;
  out[2].num_seqs = 32;
  out[2].avg_len = Tokens(1024);
  out[3].limits.max_vram = Bytes(std::uint64_t{20} << 30);
  out[4].limits.reserve = Reserve{Bytes(std::uint64_t{2} << 30), 0};
  out[5].seq_lens = {Tokens(1024), Tokens(3000)};
  out[6].card.host_memory = Bytes(std::uint64_t{16} << 30);
  return out;
}

}  // namespace

TEST_CASE("the longest context is one number: plan, fit, auto, compare and grid") {
  const std::vector<Request> kinds = kinds_of_requests();
  std::size_t turn = 0;
  int answered = 0, capped = 0;
  for (const char* name : {"llama-3.1-8b", "qwen3-0.6b", "gemma-4-26b", "gpt-oss-20b", "mamba-2.8b", "falcon-mamba-7b",
                           "rwkv7-2.9b", "whisper-medium", "t5-large", "recurrentgemma-2b", "falcon-h1-1.5b"}) {
    const ModelSpec model = test_model(name);
    for (const Engine& engine : engines()) {
      for (const char* card : {"l4", "h100-80gb"}) {
        Request request = kinds[turn++ % kinds.size()];
        request.engine = &engine;
        request.card.gpu = &parse_gpu(card);
        request.llama_cpp.placement = Placement::kNone;  // at another length more may be in main memory
        CAPTURE(name);
        CAPTURE(engine.name);
        CAPTURE(card);
        CAPTURE((turn - 1) % kinds.size());
        PlanCache cache(model);
        std::optional<Plan> plan;
        try {
          plan = make_plan(cache, request);
        } catch (const Error&) {
          continue;  // this engine does not have the model
        }
        REQUIRE(plan->capacity.has_value());
        const auto [longest, by_memory] =
            std::pair(plan->capacity->max_model_len, plan->capacity->max_model_len_by_memory);
        const Tokens own = plan->model->max_model_len;
        CHECK(longest == (own > Tokens(0) ? std::min(by_memory, own.count()) : by_memory));
        if (!engine.is_logical && model.max_model_len == Tokens(0) && engine.assumed_length > Tokens(0))
          CHECK(longest <= engine.assumed_length.count());
        const std::vector<GridRow> rows = grid_rows(model, request, {}, {}, {find_gpu(card)});
        REQUIRE(rows.front().cells.size() == 1);
        CHECK(rows.front().cells.front().longest == longest);
        CHECK(rows.front().cells.front().most_seqs == plan->capacity->max_num_seqs);
        for (const Answer& answer : compare_types(model, request, {}).rows)
          if (answer.changes.empty()) CHECK(answer.plan.capacity->max_model_len == longest);
        // A refusal does not depend on the length, and an encoder may run although its weights are unknown.
        if (plan->verdict.refusal || longest == 0) continue;
        ++answered;
        capped += by_memory > longest ? 1 : 0;
        const Answers answers = fit_model(model, request);
        const Answer* found = answer_called(answers, "longest_context");
        REQUIRE(found != nullptr);
        CHECK(found->plan.capacity->max_model_len == longest);
        CHECK(found->plan.verdict.status == Verdict::kFits);
        const std::string& option = found->changes.front().second;
        const std::uint64_t slots =
            engine.slot_tokens != nullptr ? request.sequences() : 1;  // -c is the total over all slots
        CHECK(option == std::to_string(slots * (longest < kAnyCount ? longest : plan->load.max_model_len.count())));
        if (const Answer* most = answer_called(answers, "most_sequences"))
          CHECK(most->plan.capacity->max_num_seqs == plan->capacity->max_num_seqs);
        if (longest >= kAnyCount) continue;
        Request automatic = request;
        automatic.longest = true;
        CHECK(make_plan(cache, automatic).load.max_model_len == Tokens(longest));
        Request free = request;
        free.limits.reserve.reset();
        CHECK(starts_at(cache, free, longest));
        if (longest == by_memory && own.count() != longest) CHECK_FALSE(starts_at(cache, free, longest + 1));
      }
    }
  }
  CHECK(answered > 80);
  CHECK(capped > 20);
}

TEST_CASE("a reserve changes layouts and remedies, never what fits") {
  const ModelSpec model = test_model("llama-3.1-8b");
  for (const Engine& engine : engines()) {
    Request request;
    request.engine = &engine;
    request.card.gpu = &parse_gpu("l4");
    request.max_model_len = Tokens(4096);
    const Answers plain = fit_model(model, request);
    request.limits.reserve = Reserve{Bytes(std::uint64_t{1} << 30), 0};
    const Answers kept = fit_model(model, request);
    CAPTURE(engine.name);
    for (const char* name : {"longest_context", "most_sequences"}) {
      const Answer* before = answer_called(plain, name);
      const Answer* after = answer_called(kept, name);
      REQUIRE((before == nullptr) == (after == nullptr));
      if (before == nullptr) continue;
      CHECK(before->plan.total.bytes == after->plan.total.bytes);
      CHECK(std::find(after->changes.begin(), after->changes.end(),
                      std::pair<std::string, std::string>("--reserve", "0%")) != after->changes.end());
    }
  }
}

}  // namespace kvplan
