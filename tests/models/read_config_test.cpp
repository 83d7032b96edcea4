#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "kvplan/error.h"
#include "sources/load.h"
#include "support/figures.h"

namespace kvplan {
namespace {

// The expected cache of a model. `kind` and `count`: one of its kinds of layers.
struct Expected {
  const char* attention;  // "" if the test does not check it
  std::uint64_t per_token, per_sequence;
  std::uint64_t length, at_length;
  const char* kind;
  std::uint64_t count;
};

void check(const ModelSpec& model, const Expected& expected) {
  const Figures got = figures(model, expected.length, declared_types(model));
  if (*expected.attention != '\0') CHECK(model_attention(model) == expected.attention);
  CHECK(got.per_token == expected.per_token);
  CHECK(got.per_sequence == expected.per_sequence);
  CHECK(got.at_length == expected.at_length);
  CHECK(layers_of(model, expected.kind) == expected.count);
  CHECK(model.family != "generic");
  for (const Note& note : model.notes) {
    CAPTURE(note.message);
    CHECK(note.level == NoteLevel::kInfo);
  }
}

TEST_CASE("configs of public models: bytes from the papers, logs and code that the formulas name") {
  struct Row {
    const char* name;
    Expected expected;
  };
  const Row rows[] = {
      // 32*2*8*128*2 = 131,072 bytes per token
      {"llama-3.1-8b", {"gqa", 131072, 0, 32768, 4294967296, "gqa", 32}},
      // 12 full layers of 2,048 B, 12 windows of 128 tokens
      {"gpt-oss-20b", {"hybrid", 24576, 0, 32768, 808452096, "sliding_window", 12}},
      // 12 full layers of 4,096 B, 36 chunks of 8,192 tokens
      {"llama-4-scout", {"hybrid", 49152, 0, 131072, 7650410496, "chunked", 36}},
      {"deepseek-v3", {"mla", 70272, 0, 32768, 2302672896, "mla", 61}},
      {"deepseek-v3.2", {"sparse_mla", 78324, 0, 32768, 2566520832, "sparse_mla", 61}},
      // 78*1152 + 21*132
      {"glm-5.2", {"sparse_mla", 92628, 0, 32768, 3035234304, "sparse_mla", 78}},
      // 60*1024*2 + 57*128*2
      {"minimax-m3", {"hybrid", 137472, 0, 32768, 4504682496, "sparse_gqa", 57}},
      // 64*(3*5120 + 16*5120)*4: llama.cpp prints 23.75 MiB
      {"mamba-2.8b", {"ssm", 0, 24903680, 32768, 24903680, "ssm", 64}},
      // 16 full layers of 2*4*256*2 B; 48*(48*128*128*4 + 3*10240*2)
      {"qwen3.5-27b", {"hybrid", 65536, 153944064, 32768, 2301427712, "linear", 48}},
      // 6*2*8*64*2; 10*2*2048*2
      {"lfm2-1.2b", {"hybrid", 12288, 81920, 32768, 402735104, "short_conv", 10}},
      // 32*(2*2560 + 2560*64)*2
      {"rwkv7-2.9b", {"rwkv", 0, 10813440, 4096, 10813440, "rwkv", 32}},
      // 8 windows of 2,048 tokens of 1,024 B; 18*(3*2560 + 2560)*2
      {"recurrentgemma-2b", {"hybrid", 0, 368640, 8192, 17145856, "rg_lru", 18}},
      // 24*2*1024*2 a token, and as much for each of 1,500 frames
      {"whisper-medium", {"", 98304, 0, 448, 191496192, "cross", 24}},
      // 49 of 80 layers attend: 49*2*8*128*2
      {"nemotron-super-49b", {"gqa", 200704, 0, 32768, 6576668672, "none", 31}},
      // 5 full layers of 2*2*512*2 B, 25 windows of 1,024 tokens of 2*8*256*2 B
      {"gemma-4-26b", {"hybrid", 20480, 0, 32768, 880803840, "sliding_window", 25}},
      // 24*2*2*128*2; 24*((3072 + 2*256)*3 + 48*64*256)*2
      {"falcon-h1-1.5b", {"hybrid", 24576, 38264832, 16384, 440918016, "ssm", 24}},
      // layers 0-19 have a cache: 4 full layers of 2,048 B, and 16 windows of 512 tokens
      {"gemma-3n-e4b", {"hybrid", 8192, 0, 8192, 83886080, "shared", 15}},
      // 7*576*2; 20*(3*3*4096*2 + 32*128*128*4)
      {"kimi-linear-48b", {"hybrid", 8064, 43417600, 32768, 307658752, "linear", 20}},
      {"mixtral-8x7b", {"gqa", 131072, 0, 32768, 4294967296, "gqa", 32}},
      {"qwen3-0.6b", {"gqa", 114688, 0, 32768, 3758096384, "gqa", 28}},
      // 32 layers of 4,096 B; 8 cross layers over 4*1601 image tokens
      {"llama-3.2-vision-11b", {"", 131072, 0, 8192, 1283588096, "cross", 8}},
      // 24*2*16*64*2 a token, and as much for each of 512 source tokens
      {"t5-large", {"", 98304, 0, 512, 100663296, "cross", 24}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    check(test_model(row.name), row.expected);
  }
}

TEST_CASE("DeepSeek-V4-Flash: 6,880 B per token beyond every window") {
  const ModelSpec model = test_model("deepseek-v4-flash");
  CHECK(model_attention(model) == "compressed");
  CHECK(layers_of(model, "compressed") == 43);
  CHECK(figures(model, 32768, k16Bit).per_token == 6880);
}

TEST_CASE("spellings, class defaults and rarer families") {
  struct Row {
    const char* what;
    const char* text;
    Expected expected;
  };
  const Row rows[] = {
      {"Mistral without the key slides over its class's 4,096 tokens",
       R"({"model_type": "mistral", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
           "num_key_value_heads": 8, "max_position_embeddings": 32768, "torch_dtype": "bfloat16"})",
       {"sliding_window", 0, 0, 32768, 536870912, "sliding_window", 32}},
      {"an explicit null is full attention",
       R"({"model_type": "mistral", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
           "num_key_value_heads": 8, "sliding_window": null, "max_position_embeddings": 32768, "dtype": "float16"})",
       {"gqa", 131072, 0, 32768, 4294967296, "gqa", 32}},
      {"Qwen2 names a window and does not use it",
       R"({"model_type": "qwen2", "hidden_size": 3584, "num_hidden_layers": 28, "num_attention_heads": 28,
           "num_key_value_heads": 4, "sliding_window": 131072, "use_sliding_window": false, "max_window_layers": 28,
           "max_position_embeddings": 131072, "torch_dtype": "bfloat16"})",
       {"gqa", 57344, 0, 32768, 1879048192, "gqa", 28}},
      {"a window from max_window_layers on",
       R"({"model_type": "qwen3", "hidden_size": 4096, "num_hidden_layers": 28, "num_attention_heads": 32,
           "num_key_value_heads": 8, "head_dim": 128, "sliding_window": 4096, "use_sliding_window": true,
           "max_window_layers": 20, "max_position_embeddings": 131072, "torch_dtype": "bfloat16"})",
       {"hybrid", 81920, 0, 16384, 1476395008, "sliding_window", 8}},
      {"a window as long as the maximum is full attention (Phi-3-mini-128k)",
       R"({"model_type": "phi3", "hidden_size": 3072, "num_hidden_layers": 32, "num_attention_heads": 32,
           "num_key_value_heads": 32, "sliding_window": 262144, "max_position_embeddings": 131072,
           "torch_dtype": "bfloat16"})",
       {"mha", 393216, 0, 4096, 1610612736, "mha", 32}},
      {"a nested config is a difference against its class (PaliGemma: Gemma's head_dim of 256)",
       R"({"model_type": "paligemma", "text_config": {"model_type": "gemma", "hidden_size": 2048,
           "num_hidden_layers": 18, "num_attention_heads": 8, "num_key_value_heads": 1, "vocab_size": 257216},
           "vision_config": {"model_type": "siglip_vision_model", "num_hidden_layers": 27}, "torch_dtype": "bfloat16"})",
       {"mqa", 18432, 0, 1024, 18874368, "mqa", 18}},
      {"Gemma 2: every second layer slides over 4,096 tokens",
       R"({"model_type": "gemma2", "hidden_size": 3584, "num_hidden_layers": 42, "num_attention_heads": 16,
           "num_key_value_heads": 8, "head_dim": 256, "max_position_embeddings": 8192, "torch_dtype": "bfloat16"})",
       {"hybrid", 172032, 0, 8192, 2113929216, "sliding_window", 21}},
      {"Falcon-7B: multi_query is one head",
       R"({"model_type": "falcon", "hidden_size": 4544, "num_hidden_layers": 32, "num_attention_heads": 71,
           "multi_query": true, "new_decoder_architecture": false, "torch_dtype": "bfloat16"})",
       {"mqa", 8192, 0, 2048, 16777216, "mqa", 32}},
      {"Falcon-40B: in the new decoder num_kv_heads counts",
       R"({"model_type": "falcon", "hidden_size": 8192, "num_hidden_layers": 60, "num_attention_heads": 128,
           "num_kv_heads": 8, "multi_query": true, "new_decoder_architecture": true, "torch_dtype": "bfloat16"})",
       {"gqa", 122880, 0, 2048, 251658240, "gqa", 60}},
      {"GPT-2 in its own names",
       R"({"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": 1024,
           "torch_dtype": "bfloat16"})",
       {"mha", 36864, 0, 1024, 37748736, "mha", 12}},
      {"BLOOM's old n_embed",
       R"({"model_type": "bloom", "n_embed": 1024, "n_layer": 24, "num_attention_heads": 16,
           "torch_dtype": "bfloat16"})",
       {"mha", 98304, 0, 2048, 201326592, "mha", 24}},
      {"DBRX: KV heads in attn_config",
       R"({"model_type": "dbrx", "d_model": 6144, "n_layers": 40, "n_heads": 48, "max_seq_len": 32768,
           "attn_config": {"kv_n_heads": 8, "clip_qkv": 8}, "torch_dtype": "bfloat16"})",
       {"gqa", 163840, 0, 4096, 671088640, "gqa", 40}},
      {"ChatGLM2: two groups",
       R"({"model_type": "chatglm", "hidden_size": 4096, "num_layers": 28, "num_attention_heads": 32,
           "multi_query_attention": true, "multi_query_group_num": 2, "kv_channels": 128, "seq_length": 32768,
           "torch_dtype": "float16"})",
       {"gqa", 28672, 0, 4096, 117440512, "gqa", 28}},
      {"GPT-Neo: pairs of global and local layers",
       R"({"model_type": "gpt_neo", "hidden_size": 2048, "num_layers": 24, "num_heads": 16,
           "attention_types": [[["global", "local"], 12]], "window_size": 256, "max_position_embeddings": 2048,
           "torch_dtype": "bfloat16"})",
       {"hybrid", 98304, 0, 2048, 226492416, "sliding_window", 12}},
      {"MiniCPM3: a latent of 256 and 32",
       R"({"model_type": "minicpm3", "hidden_size": 2560, "num_hidden_layers": 62, "num_attention_heads": 40,
           "num_key_value_heads": 40, "kv_lora_rank": 256, "q_lora_rank": 768, "qk_nope_head_dim": 64,
           "qk_rope_head_dim": 32, "torch_dtype": "bfloat16"})",
       {"mla", 35712, 0, 4096, 146276352, "mla", 62}},
      {"Jamba: attention in four of 32 layers, Mamba 1 in the others",
       R"({"model_type": "jamba", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
           "num_key_value_heads": 8, "attn_layer_period": 8, "attn_layer_offset": 4, "mamba_d_state": 16,
           "mamba_d_conv": 4, "mamba_expand": 2, "mamba_dt_rank": 256, "torch_dtype": "bfloat16"})",
       {"hybrid", 16384, 28 * (3 * 8192 + 16 * 8192) * 2, 4096, 16384 * 4096 + 28 * (3 * 8192 + 16 * 8192) * 2, "ssm",
        28}},
      {"Nemotron-H: letters, and layers that hold nothing",
       R"({"model_type": "nemotron_h", "hidden_size": 4096, "hybrid_override_pattern": "M-M*-E", "head_dim": 128,
           "num_attention_heads": 32, "num_key_value_heads": 8, "mamba_num_heads": 128, "mamba_head_dim": 64,
           "ssm_state_size": 128, "n_groups": 8, "conv_kernel": 4, "mamba_ssm_cache_dtype": "float32",
           "torch_dtype": "bfloat16"})",
       {"hybrid", 4096, 2 * ((8192 + 2 * 8 * 128) * 3 * 2 + 128 * 64 * 128 * 4), 1,
        4096 + 2 * ((8192 + 2 * 8 * 128) * 3 * 2 + 128 * 64 * 128 * 4), "none", 3}},
      {"Zamba2: every layer has a state, hybrid ones a cache of twice the width",
       R"({"model_type": "zamba2", "hidden_size": 2560, "num_hidden_layers": 54, "num_attention_heads": 32,
           "num_key_value_heads": 32, "hybrid_layer_ids": [6, 12, 18, 24, 30, 36, 42, 47, 51], "mamba_d_state": 64,
           "mamba_d_conv": 4, "mamba_expand": 2, "n_mamba_heads": 80, "mamba_headdim": 64, "mamba_ngroups": 1,
           "torch_dtype": "bfloat16"})",
       {"hybrid", 184320, 37089792, 1024, 184320 * 1024 + 37089792, "ssm", 54}},
      {"MiMo-V2-Flash: windows have heads of their own",
       R"({"model_type": "mimo_v2_flash", "hidden_size": 4096, "num_hidden_layers": 6, "num_attention_heads": 64,
           "num_key_value_heads": 4, "head_dim": 192, "v_head_dim": 128, "swa_num_attention_heads": 64,
           "swa_num_key_value_heads": 8, "swa_head_dim": 192, "swa_v_head_dim": 128, "sliding_window": 128,
           "hybrid_layer_pattern": [0, 1, 1, 1, 1, 0], "max_position_embeddings": 262144, "torch_dtype": "bfloat16"})",
       {"hybrid", 2 * 1280 * 2, 0, 32768, 2 * 2560 * 32768 + 4 * 2560 * 2 * 128, "sliding_window", 4}},
      {"Hunyuan Large: every second layer holds the cache",
       R"({"model_type": "hunyuan", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
           "num_key_value_heads": 8, "use_cla": true, "cla_share_factor": 2, "torch_dtype": "bfloat16"})",
       {"gqa", 65536, 0, 4096, 268435456, "shared", 16}},
      {"LongCat: two latent attentions a layer",
       R"({"model_type": "longcat_flash", "hidden_size": 6144, "num_layers": 28, "num_attention_heads": 64,
           "kv_lora_rank": 512, "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
           "v_head_dim": 128, "torch_dtype": "bfloat16"})",
       {"mla", 56 * 1152, 0, 4096, std::uint64_t{56} * 1152 * 4096, "mla", 56}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.what);
    check(parse_model(row.text), row.expected);
  }
}

