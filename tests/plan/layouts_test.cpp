// Layouts of several GPUs: their order, and what fits in them.

#include <doctest/doctest.h>

#include <algorithm>

#include "kvplan/error.h"
#include "plan/questions.h"
#include "plan/search.h"
#include "support/figures.h"

namespace kvplan {
namespace {

Request deepseek(std::uint64_t gpus, std::uint64_t seqs) {
  Request request;
  request.engine = engine_named("vllm");
  request.card.gpu = &parse_gpu("h200-141gb");
  request.card.count = gpus;
  request.card.count_given = true;
  request.max_model_len = Tokens(16384);
  request.num_seqs = seqs;
  return request;
}

TEST_CASE("layouts: many sequences of an MLA model need copies, not tensor parallelism") {
  // 70,272 B per token, 64 sequences of 16,384 tokens: each of 8 tensor parallel ranks stores all of it, each of 8
  // copies an eighth.
  const std::uint64_t all = 70272ULL * 16384 * 64;
  const ModelSpec model = test_model("deepseek-v3");
  Request tensor = deepseek(8, 64);
  tensor.parallel.given = true;
  tensor.parallel.tensor = 8;
  CHECK(make_plan(model, tensor).kv_cache.logical_per_gpu.count() == all);
  CHECK(make_plan(model, tensor).verdict.status == Verdict::kDoesNotFit);

  const Plan chosen = make_plan(model, deepseek(8, 64));
  CHECK(layout_name(chosen.request.parallel) == "DP 8, EP");
  CHECK(chosen.kv_cache.logical_per_gpu.count() == all / 8);
  CHECK(chosen.verdict.status == Verdict::kFits);
  CHECK(chosen.memory.size() == 8);
  CHECK(chosen.verdict.runs_at_once >= 64);  // over all copies
  // One sequence cannot be divided over copies.
  CHECK(layout_name(make_plan(model, deepseek(8, 1)).request.parallel) == "TP 8");
}

TEST_CASE("layouts: the common ones, each with all GPUs, and none twice") {
  const ModelSpec model = test_model("deepseek-v3");
  PlanCache cache(model);
  for (const char* engine : {"vllm", "sglang", "llama.cpp", "transformers", "logical"}) {
    Request request = deepseek(8, 8);
    request.engine = engine_named(engine);
    std::vector<std::string> names;
    for (const Request& layout : layouts_of(cache, request, 8)) {
      CAPTURE(engine);
      CAPTURE(layout_name(layout.parallel));
      CHECK(layout.parallel.gpus() == 8);
      CHECK(layout.parallel.given);
      names.push_back(layout_name(layout.parallel));
    }
    std::sort(names.begin(), names.end());
    CHECK(std::adjacent_find(names.begin(), names.end()) == names.end());
    const auto has = [&](const char* name) { return std::binary_search(names.begin(), names.end(), name); };
    CHECK(has("TP 8"));
    CHECK(has("TP 4, PP 2"));
    CHECK(has("DP 8, EP") == (request.engine == engine_named("vllm")));
    CHECK(has("TP 8, DCP 8") == (request.engine == engine_named("vllm")));
    CHECK(has("TP 8, DP 8 (attention)") == (request.engine == engine_named("sglang")));
  }
}

TEST_CASE("layouts: the numbers of GPUs are those that people rent") {
  const ModelSpec model = test_model("deepseek-v3");
  Request request;
  request.engine = engine_named("vllm");
  request.card.gpu = &parse_gpu("h100-80gb");
  request.max_model_len = Tokens(32768);
  const Answers answers = fit_model(model, request);
  const auto is_layout = [](const Answer& answer) { return answer.name == "layout"; };
  const auto first = std::find_if(answers.rows.begin(), answers.rows.end(), is_layout);
  REQUIRE(first != answers.rows.end());
  // 671 GB of weights do not fit 8 GPUs of 80 GB.
  CHECK(first->plan.memory.size() == 16);
  CHECK(first->plan.request.parallel.pipeline <= 2);
  CHECK_FALSE(first->note.empty());
}

TEST_CASE("layouts: a request never fits fewer GPUs than its lower bound") {
  int held = 0;
  int bounded = 0;
  for (const char* config : {"deepseek-v3", "hunyuan-a13b", "llama-3.1-8b", "mixtral-8x7b", "nemotron-super-49b"}) {
    const ModelSpec model = test_model(config);
    PlanCache cache(model);
    for (const char* engine : {"vllm", "sglang", "llama.cpp", "transformers", "logical"}) {
      Request plain;
      plain.engine = engine_named(engine);
      plain.card.gpu = &parse_gpu("rtx-4090");
      plain.max_model_len = Tokens(16384);
      plain.num_seqs = 64;
      Request shared = plain;
      shared.avg_len = Tokens(16384);
      shared.shared_prefix = Tokens(16000);
      Request offloaded = plain;
      offloaded.num_seqs = 1;
      if (plain.engine == engine_named("vllm")) offloaded.cpu_offload = Bytes(40 * kGiB);
      for (Request request : {plain, shared, offloaded}) {
        request.parallel.given = true;
        const std::uint64_t fewest = fewest_cards(make_plan(cache, request));
        request.parallel.given = false;
        for (const std::uint64_t count : {1U, 2U, 4U, 8U, 16U, 32U}) {
          CAPTURE(config);
          CAPTURE(engine);
          CAPTURE(count);
          request.card.count = count;
          try {
            if (verdict_of(cache, request).status != Verdict::kFits) continue;
          } catch (const Error&) {
            continue;  // the engine refuses every layout
          }
          CHECK(fewest <= count);
          ++held;
          bounded += fewest > 1 ? 1 : 0;
          break;
        }
      }
    }
  }
  CHECK(held >= 50);
  CHECK(bounded > 10);  // a bound of 1 would mean nothing
}

TEST_CASE("reserve: the reserve is not part of the budget, and capacities are without a reserve") {
  const ModelSpec model = test_model("llama-3.1-8b");
  for (const char* engine : {"logical", "vllm", "llama.cpp", "sglang", "transformers"}) {
    CAPTURE(engine);
    Request request;
    request.engine = engine_named(engine);
    request.card.gpu = &parse_gpu("l40s");
    request.max_model_len = Tokens(8192);
    request.llama_cpp.placement = Placement::kNone;  // otherwise kvplan would move layers to main memory
    const Plan plain = make_plan(model, request);
    request.limits.reserve = Reserve{Bytes(kGiB), 0};
    const Plan kept = make_plan(model, request);
    REQUIRE(kept.verdict.status == Verdict::kFits);
    CHECK(plain.verdict.budget.count() - kept.verdict.budget.count() == kGiB);
    CHECK(plain.capacity->max_model_len == kept.capacity->max_model_len);
    CHECK_FALSE(plain.verdict.reserve.has_value());
    CHECK(kept.verdict.reserve == Bytes(kGiB));
    request.limits.reserve = Reserve{Bytes(0), 0.9};
    CHECK(make_plan(model, request).verdict.status == Verdict::kDoesNotFit);
  }
}

TEST_CASE("users: copies of a layout serve them all, and one copy less does not") {
  const ModelSpec model = test_model("llama-3.1-8b");
  Request request;
  request.engine = engine_named("vllm");
  request.card.gpu = &parse_gpu("rtx-4090");
  request.max_model_len = Tokens(8192);
  request.num_seqs = 500;
  request.users = true;
  PlanCache cache(model);
  const std::vector<UsersPlan> plans = layouts_for_users(cache, request);
  REQUIRE(!plans.empty());
  const UsersPlan* const found = &plans.front();
  const UsersAnswer& answer = found->answer;
  CHECK(answer.users == 500);
  CHECK(answer.of_a_copy * answer.copies >= 500);
  CHECK(answer.gpus == answer.copies * found->copy.parallel.gpus());
  CHECK(answer.nodes == (answer.gpus + 7) / 8);
  CHECK(make_plan(model, found->copy).verdict.status == Verdict::kFits);
  if (answer.copies > 1) {
    Request fewer = found->copy;
    fewer.num_seqs = (500 + answer.copies - 2) / (answer.copies - 1);
    fewer = with_reserve(fewer);
    CHECK(make_plan(model, fewer).verdict.status == Verdict::kDoesNotFit);
  }
}

TEST_CASE("users: the answer is a number of GPUs; with --gpu-count, the verdict is about that number") {
  // 100 x 4,096 tokens of 131,072 B are 50 GiB, and the weights are at least 15 GiB. 3 x 21.63 GiB are less.
  const ModelSpec model = test_model("llama-3.1-8b");
  Request request;
  request.engine = engine_named("vllm");
  request.card.gpu = &parse_gpu("rtx-4090");
  request.max_model_len = Tokens(8192);
  request.max_model_len = Tokens(8192);
  request.num_seqs = 100;
  request.avg_len = Tokens(4096);
  request.users = true;
  const Answers fewest = fit_model(model, request);
  REQUIRE(fewest.users.has_value());
  CHECK(fewest.users->gpus == 4);
  CHECK(fewest.users->most >= 100);
  CHECK(fewest.asked.verdict.status == Verdict::kFits);
  for (const Answer& answer : fewest.rows) CHECK(*answer.copies * answer.plan.memory.size() == 4);
  request.card.count_given = true;
  for (const auto& [count, fits] : {std::pair(1, false), {2, false}, {3, false}, {4, true}, {8, true}}) {
    request.card.count = static_cast<std::uint64_t>(count);
    const Answers answers = fit_model(model, request);
    CAPTURE(count);
    REQUIRE(answers.users.has_value());
    CHECK(answers.users->gpus <= request.card.count);
    CHECK((answers.asked.verdict.status == Verdict::kFits) == fits);
    CHECK((answers.users->most >= 100) == fits);
  }
}

TEST_CASE("users: a layout that clearly fits comes before one that is too close to call") {
  Request request;
  request.engine = engine_named("vllm");
  request.avg_len = Tokens(4096);
  request.users = true;
  int rotated = 0;
  for (const char* card : {"rtx-4090", "l40s", "a100-80gb"})
    for (const std::uint64_t users : {16U, 48U, 112U, 300U}) {
      CAPTURE(card);
      CAPTURE(users);
      const ModelSpec model = test_model("llama-3.1-8b");
      request.card.gpu = &parse_gpu(card);
      request.num_seqs = users;
      PlanCache cache(model);
      const std::vector<UsersPlan> plans = layouts_for_users(cache, request);
      REQUIRE(!plans.empty());
      const UsersPlan& first = plans.front();
      const bool first_is_close = make_plan(model, first.copy).verdict.close;
      for (const UsersPlan& other : plans) {
        const bool serves_as_many = std::min(other.answer.most, users) >= std::min(first.answer.most, users);
        if (serves_as_many && !make_plan(model, other.copy).verdict.close) CHECK_FALSE(first_is_close);
      }
      rotated += first.answer.copies == 1 && first.answer.gpus > 1;
    }
  CHECK(rotated > 0);
}

TEST_CASE("users: without a GPU, each GPU is listed with its best layout") {
  // 14.96 GiB of weights and 100 x 4,096 tokens of 131,072 B, 50 GiB, are more than 73 % of an 80 GiB GPU.
  Request request;
  request.engine = engine_named("vllm");
  request.num_seqs = 100;
  request.avg_len = Tokens(4096);
  request.users = true;
  for (const char* name : {"llama-3.1-8b", "deepseek-v3"}) {
    const ModelSpec model = test_model(name);
    const Answers answers = fit_model(model, request);
    CAPTURE(name);
    CHECK(!answers.users);
    REQUIRE(answers.rows.size() == 5);
    CHECK(answers.rows.front().plan.fullest().total > Bytes(64ULL << 30));
    for (const Answer& answer : answers.rows) {
      CHECK(answer.name == "card");
      CHECK(answer.plan.verdict.status == Verdict::kFits);
      REQUIRE(answer.copies);
      Request named = request;
      named.card.gpu = answer.plan.request.card.gpu;
      named.card.count = *answer.copies * answer.plan.memory.size();
      named.card.count_given = true;
      CHECK(answer.changes.at(1).second == std::to_string(named.card.count));
      PlanCache cache(model);
      CHECK(layouts_for_users(cache, named).front().copy.parallel == answer.plan.request.parallel);
    }
  }
}

TEST_CASE("users: fit names the layouts that fit the given lengths") {
  // 200 x 4,096 tokens of 131,072 B are 100 GiB, an eighth for each of 8 L4 with 20.27 GiB. With 128k tokens each it
  // would be 3,200 GiB.
  Request request;
  request.engine = engine_named("vllm");
  request.card.gpu = &parse_gpu("l4");
  request.num_seqs = 200;
  request.avg_len = Tokens(4096);
  request.users = true;
  const Answers answers = fit_model(test_model("llama-3.1-8b"), request);
  bool named = false;
  for (const Answer& answer : answers.rows) named = named || answer.name == "layout";
  CHECK(named);
  for (const Template& told : answers.sentences) {
    const std::string sentence = in_words(told);
    CHECK(sentence.find("no layout") == std::string::npos);
    CHECK(sentence.find("no room for any KV cache") == std::string::npos);
  }
}

TEST_CASE("users: llama.cpp's slots share one pool of the stated lengths") {
  // 8 x 4,096 tokens of 131,072 B are 4 GiB, next to 14 GiB of weights. 8 slots of the model's 131,072 tokens would be
  // 128 GiB.
  const ModelSpec model = test_model("llama-3.1-8b");
  Request request;
  request.engine = engine_named("llama.cpp");
  request.card.gpu = &parse_gpu("rtx-4090");
  request.num_seqs = 8;
  request.avg_len = Tokens(4096);
  request.users = true;
  PlanCache cache(model);
  const std::vector<UsersPlan> plans = layouts_for_users(cache, request);
  REQUIRE(!plans.empty());
  const UsersPlan* const found = &plans.front();
  CHECK(found->answer.gpus == 1);
  CHECK(in_words(sentence_of(*found)) == "8 users at once: 1 GPU, slots in one pool (--kv-unified)");
  request.limits.no_offload = true;  // otherwise llama.cpp shortens the context
  Plan plan = make_plan(model, request);
  suggest(model, plan);
  REQUIRE(!plan.verdict.suggestions.empty());
  const Remedy& first = plan.verdict.suggestions.front();
  CHECK(options_text(first.changes) == "--kv-unified --max-model-len 32768");
  request.llama_cpp.kv_unified = true;
  request.max_model_len = Tokens(32768);
  CHECK(make_plan(model, request).kv_cache.reserved == Bytes(4ULL << 30));
  CHECK(make_plan(model, request).verdict.status == Verdict::kFits);
}

TEST_CASE("one GPU, several models: the fractions add up to at most the GPU") {
  const ModelSpec large = test_model("llama-3.1-8b");
  const ModelSpec small = test_model("qwen3-0.6b");
  Request request;
  request.engine = engine_named("vllm");
  request.card.gpu = &parse_gpu("l40s");
  request.max_model_len = Tokens(16384);
  const SharedCard shared = share_card({{&large, request}, {&small, further_request(small, request)}});
  REQUIRE(shared.models.size() == 2);
  CHECK(shared.status == Verdict::kFits);
  double sum = 0;
  for (const FleetEntry& entry : shared.models) {
    CHECK(entry.plan->verdict.status == Verdict::kFits);
    sum += entry.plan->request.memory_utilization.value_or(1);
  }
  CHECK(sum <= 1.0 + 1e-9);
  // Two that do not fit together.
  request.card.gpu = &parse_gpu("rtx-4090");
  request.max_model_len = Tokens(8192);
  CHECK(share_card({{&large, request}, {&large, further_request(large, request)}}).status == Verdict::kDoesNotFit);
}

TEST_CASE("one GPU, engines that sleep: each uses the memory that the others leave free") {
  const ModelSpec large = test_model("llama-3.1-8b");
  Request request;
  request.engine = engine_named("vllm");
  request.card.gpu = &parse_gpu("rtx-4090");
  request.max_model_len = Tokens(8192);
  request.vllm.sleeps = true;
  // Two models of 15 GiB do not fit at the same time, but they fit in turn.
  const SharedCard shared = share_card({{&large, request}, {&large, further_request(large, request)}});
  CHECK(shared.status == Verdict::kFits);
  REQUIRE(shared.asleep);
  for (const FleetEntry& entry : shared.models) {
    CHECK(kept_asleep(*entry.plan) == entry.plan->fullest().runtime);
    CHECK(kept_asleep(*entry.plan) < Bytes(2 * kGiB));
    CHECK(entry.plan->request.memory_utilization < 0.97);
  }
  CHECK(shared.total <= shared.usable);
}

}  // namespace
}  // namespace kvplan
