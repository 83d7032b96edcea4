// Parameters of the inventory against totals from outside: transformers' own constructors at class defaults, and
// published counts of real checkpoints.
#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "kvplan/error.h"
#include "sources/load.h"
#include "weights/weigh.h"

namespace kvplan {
namespace {

struct Total {
  std::string_view model_type;
  std::uint64_t parameters;
};

// transformers 5.16, models built from their config class without arguments, shapes only. There a tied head is a
// separate tensor, and a router's correction bias is a buffer and not counted.
constexpr Total kClassTotals[] = {
    {"apertus", 6979596352},
    {"arcee", 4022766080},
    {"aria_text", 18517069824},
    {"axk1", 518983052288},
    {"bamba", 9992765440},
    {"biogpt", 390164480},
    {"bitnet", 2741155840},
    {"bloom", 32212864},
    {"codegen", 6050882784},
    {"cohere", 37077983232},
    {"cohere2", 37077983232},
    {"ctrl", 1953528070},
    {"cwm", 32581097472},
    {"dbrx", 2459207680},
    {"deepseek_v2", 38612307968},
    {"deepseek_v3", 671026404352},
    {"deepseek_v32", 671877929216},
    {"deepseek_v4", 284325869015},
    {"doge", 403055872},
    {"ernie4_5", 466654208},
    {"exaone4", 9429069824},
    {"exaone_moe", 28550639616},
    {"falcon", 7217189760},
    {"falcon_h1", 8514961408},
    {"falcon_mamba", 197923584},
    {"flex_olmo", 33270665216},
    {"gemma", 9324112896},
    {"gemma2", 3204165888},
    {"gemma3_text", 3232785664},
    {"gemma3n_text", 7372630768},
    {"gemma4_text", 5681157632},
    {"gemma4_unified_text", 3614738176},
    {"glm", 9399951360},
    {"glm4", 9400279040},
    {"glm4_moe", 103481200640},
    {"glm4_moe_lite", 29943390976},
    {"glm_moe_dsa", 743911199232},
    {"gpt2", 163037184},
    {"gpt_bigcode", 150044160},
    {"gpt_neo", 1418502144},
    {"gpt_neox", 20554567680},
    {"gpt_neox_japanese", 2680757760},
    {"gpt_oss", 116829156672},
    {"gptj", 6050882784},
    {"granite", 6738415616},
    {"granite_swa", 2401364960},
    {"granitemoe", 37039116288},
    {"granitemoe_swa", 37039117312},
    {"granitemoehybrid", 38601064448},
    {"granitemoeshared", 37039116288},
    {"helium", 2172643840},
    {"hrm_text", 1447822848},
    {"hy_v3", 295033528320},
    {"hyperclovax", 6738677760},
    {"jais2", 8090401280},
    {"jamba", 51570323328},
    {"lfm2", 2873269760},
    {"llama", 6738415616},
    {"llama4_text", 107769861120},
    {"mamba", 197923584},
    {"mamba2", 7285403648},
    {"mellum", 12149923072},
    {"minicpm3", 4261902848},
    {"minimax", 47373946880},
    {"minimax_m2", 228689748992},
    {"ministral3", 8489553920},
    {"mistral", 7241732096},
    {"mistral4", 118972826624},
    {"mixtral", 46702792704},
    {"modernbert-decoder", 188337856},
    {"moshi", 6839083008},
    {"mpt", 1414367232},
    {"nanochat", 256573440},
    {"olmo", 6888095744},
    {"olmo2", 6888624128},
    {"olmo3", 6888624128},
    {"olmo_hybrid", 7430870688},
    {"olmoe", 13361612800},
    {"openai-gpt", 147621888},
    {"opt", 163848192},
    {"persimmon", 9397175296},
    {"phi", 1418270720},
    {"phi3", 3821079552},
    {"phimoe", 41872793600},
    {"qwen2", 12049846272},
    {"qwen2_moe", 14315784192},
    {"qwen3", 12049461248},
    {"qwen3_5_moe_text", 34660610688},
    {"qwen3_5_text", 8953803264},
    {"qwen3_moe", 15350731776},
    {"qwen3_next", 79674391296},
    {"recurrent_gemma", 2665623040},
    {"rwkv", 7392649216},
    {"seed_oss", 28921040896},
    {"smollm3", 3337766912},
    {"solar_open", 102651793408},
    {"stablelm", 2795443200},
    {"starcoder2", 3181366272},
    {"vaultgemma", 3204046080},
    {"xglm", 826615808},
    {"xlstm", 6865424896},
    {"youtu", 2224228352},
};

ModelSpec assumed(const std::string& text) {
  ReadOptions options;
  options.assume = true;
  return read_config(text, "", "test", options);
}

// Parameters that the constructors count twice or leave out.
std::uint64_t as_constructed(const ModelSpec& model) {
  std::uint64_t total = count_parameters(model).total;
  for (const TensorGroup& group : model.tensors) {
    if (group.is_tied) total += group.rows * group.columns;
    if (group.component == Component::kRouter && group.is_float32) total -= group.stored().count();
  }
  return total;
}

TEST_CASE("class defaults have the parameters that transformers constructs") {
  for (const Total& row : kClassTotals) {
    const std::string type(row.model_type);
    CAPTURE(type);
    CHECK(as_constructed(assumed(R"({"text_config":{"model_type":")" + type + R"("}})")) == row.parameters);
  }
}

struct PublishedParts {
  std::string_view name, config;
  std::uint64_t total, active, mtp;  // 0: not published
};

// Totals of the Hub's safetensors metadata and of models' pages.
constexpr PublishedParts kPublished[] = {
    {"Llama-3.1-8B",
     R"({"model_type":"llama","hidden_size":4096,"intermediate_size":14336,"num_hidden_layers":32,
         "num_attention_heads":32,"num_key_value_heads":8,"vocab_size":128256})",
     8030261248, 8030261248, 0},
    {"Qwen2.5-7B",
     R"({"model_type":"qwen2","hidden_size":3584,"intermediate_size":18944,"num_hidden_layers":28,
         "num_attention_heads":28,"num_key_value_heads":4,"vocab_size":152064,"tie_word_embeddings":false})",
     7615616512, 0, 0},
    {"Qwen3-0.6B, tied",
     R"({"model_type":"qwen3","hidden_size":1024,"intermediate_size":3072,"num_hidden_layers":28,"head_dim":128,
         "num_attention_heads":16,"num_key_value_heads":8,"vocab_size":151936,"tie_word_embeddings":true})",
     596049920, 0, 0},
    {"DeepSeek-V3: 671B, 37B active, MTP layer with its own embedding and head",
     R"({"model_type":"deepseek_v3","hidden_size":7168,"intermediate_size":18432,"moe_intermediate_size":2048,
         "num_hidden_layers":61,"num_attention_heads":128,"n_shared_experts":1,"n_routed_experts":256,
         "num_experts_per_tok":8,"first_k_dense_replace":3,"q_lora_rank":1536,"kv_lora_rank":512,
         "qk_nope_head_dim":128,"qk_rope_head_dim":64,"v_head_dim":128,"vocab_size":129280,
         "num_nextn_predict_layers":1})",
     671026419200, 37552297472, 13463426304},
    {"GPT-2", R"({"model_type":"gpt2","n_embd":768,"n_layer":12,"n_head":12,"vocab_size":50257,"n_positions":1024})",
     124439808, 0, 0},
    {"t5-small",
     R"({"model_type":"t5","d_model":512,"d_ff":2048,"d_kv":64,"num_layers":6,"num_heads":8,"vocab_size":32128})",
     60506624, 0, 0},
    {"bart-large",
     R"({"model_type":"bart","d_model":1024,"encoder_layers":12,"decoder_layers":12,"encoder_ffn_dim":4096,
         "decoder_ffn_dim":4096,"encoder_attention_heads":16,"decoder_attention_heads":16,"vocab_size":50265,
         "max_position_embeddings":1024})",
     406291456, 0, 0},
    {"whisper-tiny",
     R"({"model_type":"whisper","d_model":384,"encoder_layers":4,"decoder_layers":4,"encoder_ffn_dim":1536,
         "decoder_ffn_dim":1536,"encoder_attention_heads":6,"decoder_attention_heads":6,"vocab_size":51865,
         "num_mel_bins":80,"max_source_positions":1500,"max_target_positions":448})",
     37760640, 0, 0},
    {"mamba-2.8b",
     R"({"model_type":"mamba","hidden_size":2560,"num_hidden_layers":64,"state_size":16,"vocab_size":50280})",
     2768345600, 0, 0},
};

