// The fraction of a GPU that SGLang picks, and what follows from it: from its own code on simulated GPUs (0.5.8 and
// 0.5.23 executed), older ones from logs.
#include "engines/sglang/sglang.h"

#include <doctest/doctest.h>

#include <cmath>

#include "engines/requests.h"
#include "plan/plan.h"
#include "plan/steps.h"
#include "support/figures.h"

namespace kvplan {
namespace {

Request on_card(const std::string& engine, const char* card, std::uint64_t ranks = 1) {
  Request request = request_for(engine, 8192);
  request.card.gpu = &parse_gpu(card);
  request.parallel.tensor = ranks;
  request.parallel.given = true;
  return request;
}

double share(const char* model, const Request& request) {
  return sglang_share(engine_input(test_model(model), request));
}

TEST_CASE("SGLang's share: a fraction of what nvidia-smi reports, by release") {
  const auto plain = [](const char* engine, const char* card, std::uint64_t ranks) {
    return share("llama-3.1-8b", on_card(engine, card, ranks));
  };
  // Executed: 81,559 MiB of an H100, 24,564 of a 4090, 183,359 of a B200.
  CHECK(plain("sglang@0.5.23", "h100-80gb", 1) == doctest::Approx(0.83));
  CHECK(plain("sglang@0.5.23", "h100-80gb", 8) == doctest::Approx(0.812));
  CHECK(plain("sglang@0.5.23", "rtx-4090", 1) == doctest::Approx(0.704));
  CHECK(plain("sglang@0.5.23", "b200", 1) == doctest::Approx(0.854));
  CHECK(plain("sglang@0.5.8", "h100-80gb", 1) == doctest::Approx(0.835));
  CHECK(plain("sglang@0.5.8", "rtx-4090", 8) == doctest::Approx(0.806));
  CHECK(plain("sglang@0.4.4", "h100-80gb", 1) == doctest::Approx(0.88));
  CHECK(plain("sglang@0.4.4", "h100-80gb", 8) == doctest::Approx(0.81));
  CHECK(plain("sglang@0.3.3", "h100-80gb", 8) == doctest::Approx(0.83));
  // 0.4.9: (23.99 - 2.9) / 23.99 of a 4090.
  CHECK(plain("sglang@0.4.9", "rtx-4090", 1) == doctest::Approx(0.879));
}

TEST_CASE("SGLang's share: AMD's kernels take 0.85 of it beyond 8,192 tokens of context (attention_hook.py)") {
  // A log of Qwen3-0.6B on MI355X with 0.6 given: 287.26 GiB free, 1.21 of weights, 145.3 of cache, which is 0.51.
  Request request = on_card("sglang@0.5.20", "mi355x");
  request.memory_utilization = 0.6;
  CHECK(share("llama-3.1-8b", request) == doctest::Approx(0.6));
  request.max_model_len = Tokens(40960);
  CHECK(share("llama-3.1-8b", request) == doctest::Approx(0.6 * 0.85));
  request.extras.attention_backend = "triton";  // Qwen3-VL-32B on Radeon AI PRO R9700, 0.85 given: all of it
  CHECK(share("llama-3.1-8b", request) == doctest::Approx(0.6));
  request.extras.attention_backend = "";
  request.engine_version = "0.5.5";
  CHECK(share("llama-3.1-8b", request) == doctest::Approx(0.6 * 0.85));
  request.engine_version = "0.5.4";  // server_args.py has no such line yet
  CHECK(share("llama-3.1-8b", request) == doctest::Approx(0.6));
  // These kernels are used for latents with 16 or 128 heads on a rank. DeepSeek-V3 has 128.
  request.engine_version = "0.5.20";
  CHECK(share("deepseek-v3", request) == doctest::Approx(0.6 * 0.85));
  request.parallel.tensor = 4;
  CHECK(share("deepseek-v3", request) == doctest::Approx(0.6));
  request.card.gpu = &parse_gpu("h200");
  CHECK(share("llama-3.1-8b", request) == doctest::Approx(0.6));
}

TEST_CASE("SGLang's share: options that change it") {
  Request request = on_card("sglang@0.5.23", "h100-80gb");
  request.max_num_batched_tokens = Tokens(2048);
  CHECK(share("llama-3.1-8b", request) == doctest::Approx(0.874));  // never less than 10 GiB free
  request = on_card("sglang@0.5.23", "h100-80gb");
  request.enforce_eager = true;
  CHECK(share("llama-3.1-8b", request) == doctest::Approx(0.841));
  request.engine_version = "0.5.8";
  CHECK(share("llama-3.1-8b", request) == doctest::Approx(0.835));
  request = on_card("sglang@0.5.23", "h100-80gb");
  request.max_num_seqs = 128;
  CHECK(share("llama-3.1-8b", request) == doctest::Approx(0.833));
  request = on_card("sglang@0.5.23", "h200", 8);
  request.parallel.dp_attention = true;
  request.parallel.data = 8;
  CHECK(share("deepseek-v3", request) == doctest::Approx(0.758));
  CHECK(engine_of(request).settings(engine_input(test_model("deepseek-v3"), request), {}).max_num_batched_tokens ==
        1024);
  // 2 GiB of 140.4 for DeepEP's buffers (reserve_for_deepep_a2a_mb), since 0.5.15.
  const auto with_deepep = [&](const char* release) {
    Request deepep = request;
    deepep.engine_version = release;
    const double before = share("deepseek-v3", deepep);
    deepep.parallel.expert = true;
    deepep.sglang.deepep = true;
    return before - share("deepseek-v3", deepep);
  };
  CHECK(std::abs(with_deepep("0.5.23") - 2 / 140.4) < 0.001);
  CHECK(with_deepep("0.5.14") == 0);
  request.engine_version = "0.5.8";
  CHECK(share("deepseek-v3", request) == doctest::Approx(0.769));
  request.memory_utilization = 0.5;
  CHECK(share("deepseek-v3", request) == 0.5);
}

TEST_CASE("SGLang's share: graphs of prefills, and drafts, by release") {
  // As executed with 0.5.13, 0.5.19 and 0.5.21: until 0.5.19 Kimi-Linear's reserve has the 1.5 GiB for them.
  for (const char* engine : {"sglang@0.5.13", "sglang@0.5.19"})
    CHECK(share("kimi-linear-48b", on_card(engine, "h100-80gb", 2)) == doctest::Approx(0.815));
  CHECK(share("kimi-linear-48b", on_card("sglang@0.5.21", "h100-80gb", 2)) == doctest::Approx(0.834));
  // _handle_piecewise_cuda_graph: by default since 0.5.10, with drafts since 0.5.11, with indexers since 0.5.13.
  const auto at = [](const char* engine, const char* model, std::optional<DraftMethod> draft = std::nullopt) {
    const ModelSpec spec = test_model(model);  // the input refers to it
    EngineInput input = engine_input(spec, on_card(engine, "h100-80gb"));
    input.draft_method = draft;
    return sglang_share(input);
  };
  CHECK(at("sglang@0.5.9", "llama-3.1-8b") > at("sglang@0.5.10", "llama-3.1-8b"));
  CHECK(at("sglang@0.5.10", "llama-3.1-8b") == at("sglang@0.5.12", "llama-3.1-8b"));
  CHECK(at("sglang@0.5.12", "deepseek-v3.2") > at("sglang@0.5.13", "deepseek-v3.2"));
  CHECK(at("sglang@0.5.10", "llama-3.1-8b", DraftMethod::kEagle) >
        at("sglang@0.5.11", "llama-3.1-8b", DraftMethod::kEagle));
  // 6 GiB for a draft model, and 2 for other drafts, 4 since 0.5.10.
  const double gib = 1024.0 / 81559;
  for (const char* engine : {"sglang@0.5.9", "sglang@0.5.13"})
    CHECK(at(engine, "llama-3.1-8b") - at(engine, "llama-3.1-8b", DraftMethod::kModel) ==
          doctest::Approx(6 * gib).epsilon(0.02));
  CHECK(at("sglang@0.5.9", "llama-3.1-8b") - at("sglang@0.5.9", "llama-3.1-8b", DraftMethod::kEagle) ==
        doctest::Approx(2 * gib).epsilon(0.04));
  CHECK(at("sglang@0.5.11", "llama-3.1-8b") - at("sglang@0.5.11", "llama-3.1-8b", DraftMethod::kEagle) ==
        doctest::Approx(4 * gib).epsilon(0.03));
}

TEST_CASE("SGLang's share: smaller with a vision tower") {
  // Executed: Qwen3.5-27B (a tower of 1,152: factor 0.97344), Gemma-4-26B (no graphs of the prefill).
  CHECK(share("qwen3.5-27b", on_card("sglang@0.5.23", "h100-80gb")) == doctest::Approx(0.7675554687));
  CHECK(share("gemma-4-26b", on_card("sglang@0.5.23", "h100-80gb")) == doctest::Approx(0.7596298340));
  CHECK(share("llama-3.2-vision-11b", on_card("sglang@0.5.8", "h100-80gb", 8)) == doctest::Approx(0.6929141667));
  CHECK(share("gemma-3n-e4b", on_card("sglang@0.5.23", "h100-80gb")) == doctest::Approx(0.6346));
  // Llama 4 serves images only with an option.
  CHECK(share("llama-4-scout", on_card("sglang@0.5.23", "h100-80gb", 8)) == doctest::Approx(0.812));
  CHECK(share("llama-4-scout", on_card("sglang@0.4.4", "h100-80gb", 8)) == doctest::Approx(0.81 * 0.95));
  // Since 0.5.18 SGLang keeps 100 MiB of the budget free.
  const auto kept = [](const char* model, const char* engine) {
    return sglang_kept_back(engine_input(test_model(model), on_card(engine, "h100-80gb")));
  };
  CHECK(kept("qwen3.5-27b", "sglang@0.5.23") == Bytes(100 * kMiB));
  CHECK(kept("qwen3.5-27b", "sglang@0.5.16") == Bytes(0));
  CHECK(kept("llama-3.1-8b", "sglang@0.5.23") == Bytes(0));
}

TEST_CASE("SGLang's rotary tables of Gemma 3 are not stretched") {
  // sgl-project/sglang#4826: a scaling of 8 made 1.125 GiB of tables in the plan, and its class rotates plainly:
  // 131,072 rows at most, none in 0.5.8 (executed).
  const RotaryTable table{.positions = 8 * 131072, .width = 256};
  const auto bytes = [&](const char* engine, std::string_view type) {
    const Request request = request_for(engine, 8192);
    SideTensorsInput beside;
    beside.arch = test_arch(type);
    beside.request = &request;
    return engine_of(request).loading.rotary_table(table, beside, 4);
  };
  CHECK(bytes("sglang@0.5.23", "gemma3_text") == Bytes(131072ULL * 256 * 4 + 512));  // and the frequencies
  CHECK(bytes("sglang@0.5.8", "gemma3_text") == Bytes(512));
  CHECK(bytes("sglang@0.5.23", "llama") == Bytes(8 * 131072ULL * 256 * 4));
}

TEST_CASE("SGLang's captured batches") {
  const ModelSpec model = test_model("llama-3.1-8b");
  const EngineInput input = engine_input(model, on_card("sglang", "h100-80gb"));
  CHECK(sglang_captured(input, 256) == 36);
  CHECK(sglang_captured(input, 512) == 52);
  CHECK(sglang_captured(input, 48) == 10);
  CHECK(sglang_captured(input, 32) == 8);
  CHECK(sglang_captured(input, 100) == 17);  // 12 up to 64, 72 to 96, and 100
}

TEST_CASE("SGLang's table of requests has rows by the tokens for the context") {
  // Executed with 0.5.23 on an H100: (4096 + 1) rows of Qwen3-0.6B's 40,960 + 4, and (13 + 1) of 262,148 where 65 slots
  // of states are 13 requests (Nemotron-3-Nano).
  const auto table = [](const char* model, Request request, std::uint64_t context) {
    request.max_model_len = Tokens(context);
    const Plan plan = make_plan(test_model(model), request);
    for (const LedgerLine& line : plan.memory.front().lines)
      if (line.id == LineId::kRequestTable) return line.bytes;
    return Bytes(0);
  };
  CHECK(table("qwen3-0.6b", on_card("sglang@0.5.23", "h100-80gb"), 40960) == Bytes(671318032));
  CHECK(table("qwen3-0.6b", on_card("sglang@0.5.8", "h100-80gb"), 40960) == Bytes(4096ULL * 40964 * 4));
  Request bounded = on_card("sglang@0.5.23", "h100-80gb");
  bounded.max_num_seqs = 128;
  CHECK(table("qwen3-0.6b", bounded, 40960) == Bytes(129ULL * 40964 * 4));
}

}  // namespace
}  // namespace kvplan