TEST_CASE("a config that names a kind of attention directly") {
  const std::string plain =
      R"({"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 80, "num_attention_heads": 64,
          "num_key_value_heads": 8, "head_dim": 128, "max_position_embeddings": 131072, "torch_dtype": "bfloat16")";
  const std::string generic = std::string(plain).replace(plain.find("llama"), 5, "mymodel");
  const ModelSpec sink = parse_model(
      generic + R"(, "attention_type": "attention_sink", "attention_sink_size": 4, "sliding_window": 4096})");
  CHECK(model_attention(sink) == "attention_sink");
  CHECK(figures(sink, 32768, k16Bit).at_length == 1343488000);
}

TEST_CASE("the type of the KV cache that a checkpoint declares") {
  const std::string base =
      R"({"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 2, "num_attention_heads": 32,
          "torch_dtype": "bfloat16")";
  CHECK_FALSE(parse_model(base + "}").declared_kv_dtype);
  // FP8 weights do not imply an FP8 cache.
  CHECK_FALSE(parse_model(base + R"(, "quantization_config": {"quant_method": "fp8"}})").declared_kv_dtype);
  const auto scheme = parse_model(base + R"(, "quantization_config": {"quant_method": "compressed-tensors",
                 "kv_cache_scheme": {"num_bits": 8, "type": "float"}}})");
  CHECK(scheme.declared_kv_dtype == Dtype::kFp8E4m3);
  const auto null_scheme =
      parse_model(base + R"(, "quantization_config": {"quant_method": "fp8", "kv_cache_scheme": null}})");
  CHECK_FALSE(null_scheme.declared_kv_dtype);
  const auto beside =
      parse_model(base + "}", R"({"quantization": {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8"}})");
  CHECK(beside.declared_kv_dtype == Dtype::kFp8E4m3);
  CHECK_FALSE(parse_model(base + "}", R"({"quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": null}})")
                  .declared_kv_dtype);
}