TEST_CASE("published totals") {
  for (const PublishedParts& row : kPublished) {
    CAPTURE(row.name);
    const Parameters parameters = count_parameters(assumed(std::string(row.config)));
    CHECK(parameters.is_known);
    CHECK(parameters.total == row.total);
    if (row.active > 0) CHECK(parameters.active == row.active);
    CHECK(parameters.mtp == row.mtp);
  }
}

// Llama 4: the difference between the files and their text models. Others: transformers' towers.
TEST_CASE("vision towers that a config determines") {
  const auto tower = [](const std::string& text) {
    const ModelSpec model = assumed(text);
    CHECK(model.unknown_tensors.empty());
    std::uint64_t sum = 0;
    for (const TensorGroup& group : model.tensors)
      if (group.component == Component::kVision || group.component == Component::kProjector)
        sum += group.stored().count();
    return sum;
  };
  CHECK(tower(R"({"model_type":"llama4","text_config":{"model_type":"llama4_text"},"vision_config":{
      "model_type":"llama4_vision_model","hidden_size":1408,"intermediate_size":5632,"num_hidden_layers":34,
      "patch_size":14,"image_size":336,"projector_input_dim":4096,"projector_output_dim":4096,
      "vision_output_dim":4096}})") == 871932416);
  CHECK(tower(R"({"model_type":"gemma4","text_config":{"model_type":"gemma4_text","hidden_size":2816},"vision_config":{
      "model_type":"gemma4_vision","hidden_size":1152,"intermediate_size":4304,"num_hidden_layers":27,"head_dim":72,
      "patch_size":16,"position_embedding_size":10240}})") == 572792112);
  // The tensors of MiMo-V2.5's files.
  CHECK(tower(R"({"model_type":"mimo_v2","hidden_size":4096,"num_hidden_layers":2,"num_attention_heads":64,
      "num_key_value_heads":4,"head_dim":192,"intermediate_size":16384,"vocab_size":152576,"sliding_window":128,
      "hybrid_layer_pattern":[0,1],"vision_config":{"depth":28,"fullatt_block_indexes":[0,9,18,27],"hidden_size":1280,
      "in_chans":3,"intermediate_size":4608,"num_heads":32,"num_key_value_heads":8,"patch_size":16,
      "spatial_merge_size":2,"temporal_patch_size":2,"use_sink":true}})") == 728594432);
  // Gemma4UnifiedVisionEmbedder, which has no encoder. With the audio's 640 * 3840 and the decoder it makes up the
  // 23,919,549,408 bytes of gemma-4-12B-it except 0.1 MB of header.
  CHECK(tower(R"({"model_type":"gemma4_unified","text_config":{"model_type":"gemma4_unified_text","hidden_size":3840},
      "vision_config":{"model_type":"gemma4_unified_vision","mm_embed_dim":3840,"mm_posemb_size":1120,
      "output_proj_dims":3840,"patch_size":16,"pooling_kernel_size":3}})") == 49922304);
  CHECK(tower(R"({"model_type":"kimi_k25","text_config":{"model_type":"deepseek_v3"},"vision_config":{
      "model_type":"kimi_k25_vision"}})") == 471143920);
  CHECK(tower(R"({"model_type":"minimax_m3_vl","text_config":{"model_type":"minimax_m3_vl_text"},"vision_config":{
      "model_type":"minimax_m3_vl_vision"}})") == 865567232);
}

