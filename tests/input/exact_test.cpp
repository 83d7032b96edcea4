// Parameters that a config determines to the last one: totals of published files, or sums over the tensors that the
// modelling code makes. Nothing here may be an estimate.
#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "input/input.h"
#include "weights/weigh.h"

namespace kvplan {
namespace {

struct Exact {
  std::string_view name, config;
  std::uint64_t total;
};

void check(const Exact& row) {
  CAPTURE(row.name);
  const ModelSpec model = read_config(row.config, "", "test", {});
  CHECK(model.unknown_tensors.empty());
  CHECK(count_parameters(model).total == row.total);
}

TEST_CASE("decoders whose blocks differ from a Llama's in a few tensors") {
  constexpr Exact kRows[] = {
      {"Grok-1: four norms, eight experts, the head tied",
       R"({"model_type":"grok-1","hidden_size":6144,"intermediate_size":32768,"num_hidden_layers":64,
           "num_attention_heads":48,"num_key_value_heads":8,"vocab_size":131072,"num_experts":8,
           "num_experts_per_tok":2,"tie_word_embeddings":true})",
       64 * (2 * 6144ULL * 6144 + 2 * 6144ULL * 1024 + 8 * (3 * 6144ULL * 32768 + 6144) + 4 * 6144) +
           131072ULL * 6144 + 6144},
      {"Grok-2: an MLP beside the experts",
       R"({"model_type":"git","architectures":["Grok1ForCausalLM"],"hidden_size":8192,"intermediate_size":32768,
           "moe_intermediate_size":16384,"num_local_experts":8,"num_experts_per_tok":2,"residual_moe":true,
           "num_attention_heads":64,"num_key_value_heads":8,"head_dim":128,"num_hidden_layers":64,"vocab_size":131072,
           "tie_word_embeddings":false})",
       269515497472},
      {"MiniMax-Text-01, as its files are",
       R"({"model_type":"minimax_text_01","hidden_size":6144,"intermediate_size":9216,"num_hidden_layers":80,
           "num_attention_heads":64,"num_key_value_heads":8,"head_dim":128,"vocab_size":200064,"num_local_experts":32,
           "num_experts_per_tok":2,"shared_intermediate_size":0,"tie_word_embeddings":false})",
       456089655296},
      {"Ouro-1.4B",
       R"({"model_type":"ouro","hidden_size":2048,"intermediate_size":5632,"num_attention_heads":16,
           "num_key_value_heads":16,"num_hidden_layers":24,"head_dim":128,"vocab_size":49152,"total_ut_steps":4,
           "tie_word_embeddings":false})",
       1434652673},
      {"Step-1 of 3B: ALiBi and no bias anywhere (vLLM step1)",
       R"({"model_type":"step1","hidden_size":3072,"intermediate_size":8192,"num_hidden_layers":32,
           "num_attention_heads":48,"num_attention_groups":4,"vocab_size":74752,"tie_word_embeddings":false})",
       32 * (2 * 3072ULL * 3072 + 2 * 3072ULL * 4 * 64 + 3 * 3072ULL * 8192 + 2 * 3072) + 2 * 74752ULL * 3072 + 3072},
  };
  for (const Exact& row : kRows) check(row);
}

}  // namespace
}  // namespace kvplan