TEST_CASE("unknown architectures") {
  const std::string fields =
      R"("hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8)";
  const ModelSpec plain = parse_model(R"({"model_type": "novaformer", )" + fields + "}");
  CHECK(plain.family == "generic");
  REQUIRE(std::any_of(plain.notes.begin(), plain.notes.end(), [](const Note& note) {
    return note.code == "assumed_architecture" && in_words(note.message).find("novaformer") != std::string::npos;
  }));
  const std::string odd = R"({"model_type": "novaformer", )" + fields + R"(, "index_cache_rank": 64})";
  try {
    parse_model(odd);
    FAIL("planned");
  } catch (const Error& error) {
    CHECK(error.code() == Exit::kUnknownArchitecture);
    CHECK(error.line().find("novaformer") != std::string::npos);
    CHECK(error.line().find("index_cache_rank") != std::string::npos);
  }
  const ModelSpec assumed = read_config(odd, "", "test", {.assume = true});
  CHECK(figures(assumed, 1, k16Bit).per_token == 131072);
}

bool warns(const ModelSpec& model, const std::string& code) {
  return std::any_of(model.notes.begin(), model.notes.end(),
                     [&](const Note& note) { return note.code == code && note.level == NoteLevel::kWarning; });
}

TEST_CASE("a key of sinks, windows or chunks that nobody reads is a warning, in every family") {
  const std::string fields = R"("hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32)";
  for (const char* type : {"mistral", "llama", "qwen3", "gpt_oss"})
    for (const char* key : {"attention_sink_size", "attention_chunk_size", "local_window"}) {
      CAPTURE(type);
      CAPTURE(key);
      const std::string config = R"({"model_type": ")" + std::string(type) + R"(", )" + fields;
      CHECK(warns(parse_model(config + ", \"" + key + R"(": 4})"), "unread_keys"));
      CHECK_FALSE(warns(parse_model(config + "}"), "unread_keys"));
    }
}