TEST_CASE("an unknown tower is a range, not zero") {
  const ModelSpec model = assumed(R"({"model_type":"newvl","text_config":{"model_type":"llama"},
      "vision_config":{"model_type":"newvit","hidden_size":1024,"num_hidden_layers":24}})");
  REQUIRE(model.unknown_tensors.size() == 1);
  const WeightReport report = weigh(model, {});
  CHECK(report.low < report.total);
  CHECK(report.total < report.high);
  CHECK(count_parameters(model).total == 6738415616);
}

// Parts with a width: behind an encoder, behind an encoder and decoder, and under a key that no rule reads.
TEST_CASE("a part that nobody reads is a range or a note") {
  for (const char* const config :
       {R"({"model_type":"modernvbert","text_config":{"model_type":"modernbert","hidden_size":768,
            "num_hidden_layers":22},"vision_config":{"model_type":"newvit","hidden_size":768,"num_hidden_layers":12}})",
        R"({"model_type":"florence2","text_config":{"model_type":"bart","d_model":1024,"encoder_layers":12,
            "decoder_layers":12},"vision_config":{"model_type":"florence_vision","embed_dim":[128,256,512,1024],
            "depths":[1,1,9,1]}})",
        R"({"model_type":"llama","hidden_size":4096,"num_hidden_layers":32,"num_attention_heads":32,
            "num_key_value_heads":8,"intermediate_size":14336,"vocab_size":128256,
            "protein_encoder_config":{"hidden_size":1280,"num_hidden_layers":33}})"}) {
    CAPTURE(config);
    const ModelSpec model = assumed(config);
    CHECK(model.unknown_tensors.size() == 1);
    CHECK(count_parameters(model).is_known);
  }
  const auto codes = [](const ModelSpec& model) {
    std::string out;
    for (const Note& note : model.notes) out += note.code + " ";
    return out;
  };
  const ModelSpec speech =
      assumed(R"({"model_type":"vibevoice_asr","text_config":{"model_type":"qwen2","hidden_size":896,
      "dtype":"bfloat16"},"acoustic_tokenizer_encoder_config":{"hidden_size":64,"num_filters":32}})");
  CHECK(speech.unknown_tensors.empty());
  CHECK(codes(speech) == "uncounted_part ");
  const ModelSpec omni = assumed(R"({"model_type":"qwen2_5_omni","thinker_config":{"model_type":"qwen2_5_omni_thinker",
      "text_config":{"dtype":"bfloat16"}},"talker_config":{"hidden_size":896,"num_hidden_layers":24}})");
  CHECK(codes(omni).starts_with("uncounted_part "));
  const ModelSpec blind = assumed(R"({"model_type":"gemma3","text_config":{"dtype":"bfloat16"},"vision_config":null})");
  CHECK(codes(blind) == "absent_tower ");
  const ModelSpec text =
      assumed(R"({"model_type":"gemma3","architectures":["Gemma3ForCausalLM"],"text_config":{"dtype":"bfloat16"}})");
  CHECK(codes(text).empty());
}

TEST_CASE("more experts for a token than there are is an error") {
  CHECK_THROWS_AS(assumed(R"({"text_config":{"model_type":"mixtral","num_experts_per_tok":9}})"), Error);
}

}  // namespace
}  // namespace kvplan
