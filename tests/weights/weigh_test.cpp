// Bytes of weight types, dialects, mixtures and ranks.
#include "weights/weigh.h"

#include <doctest/doctest.h>

#include <string>

#include "kvplan/error.h"
#include "sources/load.h"
#include "support/figures.h"
#include "weights/rules.h"
#include "weights/types.h"

namespace kvplan {
namespace {

std::string llama(const std::string& more = "") {
  return R"({"model_type":"llama","hidden_size":4096,"intermediate_size":14336,"num_hidden_layers":32,
      "num_attention_heads":32,"num_key_value_heads":8,"vocab_size":128256,"max_position_embeddings":8192,
      "torch_dtype":"bfloat16","tie_word_embeddings":false)" +
         more + "}";
}

std::uint64_t bytes_of(const ModelSpec& model, const char* type = nullptr) {
  WeightRequest request;
  if (type != nullptr) request.type = type;
  return weigh(model, request).total.count();
}

TEST_CASE("bits of a matrix with its scales and zero points") {
  const auto bits = [](const char* name, std::uint64_t rows, std::uint64_t columns) {
    const WeightType* type = find_weight_type(name);
    REQUIRE(type != nullptr);
    return matrix_bytes(*type, rows, columns).count();
  };
  CHECK(bits("bf16", 128, 128) == 32768);
  CHECK(bits("fp8-block", 129, 128) == 129 * 128 + 2 * 4);
  CHECK(bits("int8", 64, 256) == 64 * 256 + 64 * 2);
  // 4 bits, a 16-bit scale and a 4-bit zero point for each 128, and a 32-bit order for each input.
  CHECK(bits("gptq", 256, 1024) == 256 * 512 + 256 * 8 * 2 + 256 * 8 / 2 + 1024 * 4);
  CHECK(bits("awq", 256, 1024) == 256 * 512 + 256 * 8 * 2 + 256 * 8 / 2);
  // Double quantization: 8 bits for each 64, 32 for each 256 of those.
  CHECK(bits("nf4", 1024, 1024) == 524288 + 16384 + 64 * 4);
  CHECK(bits("nvfp4", 16, 64) == 512 + 64 + 8);
  CHECK(bits("nvfp4", 16, 88) == 704 + 16 * 5 + 8);  // modelopt.py: intermediate_size_per_partition // group_size
  CHECK(bits("mxfp4", 16, 64) == 512 + 32);
  CHECK(bits("mlx-4bit", 16, 128) == 1024 + 16 * 2 * 4);
}

TEST_CASE("an unknown type lists the known ones") {
  CHECK_THROWS_WITH_AS(check_weight_type("int7.5"), doctest::Contains("gptq-int4"), Error);
  CHECK_THROWS_AS(bytes_of(parse_model(llama()), "q9_k"), Error);
  CHECK_NOTHROW(check_weight_type("exl2-4.25"));
  CHECK_NOTHROW(check_weight_type("Q4_K_M"));
}

// Sizes that llama.cpp's own type selection gives for Llama 3.1 8B.
TEST_CASE("weights: llama.cpp's mixed types") {
  const ModelSpec model = parse_model(llama());
  // A GGUF also has 64 floats of rotary factors.
  constexpr std::uint64_t kFactors = 256;
  CHECK(bytes_of(model, "q4_0") + kFactors == 4653375744);
  CHECK(bytes_of(model, "q4_k_m") + kFactors == 4912898304);
  CHECK(bytes_of(model, "q8_0") + kFactors == 8532934912);
  CHECK(bytes_of(model, "q2_k") + kFactors == 3171295488);
}

// Llama 3.1 8B: the linear layers of its blocks, and the bytes of what stays 16 bit.
constexpr std::uint64_t kLinear = 6979321856;
constexpr std::uint64_t kRest = 2 * (1050673152 + 266240);

// Computed from the published AWQ and FP8 checkpoints: the blocks' linear layers are packed, the rest stays in 16 bit.
TEST_CASE("weights: a declared quantization takes precedence") {
  CHECK(bytes_of(parse_model(llama())) == 2 * 8030261248);
  CHECK(bytes_of(parse_model(
            llama(R"(,"quantization_config":{"quant_method":"awq","bits":4,"group_size":128,"zero_point":true})"))) ==
        kLinear / 2 + kLinear / 128 * 5 / 2 + kRest);
  const std::string groups =
      R"(,"quantization_config":{"quant_method":"compressed-tensors","ignore":["lm_head","re:.*self_attn.*"],
      "config_groups":{"group_0":{"targets":["Linear"],"weights":{"num_bits":8,"type":"float","strategy":"tensor"}}}})";
  constexpr std::uint64_t kAttention = 32 * (4096ULL * 4096 * 2 + 4096ULL * 1024 * 2);
  CHECK(bytes_of(parse_model(llama(groups))) == kLinear - kAttention + 2 * kAttention + kRest + 32 * 3 * 8);
  // An hf_quant_config.json next to a config without a quantization.
  CHECK(bytes_of(parse_model(llama(), R"({"quantization":{"quant_algo":"FP8","exclude_modules":["lm_head"]}})")) ==
        kLinear + kRest + 32 * 7 * 8);
}

