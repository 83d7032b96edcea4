// MLX: figures of mlx-lm 0.32.2 on mlx 0.32.4, whose modules were built at full size and whose caches were filled by a
// prompt.
#include <doctest/doctest.h>

#include <optional>
#include <tuple>

#include "engines/requests.h"
#include "kvplan/gpus.h"
#include "plan/plan.h"
#include "sources/catalogue.h"
#include "sources/load.h"
#include "support/figures.h"

namespace kvplan {
namespace {

Bytes cache_of(const ModelSpec& model, std::uint64_t tokens) {
  return make_plan(model, request_for("mlx", tokens)).kv_cache.reserved;
}

Plan weighed(const ModelSpec& model, const char* weights) {
  Request request = request_for("mlx", 1);
  request.weights = weights;
  return make_plan(model, request);
}

TEST_CASE("MLX: caches after a prompt") {
  const struct {
    const char* config;
    std::uint64_t tokens, bytes;
  } rows[] = {
      // After a prompt a window of 2,048 is as long as the prompt, and has 256 more at the prompt's last token. One KV
      // head.
      {"recurrentgemma-2b", 1, 2465792},
      {"recurrentgemma-2b", 255, 4546560},
      {"recurrentgemma-2b", 1000, 10649600},
      {"recurrentgemma-2b", 40000, 17145856},
      // In every layer, index keys are stored with values.
      {"deepseek-v3.2", 257, 51970048},
      {"glm-5.2", 257, 66453504},
      // A window of 128 is full after one step.
      {"gpt-oss-20b", 257, 15728640},
      // A chunk of 8,192 tokens, and one step of 256 more.
      {"llama-4-scout", 40000, 3221225472},
  };
  for (const auto& row : rows) {
    CAPTURE(row.config);
    CAPTURE(row.tokens);
    CHECK(cache_of(test_model(row.config), row.tokens) == Bytes(row.bytes));
  }
}

TEST_CASE("MLX: modules without a RotatingKVCache keep all tokens") {
  // 32 layers of 8 heads of 128, run by the module of llama, which reads layer_types and ignores sliding_window.
  constexpr std::string_view kMistral = R"({"model_type": "mistral", "hidden_size": 4096, "intermediate_size": 14336,
    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 32000,
    "sliding_window": 4096, "tie_word_embeddings": false, "torch_dtype": "bfloat16"})";
  const ModelSpec model = read_config(kMistral, "", "mistral", {});
  CHECK(cache_of(model, 40000) == Bytes(std::uint64_t{40192} * 32 * 2 * 8 * 128 * 2));
  Request request = request_for("mlx", 1000);
  request.cache_type_k = request.cache_type_v = Dtype::kInt4;
  CHECK_FALSE(make_plan(model, request).verdict.refusal.has_value());
}

TEST_CASE("MLX: recurrent states are float32, except for Mamba 1") {
  Request request = request_for("mlx", 1);
  CHECK(make_plan(test_model("falcon-h1-1.5b"), request).types.state == Dtype::kFloat32);
  CHECK(make_plan(test_model("qwen3.5-27b"), request).types.state == Dtype::kFloat32);
  CHECK(make_plan(test_model("falcon-mamba-7b"), request).types.state == Dtype::kBfloat16);
  request.state_dtype = Dtype::kBfloat16;
  CHECK(make_plan(test_model("qwen3.5-27b"), request).types.state == Dtype::kBfloat16);
}

TEST_CASE("MLX: weights without towers, routers in their own type") {
  const struct {
    const char *config, *weights;
    std::uint64_t bytes;
  } rows[] = {
      {"deepseek-v3.2", "mlx-4bit", 378085857792},  // routers in 16 bit
      {"deepseek-v3.2", "bf16", 1343755917824},
      {"glm-5.2", "mlx-3bit", 325647396864},    // an indexer in every layer
      {"gpt-oss-20b", "mlx-3bit", 9162480768},  // routers in 8 bit
      {"gpt-oss-20b", "mlx-8bit", 22228464768},
      {"llama-4-scout", "mlx-4bit", 60621260800},
      {"llama-4-scout", "bf16", 215539722240},
      {"gemma-3n-e4b", "bf16", 13733393376},  // projections in layers that share a cache
  };
  for (const auto& row : rows) {
    CAPTURE(row.config);
    CAPTURE(row.weights);
    CHECK(*weighed(test_model(row.config), row.weights).memory.front().weights == Bytes(row.bytes));
  }
  // The plan's parameters are the module's. Other engines include the tower.
  const ModelSpec scout = test_model("llama-4-scout");
  CHECK(weighed(scout, "bf16").model->parameters.total == 107769861120);
  CHECK(make_plan(scout, request_for("vllm", 1)).model->parameters.total > 108000000000);
}

