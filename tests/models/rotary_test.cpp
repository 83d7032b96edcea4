// Tables of cosines and sines, by figures that came from vLLM: the savings that pull request 44738 states for a limit
// of 32,768 positions, and logs in which they are the only difference from the checkpoint's tensors.
#include "kvplan/model_facts.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>

#include "sources/load.h"

namespace kvplan {
namespace {

struct Tables {
  const char* model;
  const char* config;
  std::uint64_t positions;   // of the first table
  std::uint64_t a_position;  // elements of all tables at one position
};

constexpr Tables kTables[] = {
    // 336 MiB less from 262,144 down to 32,768 positions: 1,536 bytes each. Its windows have heads of 256, the rest
    // 512.
    {"gemma-4", R"({"model_type": "gemma4_text", "num_hidden_layers": 6, "hidden_size": 2816, "num_attention_heads": 16,
      "num_key_value_heads": 8, "head_dim": 256, "global_head_dim": 512, "num_global_key_value_heads": 2,
      "max_position_embeddings": 262144, "sliding_window": 1024, "vocab_size": 1000,
      "layer_types": ["sliding_attention", "sliding_attention", "sliding_attention", "sliding_attention", "sliding_attention", "full_attention"],
      "rope_parameters": {"full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.25, "rope_theta": 1000000.0},
                          "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}}})",
     262144, 768},
    // 248 MiB less from 1,048,576: 256 bytes each.
    {"DeepSeek-V4",
     R"({"model_type": "deepseek_v4", "num_hidden_layers": 3, "hidden_size": 4096, "num_attention_heads": 64,
      "head_dim": 512, "qk_rope_head_dim": 64, "compress_ratios": [0, 4, 128], "max_position_embeddings": 1048576,
      "rope_scaling": {"type": "yarn", "factor": 16, "original_max_position_embeddings": 65536}})",
     1048576, 128},
    // 14.9888 GiB loaded, 14.9575 GiB of tensors (vllm-project/vllm#10517): 32 MiB.
    {"Llama-3.1-8B", R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 4096, "num_attention_heads": 32,
      "num_key_value_heads": 8, "max_position_embeddings": 131072, "vocab_size": 1000,
      "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "original_max_position_embeddings": 8192}})",
     131072, 128},
    // get_rope: linear stretches the table, yarn stretches the original length, longrope keeps a short and a long one.
    {"linear", R"({"model_type": "gemma3_text", "num_hidden_layers": 6, "hidden_size": 2560, "num_attention_heads": 8,
      "num_key_value_heads": 4, "head_dim": 256, "max_position_embeddings": 131072, "sliding_window": 1024,
      "rope_scaling": {"rope_type": "linear", "factor": 8.0}})",
     131072, 512},
    {"yarn", R"({"model_type": "gpt_oss", "num_hidden_layers": 2, "hidden_size": 2880, "num_attention_heads": 64,
      "num_key_value_heads": 8, "head_dim": 64, "max_position_embeddings": 131072,
      "rope_scaling": {"rope_type": "yarn", "factor": 32.0, "original_max_position_embeddings": 4096}})",
     131072, 64},
    {"longrope", R"({"model_type": "phi3", "num_hidden_layers": 2, "hidden_size": 3072, "num_attention_heads": 32,
      "max_position_embeddings": 131072, "original_max_position_embeddings": 4096,
      "rope_scaling": {"type": "longrope", "long_factor": [1.0], "short_factor": [1.0]}})",
     135168, 96},
    {"a quarter of a head", R"({"model_type": "gpt_neox", "num_hidden_layers": 2, "hidden_size": 6144,
      "num_attention_heads": 64, "max_position_embeddings": 2048, "rotary_pct": 0.25})",
     2048, 24},
    {"slopes instead",
     R"({"model_type": "bloom", "n_layer": 2, "hidden_size": 1024, "n_head": 16, "seq_length": 2048})", 0, 0},
    {"a table of positions",
     R"({"model_type": "gpt2", "n_layer": 2, "n_embd": 768, "n_head": 12, "n_positions": 1024})", 0, 0},
    {"slopes by a flag",
     R"({"model_type": "falcon", "num_hidden_layers": 2, "hidden_size": 4544, "num_attention_heads": 71,
      "alibi": true, "max_position_embeddings": 2048})",
     0, 0},
    {"a factor beyond reason",
     R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 4096, "num_attention_heads": 32,
      "max_position_embeddings": 131072, "rope_scaling": {"rope_type": "linear", "factor": 1e300}})",
     0, 0},
};

TEST_CASE("rotary tables: sizes as vLLM keeps them") {
  for (const Tables& row : kTables) {
    CAPTURE(row.model);
    const ModelSpec model = read_config(row.config, "", "test", {});
    std::uint64_t width = 0;
    for (const RotaryTable& table : model.rotary_tables) width += table.width;
    CHECK(width == row.a_position);
    if (row.positions > 0) {
      REQUIRE(!model.rotary_tables.empty());
      const std::uint64_t least = std::min(model.rotary_tables.front().positions, model.rotary_tables.back().positions);
      CHECK(least == row.positions);
    }
  }
}

TEST_CASE("rotary tables: M-RoPE is marked, and an indexer has its own table") {
  const ModelSpec video = read_config(
      R"({"model_type": "qwen2_vl", "num_hidden_layers": 2, "hidden_size": 3584, "num_attention_heads": 28,
          "num_key_value_heads": 4, "max_position_embeddings": 32768, "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]}})",
      "", "test", {});
  REQUIRE(video.rotary_tables.size() == 1);
  CHECK(video.rotary_tables.front().is_multimodal);
  const ModelSpec sparse = read_config(
      R"({"model_type": "deepseek_v32", "num_hidden_layers": 2, "hidden_size": 7168, "max_position_embeddings": 163840,
          "rope_scaling": {"type": "yarn", "factor": 40, "original_max_position_embeddings": 4096}})",
      "", "test", {});
  CHECK(sparse.rotary_tables.size() == 2);
}

}  // namespace
}  // namespace kvplan