// What the packers store besides the weights: GPTQModel's overrides, AutoAWQ's block names, zero points of
// compressed-tensors, 2:4 sparsity, AQLM's codebooks, Quark's layer map, torchao's classes.
TEST_CASE("weights: every dialect of quantization and its exceptions") {
  constexpr std::uint64_t kDown = 32 * 4096ULL * 14336;
  constexpr std::uint64_t kAttention = 32 * (4096ULL * 4096 * 2 + 4096ULL * 1024 * 2);
  constexpr std::uint64_t kInputs = 4ULL * 32 * (6 * 4096 + 14336);  // GPTQ's g_idx
  constexpr std::uint64_t kOutputs = 32 * (4096 + 1024 + 1024 + 4096 + 14336 + 14336 + 4096ULL);
  const auto stored = [](const std::string& quantization) {
    return bytes_of(parse_model(llama(",\"quantization_config\":" + quantization)));
  };
  const auto groups = [&](std::string_view format, std::string_view weights, std::string_view more = "") {
    return stored(R"({"quant_method":"compressed-tensors","format":")" + std::string(format) +
                  R"(","ignore":["lm_head"],"config_groups":{"group_0":{"targets":["Linear"],"weights":)" +
                  std::string(weights) + "}}" + std::string(more) + "}");
  };
  CHECK(stored(R"({"quant_method":"gptq","bits":4,"group_size":128,
                   "dynamic":{"+:.*down_proj":{"bits":8,"group_size":32}}})") ==
        (kLinear - kDown) / 2 + (kLinear - kDown) / 128 * 5 / 2 + kDown + kDown / 32 * 3 + kInputs + kRest);
  CHECK(stored(R"({"quant_method":"awq","bits":4,"group_size":128,"modules_to_not_convert":["model.layers.0."]})") ==
        kLinear / 32 * 31 / 2 + kLinear / 32 * 31 / 128 * 5 / 2 + kLinear / 32 * 2 + kRest);
  CHECK(groups("pack-quantized",
               R"({"num_bits":4,"type":"int","strategy":"group","group_size":128,"symmetric":false})") ==
        kLinear / 2 + kLinear / 128 * 5 / 2 + kRest);
  CHECK(groups("float-quantized", R"({"num_bits":8,"type":"float","strategy":"tensor"})",
               R"(,"sparsity_config":{"format":"sparse-24-bitmask"})") ==
        kLinear / 2 + kLinear / 8 + kRest + 32 * 7 * 8);
  CHECK(stored(R"({"quant_method":"aqlm","in_group_size":8,"num_codebooks":2,"nbits_per_codebook":8})") ==
        kLinear / 4 + 2 * kOutputs + 32 * 7 * 2 * 256 * 8 * 2 + kRest);
  CHECK(stored(R"({"quant_method":"quark","global_quant_config":{"weight":{"dtype":"fp4","qscheme":"per_group",
                   "group_size":32}},"exclude":["lm_head"],
                   "layer_quant_config":{"*self_attn*":{"weight":{"dtype":"fp8_e4m3","qscheme":"per_tensor"}}}})") ==
        (kLinear - kAttention) / 2 + (kLinear - kAttention) / 32 + kAttention + kRest + 32 * 4 * 8);
  const std::uint64_t torchao = kLinear / 2 + kLinear / 128 * 4 + kRest;
  CHECK(
      stored(R"({"quant_method":"torchao","quant_type":"int4_weight_only","quant_type_kwargs":{"group_size":128}})") ==
      torchao);
  CHECK(stored(R"({"quant_method":"torchao","quant_type":{"default":{"_type":"Int4WeightOnlyConfig",
                   "_data":{"group_size":128}}}})") == torchao);
  CHECK(bytes_of(parse_model(llama(), R"({"quantization":{"quant_algo":"W8A8_SQ_PER_CHANNEL"}})")) ==
        kLinear + 2 * kOutputs + kRest);
}

