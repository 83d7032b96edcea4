#include <doctest/doctest.h>

#include <algorithm>

#include "engines/requests.h"
#include "kvplan/error.h"
#include "kvplan/gpus.h"
#include "models/read.h"
#include "plan/plan.h"
#include "support/figures.h"

namespace kvplan {
namespace {

bool has_note(const Plan& plan, std::string_view id) {
  return std::any_of(plan.notes.begin(), plan.notes.end(), [&](const Note& note) { return note.code == id; });
}

std::uint64_t held(const std::string& model_name, const Request& request) {
  const ModelSpec model = test_model(model_name);
  return make_plan(model, request).kv_cache.reserved.count();
}

TEST_CASE("transformers: a DynamicCache has exactly the tokens in use") {
  CHECK(held("llama-3.1-8b", request_for("transformers", 5000)) == 655360000);
  Request batch = request_for("transformers", 1000);
  batch.num_seqs = 3;
  CHECK(held("llama-3.1-8b", batch) == 393216000);
}

TEST_CASE("transformers: MLA is the latent since 5.0, and K and V before; sparse MLA since 5.18") {
  CHECK(held("deepseek-v3", request_for("transformers", 4096)) == 287834112);
  CHECK(held("deepseek-v3", request_for("transformers@4.57", 4096)) ==
        std::uint64_t{4096} * 61 * 128 * (128 + 64 + 128) * 2);
  CHECK(held("deepseek-v3.2", request_for("transformers@5.17", 4096)) == 20532166656);
  // GLM-5.2: 78 expanded layers, 21 of them with index keys.
  CHECK(held("glm-5.2", request_for("transformers@5.17", 4096)) ==
        std::uint64_t{4096} * (std::uint64_t{78} * 64 * (192 + 64 + 256) * 2 + 21 * 128 * 2));
  // Executed, 5.23.0, 100 tokens.
  CHECK(held("deepseek-v3.2", request_for("transformers@5.18", 100)) == 8588800);
  CHECK(held("glm-5.2", request_for("transformers", 100)) == 9523200);
}

// Executed: 5.16.1 and 5.23.0, the class's forward on the meta device.
TEST_CASE("transformers: DeepSeek-V4's compressor stores the tokens of an incomplete window, in the model's type") {
  CHECK(held("deepseek-v4-flash", request_for("transformers", 1)) == 194560);
  CHECK(held("deepseek-v4-flash", request_for("transformers@5.23", 1001)) == 17384960);
  // The gates of 21 layers in float32: 5,120 B more in each.
  CHECK(held("deepseek-v4-flash", request_for("transformers", 1001)) == 17384960 + 21 * 5120);
  CHECK(held("deepseek-v4-flash", request_for("transformers@5.16", 1001)) == 17384960);
  // At a whole window the buffer is an empty view, whose memory stays until the next token (storage in 5.24).
  CHECK(held("deepseek-v4-flash", request_for("transformers", 4096)) == 40074240);
}

TEST_CASE("transformers: states in the types that the classes give them") {
  const auto planned = [](const std::string& type, int layers, int width) {
    const ModelSpec model = read_config(R"({"model_type":")" + type + R"(","num_hidden_layers":)" +
                                            std::to_string(layers) + R"(,"hidden_size":)" + std::to_string(width) + "}",
                                        "", "test", {});
    return make_plan(model, request_for("transformers", 100)).kv_cache.reserved.count();
  };
  CHECK(planned("inkling_text", 66, 6144) == 66502656);
  CHECK(planned("xlstm", 32, 4096) == 67240456);
  CHECK(planned("openai-gpt", 12, 768) == 0);
  // 32 entries of a learned prompt precede the 100 tokens, in 48 layers of 16 KiB each.
  CHECK(planned("cpmant", 48, 4096) == 48ULL * 16384 * 132);
}

// configuration_mimo_v2_flash.py: sliding_window_size and one more, since 5.20. Executed: 29,606,400 B at 167 tokens.
TEST_CASE("transformers: MiMo-V2's window has a token more than its files say") {
  const ModelSpec model = read_config(
      R"({"model_type":"mimo_v2_flash","num_hidden_layers":48,"hidden_size":4096,"sliding_window":128,"sliding_window_size":128,"swa_num_key_value_heads":8})",
      "", "test", {});
  const auto planned = [&](const char* engine) {
    return make_plan(model, request_for(engine, 167)).kv_cache.reserved.count();
  };
  CHECK(planned("transformers") == 29606400);
  CHECK(planned("transformers@5.19") == 29406720);
}

// Executed: a prompt without an image needs 131,072 B per token.
TEST_CASE("transformers: an image's keys and values are not counted for every prompt") {
  const ModelSpec model =
      read_config(R"({"model_type":"mllama","text_config":{"model_type":"mllama_text_model"}})", "", "test", {});
  Request request = request_for("transformers", 100);
  const Plan plan = make_plan(model, request);
  CHECK(plan.kv_cache.reserved == Bytes(13107200));
  const std::vector<LedgerLine>& lines = plan.memory.front().lines;
  const auto image = std::find_if(lines.begin(), lines.end(), [](const LedgerLine& line) {
    return in_words(line.what) == "keys and values of an image";
  });
  REQUIRE(image != lines.end());
  CHECK(image->low == Bytes(0));
  CHECK(image->high == image->bytes);
  CHECK(image->bytes > Bytes(0));
  request.encoder_len = Tokens(1601);
  CHECK(make_plan(model, request).kv_cache.reserved == Bytes(13107200 + std::uint64_t{1601} * 8 * 4096));
}

TEST_CASE("transformers: convolution states keep every kernel column") {
  CHECK(held("lfm2-1.2b", request_for("transformers", 4096)) == 50454528);
  CHECK(held("qwen3.5-27b", request_for("transformers", 8192)) == 691798016);
}

TEST_CASE("transformers: layers that read another layer's cache have none, and windows keep their window") {
  CHECK(held("gemma-3n-e4b", request_for("transformers", 256)) == 10485760);
  // gpt-oss: 12 layers of all tokens, 12 of a window of 128.
  CHECK(held("gpt-oss-20b", request_for("transformers", 4096)) == std::uint64_t{12 * 2048} * (4096 + 128));
}

// Executed in 5.24: 19,461,570,560 bytes for 4,096 tokens of Falcon-180B's 80 layers, whose 8 groups have 29 heads
// each.
TEST_CASE("transformers: Falcon's K and V are stored once for every query head") {
  const ModelSpec model =
      parse_model(R"({"architectures":["FalconForCausalLM"],"model_type":"falcon","vocab_size":65024,
      "hidden_size":14848,"num_hidden_layers":80,"num_attention_heads":232,"num_kv_heads":8,"multi_query":true,
      "new_decoder_architecture":true,"torch_dtype":"bfloat16"})");
  CHECK(make_plan(model, request_for("transformers", 4096)).kv_cache.reserved.count() == 19461570560);
  CHECK(make_plan(model, request_for("vllm", 4096)).kv_cache.reserved.count() == 671088640);
}

TEST_CASE("transformers: a quantized cache has a scale and a shift for every 64 elements") {
  Request request = request_for("transformers", 4096);
  request.cache_type_k = request.cache_type_v = Dtype::kInt4;
  CHECK(held("llama-3.1-8b", request) == std::uint64_t{4096} * 65536 / 64 * (32 + 4));
  // cache_utils.py: Fp8QuantizedLayer since 5.21, a byte an element.
  request.cache_type_k = request.cache_type_v = Dtype::kFp8E4m3;
  CHECK(held("llama-3.1-8b", request) == std::uint64_t{4096} * 65536);
  request.engine_version = "5.20";
  CHECK_THROWS_AS(held("llama-3.1-8b", request), Error);
}

// cache_utils.py, QuantizedCache.__init__: ValueError for every layer type but full_attention.
TEST_CASE("transformers: a quantized cache is refused where a layer is not of full attention") {
  Request request = request_for("transformers", 4096);
  request.cache_type_k = request.cache_type_v = Dtype::kInt4;
  for (const char* name : {"gpt-oss-20b", "qwen3.5-27b", "deepseek-v3.2"}) {
    CAPTURE(name);
    const ModelSpec model = test_model(name);
    const Plan plan = make_plan(model, request);
    REQUIRE(plan.verdict.refusal);
    CHECK(plan.verdict.refusal->id == "quantized_cache");
  }
  const ModelSpec plain = test_model("llama-3.1-8b");
  CHECK_FALSE(make_plan(plain, request).verdict.refusal);
}

TEST_CASE("transformers: the step that concatenates also keeps the old copy of one tensor") {
  const ModelSpec model = test_model("llama-3.1-8b");
  const Plan plan = make_plan(model, request_for("transformers", 4096));
  bool found = false;
  for (const LedgerLine& line : plan.memory.front().lines) {
    if (!in_words(line.what).starts_with("concatenation")) continue;
    found = true;
    CHECK(line.part == Section::kActivation);
    CHECK(line.bytes == Bytes(4096 * 8 * 128 * 2));
  }
  CHECK(found);
}

// cache_utils.py: StaticLayer allocates max_cache_len tokens, StaticSlidingWindowLayer min(window, max_cache_len).
TEST_CASE("transformers: a StaticCache is allocated whole, and nothing is concatenated") {
  Request request = request_for("transformers", 4096);
  request.transformers.cache_implementation = "static";
  CHECK(held("llama-3.1-8b", request) == std::uint64_t{4096} * 131072);
  CHECK(held("gpt-oss-20b", request) == std::uint64_t{12 * 2048} * (4096 + 128));
  const ModelSpec model = test_model("gpt-oss-20b");
  const Plan plan = make_plan(model, request);
  bool rolled = false;
  for (const LedgerLine& line : plan.memory.front().lines) {
    CHECK_FALSE(in_words(line.what).starts_with("concatenation"));
    CHECK_FALSE(in_words(line.what).starts_with("prompt pinned"));
    if (!in_words(line.what).starts_with("a rolled window")) continue;
    rolled = true;
    CHECK(line.bytes == Bytes(128 * 2048));  // K and V of one window of 128 tokens
  }
  CHECK(rolled);
}

// Cache.update() fetches the next layer before one is used, and moves that one away afterwards. Sliding layers stay.
TEST_CASE("transformers: an offloaded cache keeps two layers on the GPU") {
  Request request = request_for("transformers", 4096);
  request.transformers.cache_implementation = "offloaded";
  CHECK(held("llama-3.1-8b", request) == std::uint64_t{4096} * 4096 * 2);
  CHECK(held("gpt-oss-20b", request) == std::uint64_t{2048} * (2 * 4096 + 12 * 128));
  const ModelSpec model = test_model("llama-3.1-8b");
  const Plan plan = make_plan(model, request);
  REQUIRE(plan.host.size() == 1);
  CHECK(plan.host.front().bytes == Bytes(std::uint64_t{4096} * 131072));
}

TEST_CASE("transformers: the cache's name and its type must agree") {
  Request request = request_for("transformers", 4096);
  request.transformers.cache_implementation = "quantized";
  CHECK(held("llama-3.1-8b", request) == std::uint64_t{4096} * 65536 / 64 * (32 + 4));
  request.cache_type_k = request.cache_type_v = Dtype::kBfloat16;
  CHECK_THROWS_AS(held("llama-3.1-8b", request), Error);
  request.cache_type_k = request.cache_type_v = Dtype::kInt8;
  request.transformers.cache_implementation = "static";
  CHECK_THROWS_AS(held("llama-3.1-8b", request), Error);
  request.transformers.cache_implementation = "";
  CHECK_THROWS_AS(held("llama-3.1-8b", request), Error);
  request.transformers.cache_implementation = "paged";
  CHECK_THROWS_AS(held("llama-3.1-8b", request), Error);
}

Plan loaded(const ModelSpec& model, const char* engine, const char* weights = nullptr, const char* card = nullptr) {
  Request request = request_for(engine, 16);
  if (weights != nullptr) request.weights = weights;
  if (card != nullptr) request.card.gpu = &request.card.known().parse(card);
  return make_plan(model, request);
}
double weights_of(const Plan& plan) {
  return static_cast<double>(plan.memory.front().weights->count());
}

// Executed, 5.24.0 on the meta device: elements of all parameters, and of the nn.Linear modules that bitsandbytes
// replaces (get_modules_to_not_convert, should_convert_module).
TEST_CASE("transformers: quantizers leave fused experts in 16 bit") {
  const struct {
    const char* config;
    double all, packed;
  } rows[] = {{"mixtral-8x7b", 46702792704, 1342177280},
              {"deepseek-v3", 671026404352, 15156838400},
              {"kimi-linear-48b", 49122675072, 1240743936}};
  for (const auto& row : rows) {
    CAPTURE(row.config);
    const Plan plan = loaded(test_model(row.config), "transformers", "bnb-int8");
    CHECK(weights_of(plan) == doctest::Approx(2 * row.all - row.packed).epsilon(0.002));
    CHECK(has_note(plan, "unquantized_experts"));
  }
  // Only the FP8 quantizer also packs experts. Before 5.0 Mixtral's experts were linear layers.
  CHECK(weights_of(loaded(test_model("mixtral-8x7b"), "transformers", "fp8")) < 48e9);
  CHECK(weights_of(loaded(test_model("mixtral-8x7b"), "transformers@4.57", "bnb-int8")) < 48e9);
  CHECK(weights_of(loaded(test_model("llama-4-scout"), "transformers@4.57", "bnb-int8")) > 190e9);
  CHECK_FALSE(has_note(loaded(test_model("llama-3.1-8b"), "transformers", "bnb-nf4"), "unquantized_experts"));
  for (const char* type : {"quanto-int8", "hqq-int4", "int4"})
    CHECK(weights_of(loaded(test_model("mixtral-8x7b"), "transformers", type)) > 91e9);
  // Executed with gptqmodel 7.7.0 and 5.24.0: a small Qwen3-MoE checkpoint in AWQ loads with "missing" experts in 16
  // bit, and its packed ones are "unexpected". GPTQ makes the same modules.
  for (const char* type : {"awq", "gptq-int4"}) {
    CHECK(weights_of(loaded(test_model("mixtral-8x7b"), "transformers", type)) > 91e9);
    CHECK(has_note(loaded(test_model("mixtral-8x7b"), "transformers", type), "unquantized_experts"));
    CHECK(weights_of(loaded(test_model("mixtral-8x7b"), "transformers@4.57", type)) < 28e9);
  }
}

// Executed, 5.24.0: "QuantizationMethod.HQQ is not available yet and will be supported soon".
TEST_CASE("transformers: 5 quantizes nothing with HQQ while loading") {
  const Plan refused = loaded(test_model("llama-3.1-8b"), "transformers", "hqq-int4");
  REQUIRE(refused.verdict.refusal.has_value());
  CHECK(refused.verdict.refusal->id == "quantization");
  CHECK_FALSE(loaded(test_model("llama-3.1-8b"), "transformers@4.57", "hqq-int4").verdict.refusal.has_value());
}

// Executed, 5.24.0 on the meta device: 6,979,321,856 elements of 8,030,261,248 are packed. BitsAndBytesConfig's
// bnb_4bit_use_double_quant is False by default: a float32 scale for each 64 elements.
TEST_CASE("transformers: load_in_4bit keeps float32 scales") {
  const double packed = 6979321856, plain = 8030261248 - packed;
  const ModelSpec model = test_model("llama-3.1-8b");
  CHECK(weights_of(loaded(model, "transformers", "bnb-nf4")) == packed / 2 + packed / 16 + 2 * plain);
  CHECK(weights_of(loaded(model, "transformers", "bnb-nf4-double")) < 5.8e9);
  // vLLM unpacks the scales of both levels while it loads, since 0.10 (BitsAndBytesModelLoader._dequantize_dq).
  CHECK(weights_of(loaded(model, "vllm", "bnb-nf4")) ==
        doctest::Approx(packed / 2 + packed / 16 + 2 * plain).epsilon(0.006));  // beside its rotary table
  CHECK(weights_of(loaded(model, "vllm@0.9", "bnb-nf4")) < 5.8e9);
}

// core_model_loading.py of 5.0 to 5.24: gate and up of all experts of a layer exist twice when they are joined.
TEST_CASE("transformers: experts are joined before there is a cache") {
  const auto joined = [](const char* config, const char* engine, std::uint64_t tokens) {
    const Plan plan = make_plan(test_model(config), request_for(engine, tokens));
    for (const LedgerLine& line : plan.memory.front().lines)
      if (in_words(line.what).starts_with("joined experts")) return line.high;
    return Bytes(0);
  };
  const Bytes most(std::uint64_t{8} * 2 * 14336 * 4096 * 2);
  CHECK(joined("mixtral-8x7b", "transformers", 16) < most);
  CHECK(joined("mixtral-8x7b", "transformers", 16) > Bytes(most.count() / 10 * 9));
  CHECK(joined("mixtral-8x7b", "transformers", 16384) == Bytes(0));
  CHECK(joined("mixtral-8x7b", "transformers@4.57", 16) == Bytes(0));
  CHECK(joined("gpt-oss-20b", "transformers", 16) == Bytes(0));  // its files have such tensors
}

TEST_CASE("transformers: formats that the library unpacks while loading") {
  // 20,914,757,184 parameters, executed.
  const ModelSpec oss = test_model("gpt-oss-20b");
  CHECK(weights_of(loaded(oss, "transformers")) == doctest::Approx(2 * 20914757184.0).epsilon(0.001));
  CHECK(has_note(loaded(oss, "transformers"), "unpacked_weights"));
  CHECK(weights_of(loaded(oss, "transformers", "mxfp4")) < 15e9);
  const auto quantized = [](const char* what) {
    return parse_model(std::string(R"({"model_type":"llama","hidden_size":4096,"intermediate_size":14336,
      "num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8,"vocab_size":128256,
      "torch_dtype":"bfloat16","quantization_config":)") +
                       what + "}");
  };
  const ModelSpec fp8 = quantized(R"({"quant_method":"fp8","weight_block_size":[128,128]})");
  CHECK(weights_of(loaded(fp8, "transformers", nullptr, "h100-80gb")) < 10e9);
  CHECK(weights_of(loaded(fp8, "transformers", nullptr, "a100-80gb")) > 16e9);
  const ModelSpec plain = test_model("llama-3.1-8b");
  CHECK(weights_of(loaded(plain, "transformers", "fp8", "h100-80gb")) < 10e9);
  CHECK(weights_of(loaded(plain, "transformers", "fp8", "a100-80gb")) > 16e9);
  const ModelSpec packed = quantized(R"({"quant_method":"compressed-tensors","format":"float-quantized",
    "config_groups":{"group_0":{"targets":["Linear"],"weights":{"num_bits":8,"type":"float","strategy":"channel"}}},
    "ignore":["lm_head"]})");
  CHECK(weights_of(loaded(packed, "transformers", nullptr, "h100-80gb")) > 16e9);
  CHECK(weights_of(loaded(packed, "vllm", nullptr, "h100-80gb")) < 10e9);
}

TEST_CASE("transformers: float32 before 5.0 unless a type is named") {
  // microsoft/HOBL#10: Phi-4-mini takes 15.2 GB.
  const ModelSpec model = observed_model("phi-4-mini");
  CHECK(weights_of(loaded(model, "transformers@4.57")) == doctest::Approx(15.2e9).epsilon(0.015));
  CHECK(weights_of(loaded(model, "transformers")) < 8e9);
  Request request = request_for("transformers@4.57", 16);
  request.dtype = Dtype::kBfloat16;
  CHECK(weights_of(make_plan(model, request)) < 8e9);
  CHECK(make_plan(model, request_for("transformers@4.57", 16)).types.key == Dtype::kFloat32);
}

TEST_CASE("transformers: several GPUs share the layers, as device_map distributes them") {
  Request request = request_for("transformers", 2048);
  request.card.memory = Bytes(12 * kGiB);
  request.card.count = 2;
  const Plan plan = make_plan(observed_model("qwen2-7b"), request);
  CHECK(plan.request.parallel.pipeline == 2);
  CHECK(plan.request.parallel.tensor == 1);
  CHECK(weights_of(plan) == doctest::Approx(15.23e9 / 2).epsilon(0.02));
}

}  // namespace
}  // namespace kvplan