TEST_CASE("a config without a model_type is planned by its attention_type") {
  const std::string fields =
      R"("hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8)";
  const ModelSpec model = parse_model("{" + fields + R"(, "attention_type": "gqa"})");
  CHECK(figures(model, 1, k16Bit).per_token == 131072);  // 32 layers x 2 x 8 x 128 x 2 B
  CHECK(warns(model, "assumed_architecture"));
  CHECK_THROWS_AS(parse_model("{" + fields + "}"), Error);
  CHECK_THROWS_AS(parse_model("{" + fields + R"(, "attention_type": "of its own"})"), Error);
}

TEST_CASE("a list of layers that names one beyond the last is a warning") {
  const auto config = [](const std::string& indices) {
    return R"({"model_type": "granitemoehybrid", "hidden_size": 1536, "num_hidden_layers": 4, "num_attention_heads": 12,
              "num_key_value_heads": 4, "vocab_size": 1000, "max_position_embeddings": 4096,
              "shared_intermediate_size": 512, "torch_dtype": "bfloat16", "attn_layer_indices": )" +
           indices + "}";
  };
  CHECK(!warns(parse_model(config("[3]")), "layers_beyond"));
  CHECK(warns(parse_model(config("[3, 4]")), "layers_beyond"));
  // Kimi-Linear counts its layers from one.
  const auto linear = [](const std::string& layers) {
    return R"({"model_type": "kimi_linear", "hidden_size": 2304, "num_hidden_layers": 4, "num_attention_heads": 32,
              "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
              "intermediate_size": 512, "vocab_size": 1000, "torch_dtype": "bfloat16", "linear_attn_config":
              {"full_attn_layers": )" +
           layers + R"(, "kda_layers": [1, 2, 3], "head_dim": 128, "num_heads": 32, "short_conv_kernel_size": 4}})";
  };
  CHECK(!warns(parse_model(linear("[4]")), "layers_beyond"));
  CHECK(warns(parse_model(linear("[5]")), "layers_beyond"));
}

