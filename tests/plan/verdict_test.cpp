// Verdicts, and that the fast computation (only numbers, one GPU per stage) agrees with the complete plan.
#include "plan/steps.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "engines/requests.h"
#include "kvplan/error.h"
#include "plan/plan.h"
#include "plan/plan_cache.h"
#include "report/words.h"
#include "support/figures.h"

namespace kvplan {
namespace {

// "fits", "does_not_fit", "unknown", or "refused" where there is no plan at all.
template <class Ask>
std::string outcome(const Ask& ask, std::string& why) {
  try {
    const VerdictReport verdict = ask();
    const char* status = verdict.status == Verdict::kFits         ? "fits"
                         : verdict.status == Verdict::kDoesNotFit ? "does_not_fit"
                                                                  : "unknown";
    return std::string(status) + (verdict.close ? ", close" : "") +
           (verdict.headroom ? " " + std::to_string(*verdict.headroom) : "");
  } catch (const Error& error) {
    why = error.what();
    return "refused";
  }
}

// Sizes from one token to beyond 64 bits for any model.
Request any_request(std::mt19937& random, const std::string& engine) {
  const auto pick = [&](std::initializer_list<std::uint64_t> from) {
    return *(from.begin() + static_cast<std::ptrdiff_t>(random() % from.size()));
  };
  const auto one_in = [&](unsigned n) { return random() % n == 0; };
  Request out = request_for(engine, pick({1, 17, 4096, 32768, 131072, 1ULL << 30, 1ULL << 44, 1ULL << 60}));
  out.num_seqs = pick({1, 1, 1, 3, 64, 256, 100000, 1ULL << 30, 1ULL << 60});
  if (one_in(3)) out.parallel.tensor = pick({2, 3, 8, 64});
  if (one_in(3)) out.parallel.pipeline = pick({2, 3, 16});
  if (one_in(4)) out.parallel.data = pick({2, 7, 1000});
  out.parallel.given = true;
  if (one_in(4)) out.max_num_seqs = pick({1, 128, 1ULL << 50});
  if (one_in(4)) out.max_num_batched_tokens = Tokens(pick({1, 8192, 1ULL << 58}));
  if (one_in(3)) out.attention = AttentionKernel::kNaive;
  if (one_in(4)) out.limits.min_context = Tokens(pick({1, 65536, 1ULL << 60}));
  if (one_in(4)) out.limits.min_seqs = pick({1, 300, 1ULL << 60});
  if (one_in(4)) out.limits.max_vram = Bytes(pick({1, 40 * kGiB, 1ULL << 62}));
  if (one_in(4)) out.margin = 0.5;
  if (one_in(8)) out.cpu_offload = Bytes(pick({kGiB, 1ULL << 61}));
  switch (random() % 4) {
    case 0: out.card.gpu = &parse_gpu("h100-80gb"); break;
    case 1: out.card.memory = Bytes(pick({kGiB, 24 * kGiB, 1ULL << 50, 1ULL << 62})); break;
    case 2: out.kv_cache_memory_bytes = Bytes(pick({kGiB, 1ULL << 40, 1ULL << 62})); break;
    default: break;
  }
  return out;
}

TEST_CASE("the quick verdict agrees with the plan for all sizes") {
  std::mt19937 random(20);  // the same run every time
  std::size_t fits = 0;
  std::size_t refused = 0;
  std::size_t asked = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(KVPLAN_SOURCE_DIR) + "/testdata/configs")) {
    if (entry.path().extension() != ".json") continue;
    const ModelSpec model = test_model(entry.path().stem().string());
    PlanCache cache(model);
    for (const Engine& engine : engines()) {
      for (int i = 0; i < 8; ++i) {
        const Request request = any_request(random, std::string(engine.name));
        std::string why;
        const std::string whole = outcome([&] { return make_plan(model, request).verdict; }, why);
        std::string quick_why;
        const std::string quick = outcome([&] { return verdict_of(cache, request); }, quick_why);
        CAPTURE(why);
        ++asked;
        if (whole.starts_with("fits")) ++fits;
        if (whole == "refused") ++refused;
        CAPTURE(model.source);
        CAPTURE(engine.name);
        CAPTURE(i);
        // What only the complete plan counts (every GPU, every copy, the logical bytes) may exceed 64 bits. Then the
        // request fits nothing, and the fast computation must agree.
        if (whole == "refused")
          CHECK_FALSE(quick.starts_with("fits"));
        else
          CHECK(quick == whole);
      }
    }
  }
  MESSAGE(asked << " requests, " << fits << " fit, " << refused << " refused");
  CHECK(fits > 50);
  CHECK(refused > 50);
}

