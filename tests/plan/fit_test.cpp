// `fit` and `plan` agree: the answer of fit fits, and one token or sequence more does not, for every bundled config,
// the engines, and GPUs of several sizes.
#include <doctest/doctest.h>

#include <filesystem>
#include <utility>

#include "engines/engine.h"
#include "kvplan/error.h"
#include "plan/plan.h"
#include "plan/search.h"
#include "sources/load.h"

using namespace kvplan;

namespace {

bool fits(const ModelSpec& model, const Request& request) {
  try {
    return make_plan(model, request).verdict.status == Verdict::kFits;
  } catch (const Error&) {
    return false;
  }
}

// The longest context fits, and one token more does not.
void check_longest(const ModelSpec& model, const Request& request) {
  const std::uint64_t longest = longest_that_fits(model, request);
  REQUIRE(longest > 0);
  CHECK(fits(model, with_context(request, longest)));
  if (longest < kAnyCount) CHECK_FALSE(fits(model, with_context(request, longest + 1)));
}

}  // namespace

TEST_CASE("fit is the exact inverse of the plan") {
  int answered = 0;
  for (const auto& entry : std::filesystem::directory_iterator(KVPLAN_SOURCE_DIR "/testdata/configs")) {
    if (entry.path().extension() != ".json") continue;
    const ModelSpec model = load_model(entry.path().string(), {});
    for (const Engine& engine : engines()) {
      for (const std::uint64_t gib : {8U, 24U, 80U, 192U}) {
        Request request;
        request.engine = &engine;
        request.llama_cpp.placement = Placement::kNone;  // otherwise kvplan would move layers to main memory
        request.card.memory = Bytes(gib << 30);
        request.parallel.given = true;
        request.max_model_len = Tokens(2048);
        CAPTURE(entry.path().filename().string());
        CAPTURE(engine.name);
        CAPTURE(gib);
        if (!fits(model, with_context(request, 1))) continue;  // the weights are too large, or it is refused
        ++answered;
        check_longest(model, request);
        if (!fits(model, request)) continue;
        const std::uint64_t most = most_that_fit(model, request);
        REQUIRE(most > 0);
        CHECK(fits(model, with_seqs(request, most)));
        if (most < (std::uint64_t{1} << 40)) CHECK_FALSE(fits(model, with_seqs(request, most + 1)));
      }
    }
  }
  CHECK(answered > 100);
}

// Prefills, compute buffers and scores grow with the load, so each load has its own budget.
TEST_CASE("plans with a plan's capacity, in length or sequences, fit") {
  for (const char* name : {"llama-3.1-8b", "lfm2-1.2b", "mamba-2.8b", "t5-large"}) {
    const ModelSpec model = load_model(std::string(KVPLAN_SOURCE_DIR "/testdata/configs/") + name + ".json", {});
    for (const Engine& engine : engines()) {
      for (const std::uint64_t copies : {1U, 3U}) {
        Request request;
        request.engine = &engine;
        request.llama_cpp.placement = Placement::kNone;  // otherwise kvplan would move layers to main memory
        request.card.memory = Bytes(std::uint64_t{24} << 30);
        request.parallel.given = true;
        request.max_model_len = Tokens(8192);
        request.num_seqs = 4;
        request.parallel.data = copies;
        request.extras.num_samples = copies == 1 ? 1 : 2;
        CAPTURE(name);
        CAPTURE(engine.name);
        CAPTURE(copies);
        if (!fits(model, request)) continue;
        const Plan plan = make_plan(model, request);
        REQUIRE(plan.capacity.has_value());
        const auto [tokens, seqs] = std::pair(plan.capacity->max_model_len_by_memory, plan.capacity->max_num_seqs);
        // vLLM refuses lengths beyond the model's maximum, whatever fits.
        const std::uint64_t longest = model.max_model_len.count();
        const bool is_refused = engine.name == "vllm" && longest > 0 && tokens > longest;
        CHECK(fits(model, with_context(request, tokens)) != is_refused);
        // ollama cuts longer contexts to the model's maximum.
        const bool is_cut = engine.caps_context && longest > 0 && tokens >= longest;
        if (tokens < (std::uint64_t{1} << 40)) CHECK(fits(model, with_context(request, tokens + 1)) == is_cut);
        const bool slots = engine.slot_tokens != nullptr || engine.default_context != nullptr;
        if (slots && seqs * request.extras.copies() > 256) continue;  // refused, whatever fits
        CHECK(fits(model, with_seqs(request, seqs)));
        CHECK_FALSE(fits(model, with_seqs(request, seqs + 1)));
      }
    }
  }
}

