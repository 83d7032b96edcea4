// LoRA slots and adapters, against parameters that PEFT and others print.
#include "weights/lora.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "engines/requests.h"
#include "kvplan/error.h"
#include "plan/plan.h"
#include "sources/load.h"
#include "support/figures.h"

namespace kvplan {
namespace {

constexpr std::string_view kLlama2 = R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama",
  "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32, "num_attention_heads": 32,
  "num_key_value_heads": 32, "vocab_size": 32000, "torch_dtype": "float16"})";
constexpr std::string_view kQwen = R"({"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2",
  "hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28, "num_attention_heads": 28,
  "num_key_value_heads": 4, "vocab_size": 152064, "torch_dtype": "bfloat16"})";

std::uint64_t elements(const ModelSpec& model, std::uint64_t rank, std::vector<std::string> targets) {
  LoraRequest request;
  request.rank = rank;
  request.targets = std::move(targets);
  return weigh_lora(model, request).elements.count();
}

const std::vector<std::string> kAllLinear{"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"};

TEST_CASE("LoRA: trainable parameters as PEFT prints them") {
  const ModelSpec llama2 = read_config(kLlama2, "", "llama-2-7b", {});
  CHECK(elements(llama2, 8, {"q_proj", "v_proj"}) == 4194304);  // PEFT's own example
  CHECK(elements(llama2, 16, kAllLinear) == 39976960);
  CHECK(elements(test_model("llama-3.1-8b"), 16, kAllLinear) == 41943040);
  CHECK(elements(test_model("llama-3.1-8b"), 16, {}) == 41943040);  // every linear layer
  CHECK(elements(read_config(kQwen, "", "qwen2.5-7b", {}), 16, kAllLinear) == 40370176);
}

TEST_CASE("LoRA: fused names include their parts") {
  const ModelSpec model = test_model("llama-3.1-8b");
  CHECK(elements(model, 8, {"qkv_proj"}) == elements(model, 8, {"q_proj", "k_proj", "v_proj"}));
  CHECK(elements(model, 8, {"gate_up_proj"}) == elements(model, 8, {"gate_proj", "up_proj"}));
  CHECK(elements(model, 8, {"all-linear"}) == elements(model, 8, {}));
  CHECK(elements(model, 8, {"nothing"}) == 0);
}

TEST_CASE("LoRA: ranks split the matrices that create_lora_weights splits") {
  // vLLM lora/layers/base_linear.py, one layer's down_proj and q_proj on one of 4 ranks.
  const ModelSpec model = test_model("llama-3.1-8b");
  LoraRequest request;
  request.rank = 64;
  request.share.tensor_parallel = 4;
  request.targets = {"down_proj"};
  CHECK(weigh_lora(model, request).elements.count() == 32 * (64ULL * 14336 / 4 + 4096 * 64));
  request.targets = {"q_proj"};
  CHECK(weigh_lora(model, request).elements.count() == 32 * (64ULL * 4096 + 4096 / 4 * 64));
  request.fully_sharded = true;
  CHECK(weigh_lora(model, request).elements.count() == 32 * (16ULL * 4096 + 4096 / 4 * 64));
  request.targets = {"down_proj"};
  CHECK(weigh_lora(model, request).elements.count() == 32 * (64ULL * 14336 / 4 + 4096 / 4 * 64));
  // Eight KV heads on 16 ranks: one for each rank.
  request.fully_sharded = false;
  request.share.tensor_parallel = 16;
  request.targets = {"k_proj"};
  CHECK(weigh_lora(model, request).elements.count() == 32 * (64ULL * 4096 + 128 * 64));
}

Bytes slots_of(const ModelSpec& model, const std::string& engine, const ExtrasRequest& extras) {
  Request request = request_for(engine, 4096);
  request.extras = extras;
  const Plan plan = make_plan(model, request);
  for (const LedgerLine& line : plan.memory.front().lines)
    if (in_words(line.what) == "LoRA slots") return line.bytes;
  return Bytes(0);
}

