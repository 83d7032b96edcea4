// Known errors, latents that are on no list, and models that were never run in an engine.

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engines/known_errors.h"
#include "engines/requests.h"
#include "plan/plan_cache.h"
#include "plan/questions.h"
#include "plan/search.h"
#include "plan/steps.h"
#include "support/figures.h"
#include "support/program.h"
#include "support/words.h"

namespace kvplan {
namespace {

using Json = nlohmann::json;

// A model whose pools in SGLang are not known.
const std::string kPools =
    R"({"model_type": "deepseek_v41", "text_config": {"model_type": "deepseek_v41_text", "hidden_size": 1024,
        "num_hidden_layers": 4, "num_attention_heads": 64, "q_lora_rank": 256, "o_lora_rank": 256, "o_groups": 8,
        "compress_ratios": [0, 2, 1, 1], "kv_source_layer_ids": [1, 2], "index_source_layer_ids": [1, 2, 3],
        "moe_intermediate_size": 256, "n_routed_experts": 8, "num_experts_per_tok": 2, "n_shared_experts": 1,
        "vocab_size": 1024, "max_position_embeddings": 65536}})";
// An MLA model that no engine's list contains.
constexpr const char* kLatents = R"({"text_config": {"model_type": "youtu"}})";

std::vector<std::string> codes(const std::string& config, Request request) {
  std::vector<std::string> out;
  const ModelSpec model = parse_model(config);
  for (const Note& note : doubts_of(engine_input(model, request)).notes) out.push_back(note.code);
  return out;
}

VerdictReport verdict(const std::string& config, const Request& request) {
  return make_plan(parse_model(config), request).verdict;
}

Request on_h200(const std::string& engine) {
  Request out = request_for(engine, 4096);
  out.card.gpu = &parse_gpu("h200-141gb");
  out.parallel.tensor = 8;
  out.parallel.given = true;
  return out;
}

using Codes = std::vector<std::string>;

TEST_CASE("doubts: with a known error of more than 1 % of the memory there is no verdict") {
  CHECK(codes(kPools, request_for("sglang", 4096)) == Codes{"known_error", "not_verified"});
  const VerdictReport unknown = verdict(kPools, on_h200("sglang"));
  CHECK(unknown.status == Verdict::kUnknown);
  CHECK_FALSE(unknown.starts.has_value());
  CHECK(unknown.suggestions.empty());
  CHECK(unknown.fails());
  const VerdictReport unasked = verdict(kPools, request_for("sglang", 4096));
  CHECK(unasked.status == Verdict::kUnknown);
  CHECK_MESSAGE(!unasked.fails(), "without a card or a limit nothing is decided anyway");
  Request limited = request_for("sglang", 4096);
  limited.limits.max_vram = Bytes(1ULL << 50);
  CHECK(verdict(kPools, limited).fails());
  CHECK(verdict(kPools, on_h200("transformers")).status != Verdict::kUnknown);
  CHECK(codes(kPools, request_for("logical", 4096)).empty());
}

TEST_CASE("doubts: a refusal stays a refusal with any memory") {
  Request request = on_h200("sglang");
  request.card.gpu = &parse_gpu("v100-32gb");
  const VerdictReport refused = verdict(kPools, request);
  CHECK(refused.refusal.has_value());
  CHECK(refused.status == Verdict::kDoesNotFit);
  CHECK(refused.no_verdict.empty());
}

TEST_CASE("doubts: searches treat unknown as not fitting") {
  const ModelSpec model = parse_model(kPools);
  CHECK(longest_that_fits(model, on_h200("sglang")) == 0);
  CHECK(fit_model(model, on_h200("sglang")).rows.empty());
  CHECK(fit_model(model, request_for("sglang", 4096)).rows.empty());
  Request searched = on_h200("sglang");
  searched.parallel = {};
  searched.card.count = 8;
  CHECK(make_plan(model, searched).verdict.status == Verdict::kUnknown);
}