std::string reason(const Request& request) {
  return reason_of(make_plan(test_model("llama-3.1-8b"), request).verdict);
}

TEST_CASE("an exceeded limit says what fits, with its unit") {
  Request request = request_for("vllm", 8192);
  request.card.memory = Bytes(24 * kGiB);
  request.limits.min_seqs = 800;
  CHECK(reason(request).find(" sequences fit, fewer than --min-seqs 800") != std::string::npos);
  request.limits.min_seqs.reset();
  request.limits.min_context = Tokens(1 << 20);
  CHECK(reason(request).find(" tokens fit, fewer than --min-context 1048576") != std::string::npos);
  // Only the request is known.
  Request alone = request_for("vllm", 8192);
  alone.limits.min_seqs = 8;
  CHECK(reason(alone) == "1 sequence is requested, fewer than --min-seqs 8");
  alone.num_seqs = 9;
  CHECK(reason(alone) == "9 sequences are requested, at least --min-seqs 8");
}

TEST_CASE("missing memory is printed in GiB") {
  // 8,192 tokens of 131,072 B are 1 GiB. Tested with one page less, and with the pool's reserved page.
  const std::string text = reason(request_for("vllm", 8192, kGiB - (2 << 20)));
  CHECK(text == "the KV cache needs 1.00 GiB per GPU, 4.0 MiB more than the 1020.0 MiB available");
  const std::string pool = reason(request_for("sglang", 8192, kGiB / 2));
  CHECK(pool.find("iB per GPU") != std::string::npos);
  CHECK(pool.find("bytes") == std::string::npos);
}

TEST_CASE("graphs outside vLLM's fraction must fit the rest of the GPU") {
  // vLLM before 0.20 fills its fraction of the GPU with the cache, then captures (gpu_worker.py:
  // compile_or_warm_up_model); what the profile run freed is there too.
  const auto ask = [](const char* engine, double share, bool eager = false) {
    Request request = request_for(engine, 512);
    request.card.gpu = &parse_gpu("h100-80gb");
    request.memory_utilization = share;
    request.max_num_batched_tokens = Tokens(512);
    request.max_num_seqs = 64;
    request.enforce_eager = eager;
    return make_plan(test_model("llama-3.1-8b"), request).verdict;
  };
  const VerdictReport full = ask("vllm@0.9", 0.999);
  CHECK(full.status == Verdict::kDoesNotFit);
  CHECK(full.limit == VerdictLimit::kCard);
  CHECK(full.needed > full.budget);
  CHECK(full.close);  // the activations' high end leaves enough
  const VerdictReport most = ask("vllm@0.9", 0.995);
  CHECK(most.status == Verdict::kFits);
  CHECK(most.close);
  for (const VerdictReport& fits : {ask("vllm@0.9", 0.9), ask("vllm@0.9", 0.999, true), ask("vllm@0.24", 0.995)}) {
    CHECK(fits.status == Verdict::kFits);
    CHECK_FALSE(fits.close);
  }
}

TEST_CASE("llama.cpp and ollama run at most 256 sequences with any memory") {
  // llama-cparams.h: LLAMA_MAX_SEQ.
  for (const char* engine : {"llama.cpp", "llama.cpp@b6900", "ollama"}) {
    CAPTURE(engine);
    Request request = request_for(engine, 256);
    request.card.memory = Bytes(80 * kGiB);
    const Plan plan = make_plan(test_model("llama-3.1-8b"), request);
    REQUIRE(plan.capacity);
    CHECK(plan.capacity->max_num_seqs == 256);
    CHECK(std::any_of(plan.notes.begin(), plan.notes.end(), [](const Note& n) { return n.code == "most_sequences"; }));
    request.limits.min_seqs = 257;
    CHECK(make_plan(test_model("llama-3.1-8b"), request).verdict.status == Verdict::kDoesNotFit);
  }
  Request request = request_for("llama.cpp", 65536, 16 * kGiB);
  const Plan plan = make_plan(test_model("llama-3.1-8b"), request);
  CHECK(plan.capacity->max_num_seqs == 2);
  CHECK(std::none_of(plan.notes.begin(), plan.notes.end(), [](const Note& n) { return n.code == "most_sequences"; }));
}

}  // namespace
}  // namespace kvplan