TEST_CASE("MLX: modules whose cache differs from their architecture's") {
  const auto cache = [](std::string_view config) { return cache_of(read_config(config, "", "", {}), 257); };
  // DeepSeek-V2 caches keys of 32 + 32 and values of 16 for 4 heads in 4 layers, not latents.
  CHECK(
      cache(R"({"model_type": "deepseek_v2", "hidden_size": 128, "intermediate_size": 256, "moe_intermediate_size": 256,
    "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 4, "kv_lora_rank": 4, "q_lora_rank": 4,
    "qk_rope_head_dim": 32, "v_head_dim": 16, "qk_nope_head_dim": 32, "vocab_size": 1024,
    "torch_dtype": "bfloat16"})") == Bytes(512 * 4 * 4 * (64 + 16) * 2));
  // Pairs of Hunyuan's layers share keys and values, but each layer has a cache.
  CHECK(cache(R"({"model_type": "hunyuan", "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 4,
    "num_attention_heads": 4, "num_key_value_heads": 2, "moe_topk": 2, "num_experts": 2, "num_shared_expert": 1,
    "use_mixed_mlp_moe": true, "use_cla": true, "cla_share_factor": 2, "vocab_size": 1000,
    "torch_dtype": "bfloat16"})") == Bytes(524288));
}

TEST_CASE("MLX: caches in lists are not quantized") {
  // Executed: with kv_bits=4, generate_step leaves the KVCache of DeepSeek-V3.2 and Falcon-H1 unquantized.
  for (const char* config : {"deepseek-v3.2", "falcon-h1-1.5b"}) {
    CAPTURE(config);
    const ModelSpec model = test_model(config);
    Request request = request_for("mlx", 5000);
    request.cache_type_k = request.cache_type_v = Dtype::kInt4;
    const Plan plan = make_plan(model, request);
    CHECK(plan.kv_cache.reserved == cache_of(model, 5000));
    CHECK_FALSE(plan.verdict.refusal.has_value());
  }
}

TEST_CASE("MLX: FP8 checkpoints that a module unpacks are loaded in 16 bit") {
  // 671,877,944,064 parameters in bfloat16 except the routers' biases; the config declares FP8.
  const Plan plan = make_plan(test_model("deepseek-v3.2"), request_for("mlx", 1));
  CHECK(*plan.memory.front().weights == Bytes(1343755917824));
  CHECK(plan.weights_dtype == "bfloat16");
}

TEST_CASE("MLX: a model_type without a module is refused") {
  const auto refusal = [](const char* config) {
    return make_plan(test_model(config), request_for("mlx", 1)).verdict.refusal;
  };
  for (const char* config :
       {"deepseek-v4-flash", "hunyuan-a13b", "jetmoe-8b", "molmo-7b-d", "rwkv6-1.6b", "t5-large"}) {
    CAPTURE(config);
    REQUIRE(refusal(config).has_value());
    CHECK(refusal(config)->id == "architecture");
  }
  for (const char* config : {"rwkv7-2.9b", "mixtral-8x7b", "falcon-mamba-7b", "nemotron-super-49b", "llama-3.1-8b"}) {
    CAPTURE(config);
    CHECK_FALSE(refusal(config).has_value());
  }
}

TEST_CASE("MLX: packed checkpoints that its loader refuses") {
  const auto refusal = [](std::string_view id) {
    return make_plan(load_published(*find_published(id).model, std::string(id), {}), request_for("mlx", 1))
        .verdict.refusal;
  };
  // mlx_lm/utils.py of 0.32.2: of ModelOpt NVFP4 only, of compressed-tensors no FP8.
  for (const std::string_view id : {"nvidia/Qwen3.6-27B-NVFP4", "nvidia/Llama-3.1-70B-Instruct-FP8",
                                    "RedHatAI/Llama-4-Scout-17B-16E-Instruct-FP8-dynamic"}) {
    CAPTURE(id);
    REQUIRE(refusal(id).has_value());
    CHECK(refusal(id)->id == "quantization");
  }
  for (const std::string_view id : {"nvidia/Gemma-4-31B-IT-NVFP4", "Qwen/Qwen3-8B-AWQ", "openai/gpt-oss-20b"}) {
    CAPTURE(id);
    CHECK_FALSE(refusal(id).has_value());
  }
}

Plan prefill(const char* config, const char* engine, std::uint64_t tokens,
             std::optional<std::uint64_t> step = std::nullopt, const char* card = nullptr) {
  Request request = request_for(engine, tokens);
  request.weights = "mlx-4bit";
  if (step) request.max_num_batched_tokens = Tokens(*step);
  if (card != nullptr) request.card.gpu = &request.card.known().parse(card);
  return make_plan(observed_model(config), request);
}
Bytes scores_of(const Plan& plan) {
  return line_of(plan, LineId::kScores).bytes;
}