TEST_CASE("doubts: an error of at most 1 % is a warning, and only where it applies") {
  const char* config = R"({"model_type": "lfm2_vl", "text_config": {"model_type": "lfm2"}})";
  CHECK(codes(config, request_for("transformers@5.16", 4096)) == Codes{"known_error"});
  CHECK(codes(config, request_for("transformers@5.23", 4096)).empty());
  Request plain = request_for("vllm", 4096), mtp = plain;
  mtp.mtp = true;
  const char* mimo = R"({"text_config": {"model_type": "mimo_v2_flash"}})";
  CHECK(codes(mimo, plain).empty());
  CHECK(codes(mimo, mtp) == Codes{"known_error"});
}

TEST_CASE("doubts: latents that no list of the engine names are unknown") {
  for (const char* engine : {"vllm", "sglang", "mistralrs"}) {
    CAPTURE(engine);
    CHECK(codes(kLatents, request_for(engine, 4096)) == Codes{"unknown_latents", "not_verified"});
    Request on_card = request_for(engine, 4096);
    on_card.card.gpu = &parse_gpu("h200-141gb");
    CHECK(verdict(kLatents, on_card).fails());
  }
  CHECK(codes(kLatents, request_for("transformers", 4096)).empty());                   // executed
  CHECK(codes(kLatents, request_for("tensorrt-llm", 4096)) == Codes{"not_verified"});  // decided by kv_lora_rank
  CHECK(codes(kLatents, request_for("llama.cpp", 4096)) == Codes{"not_verified"});     // converted to deepseek2
  for (const char* engine : {"vllm", "sglang", "mlx", "transformers", "llama.cpp"})
    CHECK(codes(R"({"text_config": {"model_type": "deepseek_v3"}})", request_for(engine, 4096)).empty());
  CHECK(codes(R"({"text_config": {"model_type": "hy_v4"}})", request_for("vllm", 4096)).empty());
  CHECK(
      codes(R"({"text_config": {"model_type": "minicpm3"}})", request_for("vllm", 4096)).empty());  // executed: K and V
}

TEST_CASE("doubts: a model that the engine was never run with keeps its verdict, and says so") {
  const char* config = R"({"text_config": {"model_type": "llama"}})";
  for (const char* engine : {"vllm", "sglang", "mlx", "transformers", "llama.cpp"})
    CHECK(codes(config, request_for(engine, 4096)).empty());
  CHECK(codes(config, request_for("tensorrt-llm", 4096)) == Codes{"not_verified"});
  // A checkpoint with another name, whose class was run.
  CHECK(codes(R"({"architectures": ["DeepseekV3ForCausalLM"], "text_config": {"model_type": "kimi_k2"}})",
              request_for("vllm", 4096))
            .empty());
  Request on_card = request_for("tensorrt-llm", 4096);
  on_card.card.gpu = &parse_gpu("h200-141gb");
  CHECK(verdict(config, on_card).status == Verdict::kFits);
}

TEST_CASE("doubts: the program prints UNKNOWN and ends with 1") {
  const std::vector<std::string> asked{"-", "--engine", "sglang", "--gpu", "h200-141gb", "-tp", "8"};
  const auto run = [&](std::vector<std::string> more) {
    more.insert(more.begin(), asked.begin(), asked.end());
    const TemporaryFolder folder;
    return run_program(more, folder.write("config.json", kPools));
  };
  const Run table = run({});
  CHECK(table.exit == 1);
  CHECK(has(table.out, "UNKNOWN  kvplan does not know SGLang's pools"));
  CHECK_FALSE(has(table.out, "would make it fit"));
  const Run json = run({"--json"});
  CHECK(json.exit == 1);
  const Json plan = Json::parse(json.out);
  CHECK(plan.at("verdict").at("status") == "unknown");
  CHECK(plan.at("verdict").at("starts").is_null());
  CHECK(plan.at("verdict").at("suggestions").empty());
  CHECK(plan.at("verdict").at("budget_bytes").is_number());
  const auto is_told = [](const Json& note) {
    return note.at("code") == "known_error" && note.at("level") == "warning";
  };
  CHECK(std::any_of(plan.at("notes").begin(), plan.at("notes").end(), is_told));
}

}  // namespace
}  // namespace kvplan