// bitsandbytes also replaces the linear layers of a tower and its projector, unless its list excludes them.
TEST_CASE("weights: a tower in NF4, or on the list of modules that are skipped") {
  const std::string llava = R"({"model_type":"llava","text_config":{"model_type":"llama","vocab_size":32064},
      "vision_config":{"model_type":"clip_vision_model","hidden_size":1024,"image_size":336,"intermediate_size":4096,
      "num_attention_heads":16,"num_hidden_layers":24,"patch_size":14},"torch_dtype":"bfloat16","quantization_config":{
      "quant_method":"bitsandbytes","load_in_4bit":true,"bnb_4bit_use_double_quant":true)";
  constexpr std::uint64_t kTotal = 7063427072;  // LLaVA-1.5-7B
  constexpr std::uint64_t kText = 32 * (4ULL * 4096 * 4096 + 3ULL * 4096 * 11008);
  constexpr std::uint64_t kTower = 24 * (4ULL * 1024 * 1024 + 2ULL * 1024 * 4096);
  constexpr std::uint64_t kProjector = 1024ULL * 4096 + 4096ULL * 4096;
  const auto packed = [](std::uint64_t linear) { return linear / 2 + linear / 64 + linear / 64 / 256 * 4; };
  CHECK(bytes_of(parse_model(llava + "}}")) ==
        packed(kText) + packed(kTower) + packed(kProjector) + 2 * (kTotal - kText - kTower - kProjector));
  CHECK(bytes_of(
            parse_model(llava + R"(,"llm_int8_skip_modules":["lm_head","vision_tower","multi_modal_projector"]}})")) ==
        packed(kText) + 2 * (kTotal - kText));
}

TEST_CASE("an unknown dialect widens the range") {
  const WeightReport report = weigh(parse_model(llama(R"(,"quantization_config":{"quant_method":"novaquant"})")), {});
  CHECK(report.low < report.total);
  CHECK(report.total < report.high);
  REQUIRE(!report.notes.empty());
  CHECK(report.notes.front().code == "unknown_quantization");
}

TEST_CASE("a group that does not divide the inputs is an error") {
  CHECK_THROWS_AS(
      bytes_of(parse_model(llama(R"(,"quantization_config":{"quant_method":"gptq","bits":4,"group_size":1000})"))),
      Error);
}

// vLLM prints 16.4605 GiB per rank for Llama 3.1 70B at TP 8, 7.48 GiB for Llama 3 8B at TP 2.
TEST_CASE("weights: the bytes of one rank") {
  const ModelSpec model = parse_model(llama());
  WeightRequest request;
  request.share.tensor_parallel = 2;
  const double gib = static_cast<double>(weigh(model, request).total.count()) / (1ULL << 30);
  CHECK(gib == doctest::Approx(7.48).epsilon(0.005));
  // Sixteen ranks share eight KV heads, so each head is stored twice.
  request.share.tensor_parallel = 16;
  std::uint64_t attention = 0;
  for (const WeightLine& line : weigh(model, request).lines)
    if (line.component == Component::kAttention) attention = line.bytes.count();
  CHECK(attention == 2 * 32 * (2 * 4096ULL * 4096 / 16 + 2 * 4096ULL * 1024 / 8));
}

TEST_CASE("weights: the stages of a pipeline") {
  const ModelSpec model = parse_model(R"({"model_type":"qwen3","hidden_size":1024,"intermediate_size":3072,
      "num_hidden_layers":28,"head_dim":128,"num_attention_heads":16,"num_key_value_heads":8,"vocab_size":151936,
      "tie_word_embeddings":true,"torch_dtype":"bfloat16","max_position_embeddings":4096})");
  WeightRequest request;
  request.share.layers = 14;
  request.share.last_stage = false;
  const std::uint64_t first = weigh(model, request).total.count();
  request.share.first_layer = 14;
  request.share.first_stage = false;
  request.share.last_stage = true;
  const std::uint64_t last = weigh(model, request).total.count();
  // Both ranks have the tied head.
  CHECK(first + last == 2 * (596049920ULL + 151936ULL * 1024));
}

