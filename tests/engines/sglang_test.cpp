#include <doctest/doctest.h>

#include "engines/requests.h"
#include "kvplan/error.h"
#include "models/read.h"
#include "plan/plan.h"
#include "report/words.h"
#include "support/figures.h"

namespace kvplan {
namespace {

std::uint64_t tokens_of(const std::string& model_name, const Request& request) {
  const ModelSpec model = test_model(model_name);
  return make_plan(model, request).capacity->tokens.value();
}

TEST_CASE("SGLang: tokens of a plain pool, as its log prints them") {
  // sgl-project/sglang#6753: "#tokens: 871371, K size: 53.18 GB, V size: 53.18 GB" for 32 layers of 8 heads of 128.
  CHECK(tokens_of("llama-3.1-8b", request_for("sglang", 8192, 871371 * std::uint64_t{131072})) == 871371);
  CHECK(tokens_of("llama-3.1-8b", request_for("sglang", 8192, 871371 * std::uint64_t{131072} - 1)) == 871370);
  // sgl-project/sglang#6001, TP 8: "#tokens: 720206, KV size: 47.13 GB". Every rank has the whole latent.
  Request request = request_for("sglang", 8192, 720206 * std::uint64_t{70272});
  request.parallel.tensor = 8;
  CHECK(tokens_of("deepseek-v3", request) == 720206);
}

// `kvplan verify` ran 0.5.23 for these public configs, reduced to what decides.
TEST_CASE("SGLang: what it makes of public checkpoints") {
  const auto plan_of = [](const std::string& config, const char* engine = "sglang@0.5.23") {
    Request request = request_for(engine, 2048);
    request.card.gpu = &parse_gpu("h100-80gb");
    return make_plan(parse_model(config), request);
  };
  const auto refusal = [&](const std::string& config, const char* engine = "sglang@0.5.23") {
    const auto found = plan_of(config, engine).verdict.refusal;
    return found ? std::string(found->id) : std::string();
  };
  const std::string llama = R"({"architectures":["LlamaForCausalLM"],"model_type":"llama","hidden_size":2560,
      "intermediate_size":10240,"num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":32,
      "max_position_embeddings":128000,"vocab_size":49152,"attention_bias":true,"mlp_bias":true,
      "tie_word_embeddings":true,"torch_dtype":"bfloat16")";
  // Granite-3B-Code-128k: SGLang has none of the 1,474,560 bytes of its MLPs' biases.
  std::string unbiased = llama;
  unbiased.replace(unbiased.find(R"("mlp_bias":true)"), 15, R"("mlp_bias":false)");
  const auto weights = [&](const std::string& config, const char* engine) {
    return plan_of(config + "}", engine).memory[0].weights->count();
  };
  CHECK(weights(llama, "sglang@0.5.23") == weights(unbiased, "sglang@0.5.23"));
  CHECK(weights(llama, "vllm@0.33") > weights(unbiased, "vllm@0.33"));
  // GPTQ in 3 bits (Genz-70B), without symmetry, and MLX's quantization_config (Qwen3-14B-MLX-4bit).
  const std::string gptq = llama + R"(,"quantization_config":{"quant_method":"gptq","group_size":128,"bits":)";
  CHECK(refusal(gptq + R"(3,"sym":true}})") == "quantization");
  CHECK(refusal(gptq + R"(3,"sym":true}})", "sglang@0.5.19").empty());
  CHECK(refusal(gptq + R"(4,"sym":false}})") == "quantization");
  CHECK(refusal(gptq + R"(4,"sym":true}})").empty());
  CHECK(refusal(llama + R"(,"quantization_config":{"group_size":64,"bits":4}})") == "quantization");
  // Falcon-180B. transformers' class does not run either.
  CHECK(refusal(R"({"architectures":["FalconForCausalLM"],"model_type":"falcon","hidden_size":4544,
      "num_hidden_layers":32,"num_attention_heads":71,"vocab_size":65024})") == "model_class");
  // Laguna-XS.2-FP8: 248,468 tokens, those of a cache in 16 bit.
  const std::string scheme = R"(,"quantization_config":{"quant_method":"compressed-tensors","format":"float-quantized",
      "config_groups":{"group_0":{"targets":["Linear"],"weights":{"num_bits":8,"type":"float","strategy":"tensor"}}},
      "kv_cache_scheme":{"num_bits":8,"type":"float"}}})";
  CHECK(plan_of(llama + scheme).types.key == Dtype::kBfloat16);
  CHECK(plan_of(llama + scheme, "vllm@0.33").types.key == Dtype::kFp8E4m3);
  // AIN (Qwen2-VL-7B): its file leaves out the tower's sizes, and the class has a hidden_size of 3,584.
  CHECK(*plan_of(R"({"architectures":["Qwen2VLForConditionalGeneration"],"model_type":"qwen2_vl","hidden_size":3584,
      "intermediate_size":18944,"num_hidden_layers":28,"num_attention_heads":28,"num_key_value_heads":4,
      "vocab_size":152064,"vision_config":{"in_chans":3,"model_type":"qwen2_vl","spatial_patch_size":14}})")
             .settings.memory_fraction == doctest::Approx(0.6346));
}