TEST_CASE("MLX: the scores of a prefill step are stored if Metal has no fused attention") {
  // 24 heads of 256: LM Studio's log prints 98,304 B for each token of the context.
  CHECK(scores_of(prefill("qwen3.5-27b", "mlx", 131200)) == Bytes(std::uint64_t{131200} * 98304));
  CHECK(scores_of(prefill("qwen3.5-27b", "mlx", 131200, 512)) == Bytes(std::uint64_t{131200} * 24576));
  CHECK(scores_of(prefill("qwen3-8b", "mlx", 32768)) == Bytes(0));
  // Phi-2's heads of 80 are fused in every release, heads of 96 since 0.32.
  CHECK(scores_of(prefill("phi-2", "mlx@0.31", 2048)) == Bytes(0));
  CHECK(scores_of(prefill("phi-3.5-mini", "mlx", 4096)) == Bytes(0));
  CHECK(scores_of(prefill("phi-3.5-mini", "mlx@0.31", 4096)) == Bytes(std::uint64_t{2048} * 4096 * 32 * 2));
  // An M5 fuses steps of 1,024 tokens and more, so the rest of a prompt is not fused if it is shorter.
  CHECK(scores_of(prefill("qwen3.5-27b", "mlx", 131200, std::nullopt, "m5-max-128gb")) ==
        Bytes(std::uint64_t{1023} * 131200 * 24 * 2));
  CHECK(scores_of(prefill("qwen3.5-27b", "mlx@0.31", 131200, std::nullopt, "m5-max-128gb")) ==
        Bytes(std::uint64_t{131200} * 98304));
  // In latent attention the scores of the rope part exist with and without the mask.
  CHECK(scores_of(prefill("deepseek-v3", "mlx", 4096)) == Bytes(std::uint64_t{2048} * 4096 * 128 * 2 * 2));
}

TEST_CASE("MLX: peaks of prompts that users measured") {
  const struct {
    const char* config;
    std::uint64_t tokens, step;
    double peak;  // 10^9 bytes
  } rows[] = {
      {"qwen3.5-35b-a3b", 8192, 2048, 21.7},   {"qwen3.5-35b-a3b", 65536, 2048, 26.7},  // ml-explore/mlx-lm#1480
      {"qwen3.5-35b-a3b", 196608, 2048, 38.0}, {"qwen3.8-27b", 131072, 2048, 39.78},    // ml-explore/mlx-lm#1781
      {"qwen3.8-27b", 131072, 1024, 32.26},    {"qwen3.8-27b", 131072, 512, 28.54},
      {"qwen3.8-27b", 131072, 256, 26.52},     {"deepseek-v3", 4096, 2048, 383.213},  // ml-explore/mlx-lm#839
      {"deepseek-v3", 8192, 2048, 388.343},    {"deepseek-v3", 16384, 2048, 398.605},
  };
  for (const auto& row : rows) {
    CAPTURE(row.config);
    CAPTURE(row.tokens);
    CAPTURE(row.step);
    const Plan plan = prefill(row.config, "mlx", row.tokens, row.step);
    CHECK(static_cast<double>(plan.memory.front().total.count()) / 1e9 == doctest::Approx(row.peak).epsilon(0.05));
  }
  // Mamba-2's scan of a prompt of 2,048 tokens (ml-explore/mlx-lm#525), and a prompt of 128 (ml-explore/mlx-lm#478).
  for (const auto& [id, tokens, peak] : {std::tuple{"ibm-granite/granite-4.0-h-small", 2050, 23.501},
                                         {"Qwen/Qwen3-Next-80B-A3B-Instruct", 256, 45.09}}) {
    Request request = request_for("mlx", static_cast<std::uint64_t>(tokens));
    request.weights = "mlx-4bit";
    const Plan plan = make_plan(load_published(*find_published(id).model, id, {}), request);
    CHECK(static_cast<double>(plan.memory.front().total.count()) / 1e9 == doctest::Approx(peak).epsilon(0.02));
  }
}

TEST_CASE("MLX: a quantized cache costs more than it saves if its scores are stored") {
  // unslothai/unsloth-zoo#1151: 9.97 GB above the weights with 4 bit, 5.67 GB with 16 bit.
  Request request = request_for("mlx", 32768);
  request.weights = "mlx-4bit";
  const ModelSpec model = observed_model("qwen3-4b");
  const Bytes plain = make_plan(model, request).memory.front().total;
  request.cache_type_k = request.cache_type_v = Dtype::kInt4;
  const Plan quantized = make_plan(model, request);
  CHECK(scores_of(quantized) == Bytes(std::uint64_t{2048} * 32768 * 32 * 2 * 2));
  CHECK(quantized.memory.front().total > plain);
}

}  // namespace
}  // namespace kvplan