TEST_CASE("weights: modules on a skip list keep their type") {
  const std::vector<SchemeRule> rules{
      {"lm_head", {}}, {"gate", {}}, {"model.layers.3*", {}}, {"*.attn.*", {}}, {"re:.*mlp\\.(gate|up)_proj$", {}}};
  const RuleBook book(rules);
  CHECK(book.find("lm_head") == &rules[0]);
  CHECK(book.find("model.layers.0.block_sparse_moe.gate") == &rules[1]);
  CHECK(book.find("model.layers.0.block_sparse_moe.gate_up") == nullptr);
  CHECK(book.find("language_model.model.layers.31.self_attn.q_proj") == &rules[2]);
  CHECK(book.find("model.layers.0.attn.wq_a") == &rules[3]);
  CHECK(book.find("model.layers.0.mlp.up_proj") == &rules[4]);
  CHECK(book.find("model.layers.0.mlp.down_proj") == nullptr);
}

TEST_CASE("weights: a skip list that is looked up once for all layers") {
  const std::vector<SchemeRule> rules{{"model.layers.17.mlp.gate", {}}, {"layers.2.mlp", {}},
                                      {"model.layers.6*", {}},          {"layers.*.mlp.experts.3.up_proj", {}},
                                      {"mlp.experts.4.up_proj", {}},    {"model.layers.11.mlp*", {}},
                                      {"model.layers.9.*", {}},         {"layers.?.self_attn", {}},
                                      {"layers.2.mlp.gate", {}},        {"model.layers.007.mlp.gate", {}}};
  const RuleBook book(rules);
  const RuleBook::Named gate = book.named("model.layers.*.mlp.gate");
  CHECK(gate.find(17) == &rules[0]);
  CHECK(gate.find(2) == &rules[1]);  // the first of the two rows that match
  CHECK(gate.find(6) == &rules[2]);
  CHECK(gate.find(61) == &rules[2]);
  CHECK(gate.find(16) == nullptr);
  CHECK(gate.find(11) == &rules[5]);
  CHECK(gate.find(110) == nullptr);
  CHECK(gate.find(9) == &rules[6]);
  CHECK(gate.find(7) == nullptr);
  // Only the first expert matches.
  CHECK(book.named("model.layers.*.mlp.experts.*.up_proj").find(5) == nullptr);
  CHECK(book.find("model.layers.5.mlp.experts.3.up_proj") == &rules[3]);
  CHECK(book.find("model.layers.5.mlp.experts.4.up_proj") == &rules[4]);
  const RuleBook::Named attention = book.named("model.layers.*.self_attn");
  CHECK(attention.find(3) == &rules[7]);
  CHECK(attention.find(13) == nullptr);
}

// gpt-oss-20b: Marlin pads inner widths to 128 and outer widths to 256. vLLM on an A100 prints 13.72 GiB; 12.82 GiB are
// stored.
TEST_CASE("MXFP4 experts are padded for the kernel") {
  const ModelSpec model = parse_model(R"({"model_type":"gpt_oss","hidden_size":2880,"intermediate_size":2880,
      "num_hidden_layers":2,"num_attention_heads":64,"num_key_value_heads":8,"head_dim":64,"num_local_experts":32,
      "num_experts_per_tok":4,"vocab_size":201088,"max_position_embeddings":131072,
      "quantization_config":{"quant_method":"mxfp4","modules_to_not_convert":["model.layers.*.self_attn",
      "model.layers.*.mlp.router","model.embed_tokens","lm_head"]}})");
  WeightRequest request;
  const std::uint64_t stored = weigh(model, request).total.count();
  request.share.mxfp4 = {128, 256};
  // 4.25 bits an element, and biases in 16 bit.
  const std::uint64_t biases = 2 * 32 * (2 * (2944 - 2880) + (3072 - 2880)) * 2;
  const std::uint64_t grown = 2 * 32 * 3 * (3072 * 2944 - 2880 * 2880) / 32 * 17 + biases;
  CHECK(weigh(model, request).total.count() - stored == grown);
}

}  // namespace
}  // namespace kvplan