TEST_CASE("SGLang: tokens come in whole pages, and one page is a dummy") {
  Request request = request_for("sglang", 1000, 10 * kGiB);
  request.block_size = 64;
  const ModelSpec model = test_model("llama-3.1-8b");
  const Plan plan = make_plan(model, request);
  CHECK(plan.capacity->tokens == 81920);
  CHECK(plan.kv_cache.reserved == Bytes((1024 + 64) * 131072));
  CHECK(plan.kv_cache.block_size == 64);
}

TEST_CASE("SGLang: a second pool of 0.8 of the tokens for sliding layers") {
  // A public log of Gemma-4-26B: 12.16 GiB in pages of 256 are 70656 tokens.
  Request request = request_for("sglang", 8192, static_cast<std::uint64_t>(12.16 * kGiB));
  request.block_size = 256;
  const std::uint64_t tokens = tokens_of("gemma-4-26b", request);
  CHECK(tokens % 256 == 0);
  CHECK(tokens >= 70136);
  CHECK(tokens <= 71176);
  // gpt-oss-20b: 12 full and 12 sliding layers of 2048 B; 8 GiB / (24576 * 1.8).
  CHECK(tokens_of("gpt-oss-20b", request_for("sglang", 4096, 8 * kGiB)) == 194180);
}

TEST_CASE("SGLang: a window pool smaller than a window does not fit, and the plan says what would fit") {
  const ModelSpec model = test_model("gpt-oss-20b");
  const Plan small = make_plan(model, request_for("sglang", 1024, 5 << 20));
  CHECK(small.verdict.status == Verdict::kDoesNotFit);
  CHECK(reason_of(small.verdict).find("window") != std::string::npos);
  const auto at = reason_of(small.verdict).find("give the KV cache ");
  REQUIRE(at != std::string::npos);
  REQUIRE(reason_of(small.verdict).find(" MiB per GPU", at) != std::string::npos);
  const auto remedy = static_cast<std::uint64_t>(std::stod(reason_of(small.verdict).substr(at + 18)) * (1 << 20));
  CHECK(make_plan(model, request_for("sglang", 1024, remedy)).verdict.status == Verdict::kFits);
  // The suggestion is rounded up to a tenth of a MiB.
  CHECK(make_plan(model, request_for("sglang", 1024, remedy - (1 << 18))).verdict.status == Verdict::kDoesNotFit);
}

TEST_CASE("SGLang: 0.9 / 1.9 of the budget is state slots, one of them padding") {
  // A public log of this geometry: 125 slots (124 + 1) take 0.34 + 17.58 GiB, beside 20.16 GiB of KV.
  const ModelSpec model = test_model("qwen3.5-27b");
  const Plan plan = make_plan(model, request_for("sglang", 8192, static_cast<std::uint64_t>(38.25 * kGiB)));
  CHECK(plan.kv_cache.bytes_per_sequence == Bytes(153944064));
  CHECK(plan.capacity->tokens.value() > 327019);
  CHECK(plan.capacity->tokens.value() < 333626);
  const Plan none = make_plan(model, request_for("sglang", 8192, 300 << 20));
  CHECK(none.verdict.status == Verdict::kDoesNotFit);
  CHECK(reason_of(none.verdict).find("state slot") != std::string::npos);
}

TEST_CASE("SGLang: bytes per token of sparse MLA") {
  Request request = request_for("sglang", 8192, 40 * kGiB);
  CHECK(tokens_of("deepseek-v3.2", request) == 40 * kGiB / ((1152 + 132) * 61) / 64 * 64);
  request.cache_type_k = request.cache_type_v = Dtype::kFp8E4m3;
  CHECK(tokens_of("deepseek-v3.2", request) == 40 * kGiB / ((656 + 132) * 61) / 64 * 64);
  // GLM-5.2 has index keys on 21 of 78 layers. In older releases every layer had a buffer.
  CHECK(tokens_of("glm-5.2", request_for("sglang", 8192, 40 * kGiB)) == 40 * kGiB / (1152 * 78 + 132 * 21) / 64 * 64);
  for (const char* engine : {"sglang@0.4", "sglang@0.5.17"})  // skip_topk_layers: not in 0.5.17
    CHECK(tokens_of("glm-5.2", request_for(engine, 8192, 40 * kGiB)) == 40 * kGiB / ((1152 + 132) * 78) / 64 * 64);
  CHECK(tokens_of("glm-5.2", request_for("sglang@0.5.18", 8192, 40 * kGiB)) ==
        40 * kGiB / (1152 * 78 + 132 * 21) / 64 * 64);
}

