// The numbers in a kind's formula, and the work of one cached token, for published configs.
#include <doctest/doctest.h>

#include <string>

#include "formulas/deepseek.h"
#include "formulas/kinds.h"

namespace kvplan {
namespace {

// "H=32 d=128" of a mixer's symbols, and the config keys behind them.
std::string values(const Mixer& mixer) {
  std::string out;
  for (const Symbol& symbol : symbols(mixer))
    out += (out.empty() ? "" : " ") + std::string(symbol.symbol) + "=" + std::to_string(symbol.value);
  return out;
}
std::string keys(const Mixer& mixer) {
  std::string out;
  for (const Symbol& symbol : symbols(mixer)) out += (out.empty() ? "" : ", ") + std::string(symbol.key);
  return out;
}

Ssm mamba1() {
  Ssm out;
  out.version = Ssm::Version::kMamba1;
  out.d_inner = 5120;
  out.d_state = 16;
  out.conv_kernel = 4;
  return out;
}
Ssm mamba2() {
  Ssm out;
  out.d_inner = 3072;
  out.d_state = 256;
  out.conv_kernel = 4;
  out.num_heads = 48;
  out.head_dim = 64;
  out.n_groups = 1;
  return out;
}
Compressed v4_flash(std::uint64_t ratio, std::uint64_t index) {
  Compressed out;
  out.num_heads = 64;
  out.head_dim = 512;
  out.qk_rope_head_dim = 64;
  out.compress_ratio = ratio;
  out.index_head_dim = index;
  out.index_n_heads = index == 0 ? 0 : 64;
  out.window = Tokens(128);
  return out;
}

constexpr Heads kLlama{32, 8, 128, 128};
TEST_CASE("symbols: dimensions as config.json names them") {
  struct Row {
    const char* model;
    Mixer mixer;
    const char *values, *keys;
  };
  const Row rows[] = {
      {"Llama-3.1-8B", FullAttention{kLlama}, "H=32 H_kv=8 d=128",
       "num_attention_heads, num_key_value_heads, head_dim"},
      {"one meta token", SlidingWindow{{25, 5, 64, 64, 1}, Tokens(1024)}, "H=25 H_kv=5 d=64 M=1 W=1024",
       "num_attention_heads, num_key_value_heads, head_dim, num_memory_tokens, sliding_window"},
      {"MiMo-V2-Flash", FullAttention{{64, 4, 192, 128}}, "H=64 H_kv=4 d=192 d_v=128",
       "num_attention_heads, num_key_value_heads, head_dim, v_head_dim"},
      {"gpt-oss-20b", SlidingWindow{{64, 8, 64, 64}, Tokens(128)}, "H=64 H_kv=8 d=64 W=128",
       "num_attention_heads, num_key_value_heads, head_dim, sliding_window"},
      {"Llama-4-Scout", Chunked{{40, 8, 128, 128}, Tokens(8192)}, "H=40 H_kv=8 d=128 C=8192",
       "num_attention_heads, num_key_value_heads, head_dim, attention_chunk_size"},
      {"a sink of 4 tokens", AttentionSink{kLlama, Tokens(4), Tokens(1020)}, "H=32 H_kv=8 d=128 A=4 W=1020",
       "num_attention_heads, num_key_value_heads, head_dim, attention_sink_size, sliding_window"},
      {"Whisper-medium", Cross{{16, 16, 64, 64}}, "H=16 H_kv=16 d=64",
       "num_attention_heads, num_key_value_heads, head_dim"},
      {"DeepSeek-V3", Mla{kDeepSeekV3}, "r=512 d_rope=64 H=128", "kv_lora_rank, qk_rope_head_dim, num_attention_heads"},
      {"DeepSeek-V3.2", SparseMla{kDeepSeekV3, 128, 64, 2048}, "r=512 d_rope=64 H=128 d_index=128",
       "kv_lora_rank, qk_rope_head_dim, num_attention_heads, index_head_dim"},
      {"MiniMax-M3", SparseGqa{{64, 4, 128, 128}, 128, 4}, "H=64 H_kv=4 d=128 d_index=128",
       "num_attention_heads, num_key_value_heads, head_dim, index_head_dim"},
      {"DeepSeek-V4-Flash, CSA", v4_flash(4, 128), "H=64 d=512 d_rope=64 W=128 m=4 d_index=128",
       "num_attention_heads, head_dim, qk_rope_head_dim, sliding_window, compress_ratios, index_head_dim"},
      {"DeepSeek-V4-Flash, HCA", v4_flash(128, 0), "H=64 d=512 d_rope=64 W=128 m=128",
       "num_attention_heads, head_dim, qk_rope_head_dim, sliding_window, compress_ratios"},
      {"Qwen3.5-27B", Linear{Linear::Rule::kGatedDeltaNet, 16, 128, 48, 128, 4}, "n_k=16 d_k=128 n_v=48 d_v=128 k=4",
       "linear_num_key_heads, linear_key_head_dim, linear_num_value_heads, linear_value_head_dim, "
       "linear_conv_kernel_dim"},
      {"Ring-mini-linear", Linear{Linear::Rule::kLightning, 16, 128, 16, 128, 0}, "n_k=16 d_k=128 n_v=16 d_v=128",
       "linear_num_key_heads, linear_key_head_dim, linear_num_value_heads, linear_value_head_dim"},
      {"mamba-2.8b", mamba1(), "I=5120 N=16 k=4", "mamba_expand * hidden_size, mamba_d_state, mamba_d_conv"},
      {"Falcon-H1-1.5B", mamba2(), "I=3072 N=256 k=4 n=48 p=64 G=1",
       "mamba_expand * hidden_size, mamba_d_state, mamba_d_conv, mamba_n_heads, mamba_d_head, mamba_n_groups"},
      {"rwkv7-2.9b", Rwkv{7, 2560, 64, 2}, "h=2560 d=64 t=2", "hidden_size, head_dim, token shifts"},
      {"RecurrentGemma-2B", RgLru{2560, 4, 10}, "w=2560 k=4", "lru_width, conv1d_width"},
      {"LFM2-1.2B", ShortConv{2048, 3}, "h=2048 k=3", "hidden_size, conv_L_cache"},
      {"Gemma-3n, layer 20", Shared{18, {8, 2, 256, 256}, Tokens(512)}, "H=8 H_kv=2 d=256 layer=18",
       "num_attention_heads, num_key_value_heads, head_dim, the layer whose cache it reads"},
      {"an index of one number", v4_flash(4, 1), "H=64 d=512 d_rope=64 W=128 m=4 d_index=1",
       "num_attention_heads, head_dim, qk_rope_head_dim, sliding_window, compress_ratios, index_head_dim"},
      {"an MLP alone", None{}, "", ""},
  };
  for (const Row& row : rows) {
    CAPTURE(row.model);
    CHECK(values(row.mixer) == row.values);
    CHECK(keys(row.mixer) == row.keys);
  }
}

TEST_CASE("symbols: multiply-adds of a cached token, of the papers' equations") {
  // Scores and weighted values for each query head: H * (d + d_v).
  CHECK(macs_per_entry(FullAttention{{64, 4, 192, 128}}) == 64 * (192 + 128));
  CHECK(macs_per_entry(SlidingWindow{{64, 8, 64, 64}, Tokens(128)}) == 64 * 128);
  CHECK(macs_per_entry(Chunked{{40, 8, 128, 128}, Tokens(8192)}) == 40 * 256);
  CHECK(macs_per_entry(AttentionSink{kLlama, Tokens(4), Tokens(1020)}) == 32 * 256);
  CHECK(macs_per_entry(Cross{{16, 16, 64, 64}}) == 16 * 128);
  // The latent is both key and value, and the rope part is only key: H * (2 r + d_rope). FlashMLA has 1088 for each
  // head.
  CHECK(macs_per_entry(Mla{kDeepSeekV3}) == 128 * 1088);
  // Indexers score every token: index heads * index width.
  CHECK(macs_per_entry(SparseMla{kDeepSeekV3, 128, 64, 2048}) == 64 * 128);
  CHECK(macs_per_entry(SparseGqa{{64, 4, 128, 128}, 128, 4}) == 4 * 128);
  CHECK(macs_per_entry(v4_flash(4, 128)) == 64 * 128);
  // Compressed entries are attended to as key and value: H * 2 d.
  CHECK(macs_per_entry(v4_flash(128, 0)) == 64 * 1024);
  // Recurrences need the same work at any length.
  for (const Mixer& mixer :
       {Mixer(mamba2()), Mixer(Linear{Linear::Rule::kKda, 32, 128, 32, 128, 4}), Mixer(Rwkv{7, 2560, 64, 2}),
        Mixer(RgLru{2560, 4, 10}), Mixer(ShortConv{2048, 3}), Mixer(None{})})
    CHECK(macs_per_entry(mixer) == 0);
}

TEST_CASE("symbols: recurrences have the names of their papers") {
  CHECK(kind_variant(Rwkv{4, 768, 0, 2}) == "rwkv4");
  CHECK(kind_variant(Rwkv{5, 2048, 64, 2}) == "rwkv5");
  CHECK(kind_variant(Rwkv{6, 4096, 64, 2}) == "rwkv6");
  CHECK(kind_variant(Rwkv{7, 2560, 64, 2}) == "rwkv7");
  CHECK(kind_variant(mamba1()) == "mamba1");
  CHECK(kind_variant(Linear{Linear::Rule::kMlstm, 8, 256, 8, 512, 0}) == "mlstm");
  for (const Mixer& mixer : {Mixer(FullAttention{kLlama}), Mixer(RgLru{2560, 4, 10}), Mixer(ShortConv{2048, 3}),
                             Mixer(Cross{{16, 16, 64, 64}}), Mixer(None{})})
    CHECK(kind_variant(mixer).empty());
}

}  // namespace
}  // namespace kvplan
