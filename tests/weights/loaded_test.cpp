// What an engine on PyTorch takes from a GPU when it loads a model.
#include "weights/loaded.h"

#include <doctest/doctest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "sources/load.h"

namespace kvplan {
namespace {

// c10/cuda/CUDACachingAllocator.cpp: sizes are rounded up to 512 B. Segments have 2 MiB or 20 MiB, or from 10 MiB on a
// multiple of 2 MiB. A rest of more than 1 MiB becomes a free piece.
TEST_CASE("loaded weights: the segments of PyTorch's allocator") {
  TorchPieces pieces;
  pieces.take(Bytes(63 * kMiB / 2));  // 31.5 MiB of 32: the remaining half MiB stays with the tensor
  CHECK(pieces.allocated == Bytes(32 * kMiB));
  CHECK(pieces.reserved == Bytes(32 * kMiB));
  pieces.take(Bytes(49 * kMiB / 2));  // 24.5 MiB of 26: the rest is free
  CHECK(pieces.allocated == Bytes(113 * kMiB / 2));
  CHECK(pieces.reserved == Bytes(58 * kMiB));
  pieces.take(Bytes(5 * kMiB / 4));  // from that free piece, of which nothing stays free
  CHECK(pieces.allocated == Bytes(58 * kMiB));
  CHECK(pieces.reserved == Bytes(58 * kMiB));
  pieces.take(Bytes(3 * kMiB));
  CHECK(pieces.allocated == Bytes(61 * kMiB));
  CHECK(pieces.reserved == Bytes(78 * kMiB));
  pieces.take(Bytes(1));
  CHECK(pieces.allocated == Bytes(61 * kMiB + 512));
  CHECK(pieces.reserved == Bytes(80 * kMiB));
}

// max_split_size_mb:20, which vLLM sets while it loads since 0.21.
TEST_CASE("loaded weights: large tensors that keep their segments") {
  TorchPieces pieces(20 * kMiB);
  pieces.take(Bytes(49 * kMiB / 2));  // 24.5 MiB of 26
  CHECK(pieces.allocated == Bytes(26 * kMiB));
  pieces.take(Bytes(33 * kMiB / 2));  // 16.5 MiB of 18
  CHECK(pieces.allocated == Bytes(85 * kMiB / 2));
  CHECK(pieces.reserved == Bytes(44 * kMiB));
}

LoadedWeights load(const std::string& config, std::uint64_t ranks, bool copies_latents = false) {
  const ModelSpec model = read_config(config, "", "test", {});
  WeightRequest request;
  request.share.tensor_parallel = ranks;
  std::vector<Bytes> tables;
  for (const RotaryTable& table : model.rotary_tables)
    tables.push_back(Bytes(table.positions) * table.width * plain_bytes(model.dtype));
  return loaded_weights(model, Weigher(model, std::nullopt, std::nullopt), request, copies_latents, tables);
}

// Four decimals, as vLLM prints them.
std::string gib(Bytes bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4f", static_cast<double>(bytes.count()) / static_cast<double>(1024 * kMiB));
  return text;
}

constexpr const char* kLlama8b = R"({"model_type":"llama","hidden_size":4096,"intermediate_size":14336,
    "num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8,"vocab_size":128256,
    "max_position_embeddings":131072,"torch_dtype":"bfloat16","tie_word_embeddings":false})";

// "Loading model weights took" of vLLM: vllm-project/vllm#10517, #10702 (8 ranks), #15360.
TEST_CASE("loaded weights to the digits that vLLM prints") {
  CHECK(gib(load(kLlama8b, 1).allocated) == "14.9888");
  CHECK(load(kLlama8b, 1).rotary == Bytes(32 * kMiB));
  CHECK(gib(load(R"({"model_type":"llama","hidden_size":8192,"intermediate_size":28672,"num_hidden_layers":80,
      "num_attention_heads":64,"num_key_value_heads":8,"vocab_size":128256,"max_position_embeddings":131072,
      "torch_dtype":"bfloat16","tie_word_embeddings":false})",
                 8)
                .allocated) == "16.4605");
  CHECK(gib(load(R"({"model_type":"qwen2","hidden_size":3584,"intermediate_size":18944,"num_hidden_layers":28,
      "num_attention_heads":28,"num_key_value_heads":4,"vocab_size":152064,"max_position_embeddings":32768,
      "torch_dtype":"bfloat16","tie_word_embeddings":false})",
                 1)
                .allocated) == "14.2487");
}

// transformers' YaRN keeps the stretched length in max_position_embeddings, linear scaling does not.
TEST_CASE("loaded weights: tables of rotary angles") {
  const auto rotary = [](const std::string& more) {
    return load(R"({"model_type":"llama","hidden_size":64,"intermediate_size":64,"num_hidden_layers":1,
        "num_attention_heads":1,"vocab_size":64,"max_position_embeddings":4096,"torch_dtype":"bfloat16")" +
                    more + "}",
                1)
        .rotary.count();
  };
  constexpr std::uint64_t kPlain = 4096 * 64 * 2;
  CHECK(rotary("") == kPlain);
  CHECK(rotary(R"(,"rope_scaling":{"type":"linear","factor":8})") == 8 * kPlain);
  CHECK(rotary(R"(,"rope_scaling":{"rope_type":"llama3","factor":8})") == kPlain);
  CHECK(rotary(R"(,"rope_scaling":{"type":"yarn","factor":4,"original_max_position_embeddings":1024})") == kPlain);
  CHECK(rotary(R"(,"partial_rotary_factor":0.5)") == kPlain / 2);
  CHECK(
      load(R"({"model_type":"gpt2","n_embd":64,"n_layer":1,"n_head":1,"vocab_size":64,"n_positions":64})", 1).rotary ==
      Bytes(0));
}

// 8 heads of 128 + 128 over a latent of 512: SGLang keeps kv_b_proj and its two halves.
TEST_CASE("loaded weights: the second copy of latent attention's projections") {
  const std::string config = R"({"model_type":"deepseek_v2","hidden_size":1024,"intermediate_size":1024,
      "num_hidden_layers":2,"num_attention_heads":8,"kv_lora_rank":512,"qk_nope_head_dim":128,"qk_rope_head_dim":64,
      "v_head_dim":128,"vocab_size":64,"max_position_embeddings":64,"torch_dtype":"bfloat16"})";
  CHECK(load(config, 1).absorbed == Bytes(0));
  CHECK(load(config, 1, true).absorbed == Bytes(2 * 8 * 256 * 512 * 2));
  CHECK(load(config, 2, true).absorbed == Bytes(2 * 4 * 256 * 512 * 2));
}

}  // namespace
}  // namespace kvplan