TEST_CASE("SGLang: cache types with scales") {
  Request request = request_for("sglang", 8192, 8 * kGiB);
  request.cache_type_k = request.cache_type_v = Dtype::kNvfp4;
  CHECK(tokens_of("llama-3.1-8b", request) == 8 * kGiB / (65536 * 9 / 16));
  request.cache_type_k = request.cache_type_v = Dtype::kMxfp8;
  CHECK(tokens_of("llama-3.1-8b", request) == 8 * kGiB / (65536 * 33 / 32));
  request.cache_type_k = request.cache_type_v = Dtype::kQ8_0;
  CHECK_THROWS_AS(tokens_of("llama-3.1-8b", request), Error);
}

TEST_CASE("SGLang: with DP attention each data parallel rank has its own pool") {
  Request request = request_for("sglang", 8192, 8 * kGiB);
  request.parallel.tensor = 8;
  request.parallel.data = 4;
  request.num_seqs = 4;
  request.parallel.given = true;
  request.parallel.dp_attention = true;
  const ModelSpec model = test_model("llama-3.1-8b");
  const Plan plan = make_plan(model, request);
  CHECK(plan.memory.size() == 8);
  CHECK(plan.capacity->tokens == 8 * kGiB / 65536);  // two ranks share the 8 heads
  request.parallel.data = 3;
  CHECK_THROWS_AS(make_plan(model, request), Error);
}

const LedgerLine& weights_line(const Plan& plan, std::string_view what) {
  static const LedgerLine kNone;
  for (const LedgerLine& line : plan.memory.front().lines)
    if (line.part == Section::kWeights && in_words(line.what) == what) return line;
  return kNone;
}

// The model's sizes: 61 layers of 187,107,328 attention weights, a table of 129,280 x 7,168. Per rank, tp 8 and dp 2:
// 82.82 GiB with the whole table, 81.53 GiB with a quarter of it (SGLang's pull request 17403; absorbed maps in
// bfloat16 are among them).
TEST_CASE("SGLang: with DP attention a rank has its own attention and table, and a share of the rest") {
  const ModelSpec model = test_model("deepseek-v3");
  const auto plan = [&](const char* engine, std::uint64_t copies) {
    Request request = request_for(engine, 8192);
    request.parallel.tensor = 8;
    request.parallel.data = copies;
    request.parallel.given = true;
    request.parallel.dp_attention = true;
    return make_plan(model, request);
  };
  const Plan eight = plan("sglang", 8);
  CHECK(eight.memory.size() == 8);
  CHECK(in_words(weights_line(eight, "attention").formula).starts_with("11413422324 elements"));
  CHECK(weights_line(eight, "embedding").bytes == Bytes(std::uint64_t{129280} * 7168 * 2));
  CHECK(weights_line(eight, "lm_head").bytes == Bytes(std::uint64_t{129280} * 7168 * 2 / 8));
  CHECK(weights_line(eight, "experts").bytes == weights_line(plan("sglang", 1), "experts").bytes);
  const double cut = static_cast<double>(plan("sglang", 2).memory.front().weights->count());
  const double whole = static_cast<double>(plan("sglang@0.4", 2).memory.front().weights->count());
  CHECK((whole - cut) / kGiB == doctest::Approx(82.82 - 81.53).epsilon(0.01));
  CHECK(cut / kGiB == doctest::Approx(81.53).epsilon(0.01));
  Request request = request_for("sglang", 8192);
  request.parallel.tensor = request.parallel.data = 8;
  CHECK(request.parallel.gpus() == 64);
  request.parallel.dp_attention = true;
  CHECK(request.parallel.gpus() == 8);
}

TEST_CASE("SGLang and TensorRT-LLM split attention by whole heads, with latents or without") {
  for (const char* engine : {"sglang", "tensorrt-llm"}) {
    Request request = request_for(engine, 8192);
    request.parallel.given = true;
    for (const std::uint64_t ranks : {3U, 6U}) {
      request.parallel.tensor = ranks;  // of DeepSeek-V3's 128 heads
      CHECK_THROWS_WITH_AS(make_plan(test_model("deepseek-v3"), request), doctest::Contains("128"), Error);
    }
    request.parallel.tensor = 4;
    CHECK_NOTHROW(make_plan(test_model("deepseek-v3"), request));
  }
}