TEST_CASE("an algorithm with an unknown name beside the config counts as a quantization") {
  const std::string llama =
      R"({"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 2, "num_attention_heads": 32,
          "vocab_size": 1000, "torch_dtype": "bfloat16"})";
  const ModelSpec odd = parse_model(llama, R"({"quantization": {"quant_algo": "W7A13_NOVA"}})");
  CHECK(is_declared(odd.quantization));
  CHECK(!odd.quantization.is_known);
  // Only the cache is quantized here.
  CHECK(!is_declared(
      parse_model(llama, R"({"quantization": {"quant_algo": null, "kv_cache_quant_algo": "FP8"}})").quantization));
}

TEST_CASE("quantized weights without a kernel are refused, and one name may replace a list of one") {
  const auto config = [](const std::string& weights, const std::string& more) {
    return R"({"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 2, "num_attention_heads": 32,
              "vocab_size": 1000, "quantization_config": {"quant_method": "compressed-tensors", "config_groups":
              {"group_0": {"targets": ["Linear"], "weights": )" +
           weights + "}}" + more + "}}";
  };
  CHECK(parse_model(config(R"({"type": "float", "num_bits": 8})", "")).quantization.scheme->type == "fp8");
  CHECK_THROWS_AS(parse_model(config(R"({"type": "float", "num_bits": 5})", "")), Error);
  CHECK_THROWS_AS(parse_model(config(R"({"type": "complex", "num_bits": 8})", "")), Error);
  CHECK_FALSE(parse_model(config(R"({"type": "float", "num_bits": 16})", "")).quantization.scheme);
  CHECK(parse_model(config(R"({"num_bits": 4})", R"(, "ignore": "lm_head")")).quantization.rules.size() == 1);
  CHECK_THROWS_AS(parse_model(config(R"({"num_bits": 4})", R"(, "ignore": 5)")), Error);
}

TEST_CASE("a vision tower is named and has no cache") {
  const ModelSpec model = test_model("qwen3.5-27b");
  REQUIRE(model.towers.size() == 1);
  CHECK(model.towers[0].what == TowerKind::kVision);
  CHECK(model.towers[0].num_layers == 27);
}

TEST_CASE("the keys that were read are recorded, with their source") {
  const ModelSpec model =
      parse_model(R"({"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": 1024})");
  const auto origin = [&](const std::string& key) {
    for (const ConfigFact& fact : model.facts)
      if (fact.key == key) return std::string(name(fact.origin));
    return std::string("not read");
  };
  CHECK(origin("n_embd") == "alias");
  CHECK(origin("head_dim") == "derived");
  CHECK(origin("model_type") == "file");
  CHECK(origin("dtype") == "derived");
}

// params.json of Mistral-7B-v0.1 and Mixtral-8x7B-v0.1: the published totals of parameters, and a window only if the
// file has one, whatever the class's default.
TEST_CASE("Mistral's own format is read as the model's config.json") {
  const std::string dense =
      R"({"dim": 4096, "n_layers": 32, "head_dim": 128, "hidden_dim": 14336, "n_heads": 32, "n_kv_heads": 8,
          "norm_eps": 1e-05, "vocab_size": 32000, )";
  const auto total = [](const ModelSpec& model) {
    std::uint64_t out = 0;
    for (const TensorGroup& group : model.tensors) out += group.stored().count();
    return out;
  };
  const ModelSpec mistral = parse_model(dense + R"("sliding_window": 4096})");
  CHECK(mistral.model_type == "mistral");
  CHECK(total(mistral) == 7241732096);
  CHECK(model_attention(mistral) == "sliding_window");
  CHECK(std::any_of(mistral.facts.begin(), mistral.facts.end(),
                    [](const ConfigFact& fact) { return fact.key == "n_kv_heads" && fact.value == "8"; }));
  const ModelSpec mixtral = parse_model(dense + R"("moe": {"num_experts_per_tok": 2, "num_experts": 8}})");
  CHECK(total(mixtral) == 46702792704);
  CHECK(model_attention(mixtral) == "gqa");
  // A list of windows is repeated over the layers.
  const ModelSpec turns = parse_model(dense + R"("sliding_window": [null, 32768, 32768, 32768]})");
  CHECK(layers_of(turns, "sliding_window") == 24);
}

}  // namespace
}  // namespace kvplan