TEST_CASE("fit is the exact inverse of the plan on several GPUs, whatever the layout") {
  struct Layout {
    std::uint64_t tensor, pipeline;
    bool experts;
  };
  int answered = 0;
  for (const char* name : {"llama-3.1-8b", "gpt-oss-20b", "gemma-4-26b", "deepseek-v3", "falcon-h1-1.5b", "qwen3.5-27b",
                           "mixtral-8x7b", "kimi-linear-48b"}) {
    const ModelSpec model = load_model(std::string(KVPLAN_SOURCE_DIR "/testdata/configs/") + name + ".json", {});
    for (const Engine& engine : engines()) {
      for (const auto& [tensor, pipeline, experts] :
           {Layout{2, 1, false}, Layout{1, 2, false}, Layout{4, 2, true}, Layout{8, 1, true}}) {
        if (experts && (!engine.parallel.expert || model.experts.count == 0)) continue;
        for (const char* card : {"rtx-4090", "h100-80gb"}) {
          Request request;
          request.engine = &engine;
          request.llama_cpp.placement = Placement::kNone;  // otherwise kvplan would move layers to main memory
          request.card.gpu = &parse_gpu(card);
          request.card.count = tensor * pipeline;
          request.parallel.given = true;
          request.parallel.tensor = tensor;
          request.parallel.pipeline = pipeline;
          request.parallel.expert = experts;
          CAPTURE(name);
          CAPTURE(engine.name);
          CAPTURE(request.parallel.tensor);
          CAPTURE(request.parallel.pipeline);
          CAPTURE(card);
          if (!fits(model, with_context(request, 1))) continue;
          ++answered;
          check_longest(model, request);
        }
      }
    }
  }
  CHECK(answered > 50);
}

TEST_CASE("fit is the exact inverse of the plan with extras") {
  const std::string configs = KVPLAN_SOURCE_DIR "/testdata/configs/";
  const auto draft = std::make_shared<const ModelSpec>(load_model(configs + "qwen3-0.6b.json", {}));
  int answered = 0;
  for (const char* name : {"llama-3.1-8b", "qwen3.5-27b", "gpt-oss-20b", "lfm2-1.2b"}) {
    const ModelSpec model = load_model(configs + name + ".json", {});
    for (const Engine& engine : engines()) {
      for (const std::uint64_t gib : {24U, 80U, 192U}) {
        Request request;
        request.engine = &engine;
        request.llama_cpp.placement = Placement::kNone;  // otherwise kvplan would move layers to main memory
        request.card.memory = Bytes(gib << 30);
        request.parallel.given = true;
        request.max_model_len = Tokens(2048);
        request.num_speculative_tokens = 3;
        request.extras.num_samples = 2;
        request.extras.draft = draft;
        if (engine.extras.lora_slots != nullptr) {
          request.extras.max_loras = 4;
          request.extras.max_lora_rank = 64;
        }
        CAPTURE(name);
        CAPTURE(engine.name);
        CAPTURE(gib);
        if (!fits(model, with_context(request, 1))) continue;
        ++answered;
        check_longest(model, request);
        if (!fits(model, request)) continue;
        const std::uint64_t most = most_that_fit(model, request);
        REQUIRE(most > 0);
        CHECK(fits(model, with_seqs(request, most)));
        CHECK_FALSE(fits(model, with_seqs(request, most + 1)));
      }
    }
  }
  CHECK(answered > 30);
}