TEST_CASE("SGLang on AMD keeps the indices of packed experts' groups") {
  // CompressedTensorsWNA16TritonMoE: an index and an order of every input of an expert's two matrices, in 32 bit. A log
  // of Kimi-K2.5 on eight MI35x prints 73.58 GiB per rank (1.6 GiB more than Marlin's form).
  const ModelSpec model = read_config(R"({"model_type":"qwen3_moe","architectures":["Qwen3MoeForCausalLM"],
      "hidden_size":2048,"intermediate_size":6144,"moe_intermediate_size":768,"num_hidden_layers":2,
      "num_attention_heads":32,"num_key_value_heads":4,"head_dim":128,"num_experts":128,"num_experts_per_tok":8,
      "vocab_size":151936,"max_position_embeddings":40960,"quantization_config":{"quant_method":"compressed-tensors",
      "format":"pack-quantized","config_groups":{"group_0":{"targets":["Linear"],"weights":{"num_bits":4,
      "type":"int","strategy":"group","group_size":32,"symmetric":true}}},"ignore":["lm_head"]}})",
                                      "", "packed", {});
  const auto weights = [&](const char* card) {
    Request request = request_for("sglang", 4096);
    request.card.gpu = &parse_gpu(card);
    request.parallel.tensor = 2;
    const Plan plan = make_plan(model, request);
    std::uint64_t out = 0;
    for (const LedgerLine& line : plan.memory.front().lines)
      if (in_words(line.what) == "experts") out += line.bytes.count();
    return out;
  };
  CHECK(weights("mi355x") - weights("h200") == 2 * 128 * 2 * (2048 + 768 / 2) * 4);
}

TEST_CASE("SGLang: on Blackwell, DeepSeek-V4's scales are float32, but only those of MXFP4 experts") {
  const auto experts = [](const char* card, const char* dtype) {
    const ModelSpec model = read_config(R"({"architectures":["DeepseekV4ForCausalLM"],"model_type":"deepseek_v4",
        "hidden_size":512,"num_hidden_layers":2,"num_attention_heads":4,"num_key_value_heads":1,"head_dim":512,
        "q_lora_rank":256,"o_lora_rank":256,"o_groups":4,"qk_rope_head_dim":64,"moe_intermediate_size":256,
        "n_routed_experts":8,"n_shared_experts":1,"num_experts_per_tok":2,"vocab_size":1000,"compress_ratios":[0,4],
        "quantization_config":{"quant_method":"fp8","fmt":"e4m3","weight_block_size":[128,128]})" +
                                            std::string(dtype) + "}",
                                        "", "test", {});
    Request request = request_for("sglang", 4096);
    request.card.gpu = &parse_gpu(card);
    std::uint64_t out = 0;
    const Plan plan = make_plan(model, request);
    for (const LedgerLine& line : plan.memory.front().lines)
      if (in_words(line.what) == "experts") out += line.bytes.count();
    return out;
  };
  constexpr std::uint64_t kScales = 2 * 8 * 3 * 256 * 512 / 32;  // of two layers of eight experts of three matrices
  const char* const fp4 = R"(,"expert_dtype":"fp4")";
  CHECK(experts("b200-180gb", fp4) - experts("h100-80gb", fp4) == 3 * kScales);
  CHECK(experts("b200-180gb", "") == experts("h100-80gb", ""));
}

TEST_CASE("SGLang: Gemma 4's norm of values is as wide as a head, even with one KV head") {
  const auto attention = [](int num_kv_heads) {
    const ModelSpec model = read_config(
        R"({"architectures": ["Gemma4ForCausalLM"], "model_type": "gemma4_text", "num_hidden_layers": 2,
            "hidden_size": 512, "num_attention_heads": 4, "head_dim": 256, "global_head_dim": 256,
            "intermediate_size": 512, "vocab_size": 1000, "num_key_value_heads": )" +
            std::to_string(num_kv_heads) + R"(, "layer_types": ["sliding_attention", "sliding_attention"]})",
        "", "test", {});
    std::uint64_t out = 0;
    const Plan plan = make_plan(model, request_for("sglang", 4096, 10 * kGiB));
    for (const LedgerLine& line : plan.memory.front().lines)
      if (in_words(line.what) == "attention") out += line.bytes.count();
    return out;
  };
  // One more head means one more key and value projection in each of two layers, and no norm.
  CHECK(attention(2) - attention(1) == 2 * 2 * 256 * 512 * 2);
}

TEST_CASE("SGLang: models outside its list keep every token of their windows") {
  const ModelSpec model = test_model("gemma-3n-e4b");
  const Plan plan = make_plan(model, request_for("sglang", 4096));
  CHECK(plan.kv_cache.reserved > plan.kv_cache.logical);
  // All 35 layers, including the 15 that read another layer's cache: 71,680 B per token (executed).
  CHECK(plan.kv_cache.reserved == Bytes((4096 + 1) * std::uint64_t{35 * 2 * 2 * 256 * 2}));
}

}  // namespace
}  // namespace kvplan
