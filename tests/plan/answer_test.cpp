// The facts in an answer besides numbers: the model's name, whether the engine starts, what makes it fit, and the
// identity of a line.
#include "plan/answer.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "engines/requests.h"
#include "kvplan/quantity.h"
#include "plan/plan_cache.h"
#include "plan/questions.h"
#include "plan/steps.h"
#include "report/words.h"
#include "support/figures.h"

namespace kvplan {
namespace {

TEST_CASE("a model's name comes from its path") {
  const struct {
    const char *source, *name;
  } rows[] = {
      {"testdata/configs/llama-3.1-8b.json", "llama-3.1-8b"},
      {"models/Qwen3-32B/config.json", "Qwen3-32B"},
      {"models/Qwen3-32B/", "Qwen3-32B"},
      {"Qwen/Qwen3-32B", "Qwen3-32B"},
      {"Qwen/Qwen3-32B@main", "Qwen3-32B"},
      {"x/Qwen3-32B-Q4_K_M.gguf", "Qwen3-32B-Q4_K_M"},
      {"unsloth/Qwen3-32B-GGUF:Q4_K_M", "Qwen3-32B-GGUF:Q4_K_M"},
      {"org/name:part/Qwen3-32B.gguf", "Qwen3-32B"},
      {"https://huggingface.co/Qwen/Qwen3-32B/tree/main?library=vllm", "Qwen3-32B"},
      {"https://huggingface.co/Qwen/Qwen3-32B/blob/main/config.json", "Qwen3-32B"},
      {"https://huggingface.co/unsloth/Qwen3-32B-GGUF/blob/main/Qwen3-32B-Q4_K_M.gguf", "Qwen3-32B-Q4_K_M"},
      {"ollama:qwen3", "qwen3"},
      {"-", "standard input"},
  };
  for (const auto& row : rows) CHECK(name_of(row.source) == row.name);
}

Plan complete_plan(const char* model, Request request) {
  const ModelSpec spec = test_model(model);
  Plan plan = make_plan(spec, request);
  suggest(spec, plan);
  complete(spec, {}, plan);
  return plan;
}

TEST_CASE("vLLM starts if one sequence fits, llama.cpp only if all fit") {
  // Llama-3.1-8B: 4 GiB of cache for 32,768 tokens; 16 sequences are 64 GiB.
  Request request = request_for("vllm", 32768);
  request.card.gpu = &parse_gpu("rtx-4090");
  request.num_seqs = 16;
  Plan plan = complete_plan("llama-3.1-8b", request);
  CHECK(plan.verdict.status == Verdict::kDoesNotFit);
  CHECK(plan.verdict.starts == true);
  CHECK(plan.verdict.runs_at_once == 1);
  CHECK(plan.verdict.limit == VerdictLimit::kCacheBudget);
  CHECK(plan.verdict.needed == Bytes(64ULL << 30));
  request.max_model_len = Tokens(131072);
  request.num_seqs = 1;
  CHECK(complete_plan("llama-3.1-8b", request).verdict.starts == false);
  request.engine = engine_named("llama.cpp");
  CHECK(complete_plan("llama-3.1-8b", request).verdict.status == Verdict::kPartlyOnCpu);
  request.limits.no_offload = true;
  CHECK(complete_plan("llama-3.1-8b", request).verdict.starts == false);
  request.max_model_len = Tokens(8192);
  CHECK(complete_plan("llama-3.1-8b", request).verdict.starts == true);
  request.engine = engine_named("transformers");
  CHECK_FALSE(complete_plan("llama-3.1-8b", request).verdict.starts);
}

TEST_CASE("each remedy makes the plan fit, and those that give up the least come first") {
  Request request = request_for("vllm", 32768);
  request.card.memory = Bytes(24 * kGiB);
  request.num_seqs = 2;
  const ModelSpec model = test_model("llama-3.1-8b");
  const Plan plan = complete_plan("llama-3.1-8b", request);
  REQUIRE(plan.verdict.status == Verdict::kDoesNotFit);
  REQUIRE(!plan.verdict.suggestions.empty());
  CHECK(plan.verdict.suggestions.front().changes.front().first == "--kv-cache-dtype");
  for (const Remedy& remedy : plan.verdict.suggestions) {
    CAPTURE(remedy.changes.front().first);
    CHECK(remedy.headroom.value_or(-1) >= 0);
    CHECK(remedy.total > Bytes(0));
  }
  CHECK(reason_of(plan.verdict).find("--kv-cache-dtype") != std::string::npos);
}

TEST_CASE("a line has an identity and a basis") {
  const Plan plan = complete_plan("llama-3.1-8b", request_for("sglang", 4096));
  const auto line = [&](std::string_view id) -> const LedgerLine* {
    for (const LedgerLine& each : plan.memory.front().lines)
      if (id_of(each) == id) return &each;
    return nullptr;
  };
  REQUIRE(line("cuda_graphs") != nullptr);
  CHECK(line("cuda_graphs")->basis == Basis::kEstimate);
  REQUIRE(line("request_table") != nullptr);
  CHECK(line("request_table")->basis == Basis::kExact);
  REQUIRE(line("lm_head") != nullptr);
  CHECK(line("lm_head")->bytes == Bytes(128256ULL * 4096 * 2));
  CHECK(line("kv_cache") != nullptr);
  CHECK_FALSE(is_extra(LineId::kLmHead));
  CHECK(is_extra(LineId::kLora));
}

TEST_CASE("weights on one GPU are not reused for another") {
  // vLLM pads MXFP4 experts for the GPU's kernels.
  const ModelSpec model = test_model("gpt-oss-20b");
  PlanCache cache(model);
  std::set<std::uint64_t> seen;
  for (const char* card : {"h100-80gb", "b200-180gb", "mi300x-192gb", "h100-80gb"}) {
    CAPTURE(card);
    Request request = request_for("vllm", 4096);
    request.card.gpu = &parse_gpu(card);
    const Bytes weights = *make_plan(cache, request).fullest().weights;
    CHECK(weights == *make_plan(model, request).fullest().weights);
    seen.insert(weights.count());
  }
  CHECK(seen.size() > 1);
}

TEST_CASE("If releases of the last year differ, a plan that names none says by how much") {
  const ModelSpec model = test_model("gemma-4-26b");
  const auto told = [&](const std::string& engine) {
    Plan plan = make_plan(model, request_for(engine, 16384));
    complete(model, {}, plan);
    const auto note = std::find_if(plan.notes.begin(), plan.notes.end(),
                                   [](const Note& each) { return each.code == "releases_differ"; });
    return note == plan.notes.end() ? std::string() : in_words(note->message);
  };
  const std::string text = told("vllm");
  const std::string newest(engine_named("vllm")->versions.back().version);
  // Its class came with 0.19, so older releases are not compared.
  CHECK(text.starts_with("vllm 0.19 to " + newest + " take "));
  std::vector<Bytes> totals;
  for (int minor = 19; minor <= std::stoi(newest.substr(2)); ++minor)
    totals.push_back(make_plan(model, request_for("vllm@0." + std::to_string(minor), 16384)).fullest().total);
  const auto [least, most] = std::minmax_element(totals.begin(), totals.end());
  CHECK(text.find(format_bytes(*least) + " to " + format_bytes(*most)) != std::string::npos);
  CHECK(told("vllm@" + newest).empty());
  CHECK(told("logical").empty());
}

}  // namespace
}  // namespace kvplan