TEST_CASE("vLLM: slots of every linear layer, the embedding and the head") {
  ExtrasRequest extras;
  extras.enable_lora = true;
  // 16 * (vocab + hidden) twice, in 16 bit; Qwen2's class has no embedding_modules.
  const std::uint64_t tables = 2 * 16 * (128256ULL + 4096);
  for (const char* engine : {"vllm", "vllm@0.12"})
    CHECK(slots_of(test_model("llama-3.1-8b"), engine, extras) == Bytes((41943040 + tables) * 2));
  CHECK(slots_of(read_config(kQwen, "", "qwen2.5-7b", {}), "vllm", extras) == Bytes(40370176ULL * 2));
  // Until 0.11: 256 more tokens, with separate embeddings, and B of the head padded to 256.
  const std::uint64_t more = 16 * (128512ULL + 4096) + 256 * 4096;
  for (const char* engine : {"vllm@0.10", "vllm@0.11"})  // lora_extra_vocab_size, gone in 0.12.0
    CHECK(slots_of(test_model("llama-3.1-8b"), engine, extras) == Bytes((41943040 + 2 * more) * 2));
  extras.max_loras = 4;
  extras.max_lora_rank = 64;
  CHECK(slots_of(test_model("llama-3.1-8b"), "vllm", extras) == Bytes((41943040 + tables) * 2 * 16));
  extras.max_lora_rank = 24;
  CHECK_THROWS_AS(slots_of(test_model("llama-3.1-8b"), "vllm", extras), Error);
  extras.max_lora_rank = 16;
  extras.max_cpu_loras = 2;
  CHECK_THROWS_AS(slots_of(test_model("llama-3.1-8b"), "vllm", extras), Error);
}

TEST_CASE("SGLang: eight slots, for the given modules") {
  ExtrasRequest extras;
  extras.enable_lora = true;
  CHECK_THROWS_AS(slots_of(test_model("llama-3.1-8b"), "sglang", extras), Error);
  extras.max_lora_rank = 16;
  for (const std::vector<std::string>& targets :
       {std::vector<std::string>{"qkv_proj"}, std::vector<std::string>{"q_proj", "v_proj"}}) {
    // get_normalized_target_modules: a part of a fused layer selects the whole layer.
    extras.lora_targets = targets;
    CHECK(slots_of(test_model("llama-3.1-8b"), "sglang", extras) == Bytes(8 * 32 * 16ULL * (3 * 4096 + 6144) * 2));
  }
}

TEST_CASE("LoRA: an adapter that is wider than its slots") {
  const ModelSpec model = test_model("llama-3.1-8b");
  ExtrasRequest extras;
  extras.adapters.push_back({"adapter", 40, {"q_proj"}, 64, Elements(1000), Bytes(2000), {}});
  CHECK(slots_of(model, "vllm", extras) == slots_of(test_model("llama-3.1-8b"), "vllm", [] {
          ExtrasRequest wide;
          wide.max_lora_rank = 64;
          return wide;
        }()));
  extras.max_lora_rank = 32;
  CHECK_THROWS_AS(slots_of(model, "vllm", extras), Error);
  // llama.cpp keeps the file's tensors, and PEFT converts them to float32.
  for (const auto& [engine, bytes] : {std::pair{"llama.cpp", 2000}, std::pair{"transformers", 4000}}) {
    Request request = request_for(engine, 4096);
    request.extras.adapters = extras.adapters;
    const Plan plan = make_plan(model, request);
    const auto& lines = plan.memory.front().lines;
    const auto line = std::find_if(lines.begin(), lines.end(),
                                   [](const LedgerLine& l) { return in_words(l.what) == "LoRA adapter"; });
    REQUIRE(line != lines.end());
    CHECK(line->bytes == Bytes(static_cast<std::uint64_t>(bytes)));
  }
}

}  // namespace
}  // namespace kvplan
