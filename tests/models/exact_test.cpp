// Parameters that a config determines exactly: totals of published files, or sums over the tensors that the modelling
// code creates. Nothing here may be an estimate.
#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "sources/load.h"
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
       64 * (2 * 6144ULL * 6144 + 2 * 6144ULL * 1024 + 8 * (3 * 6144ULL * 32768 + 6144) + 4 * 6144) + 131072ULL * 6144 +
           6144},
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

// Text models: totals from the Hub if they are plain numbers, otherwise sums over the tensors in vLLM's modelling code.
TEST_CASE("decoders that equal another one, except for a key or a norm") {
  constexpr Exact kRows[] = {
      {"LLaDA-8B: OLMo's names for a Llama",
       R"({"model_type":"llada","d_model":4096,"n_heads":32,"n_kv_heads":32,"n_layers":32,"mlp_ratio":4,
           "mlp_hidden_size":12288,"block_type":"llama","include_bias":false,"include_qkv_bias":false,
           "vocab_size":126464,"embedding_size":126464,"weight_tying":false,"max_sequence_length":4096})",
       8015581184},
      {"Dream-7B is a Qwen2",
       R"({"model_type":"Dream","hidden_size":3584,"intermediate_size":18944,"num_hidden_layers":28,
           "num_attention_heads":28,"num_key_value_heads":4,"vocab_size":152064,"tie_word_embeddings":false})",
       7615616512},
      {"SDAR-8B is a Qwen3",
       R"({"model_type":"sdar","hidden_size":4096,"intermediate_size":12288,"num_hidden_layers":36,
           "num_attention_heads":32,"num_key_value_heads":8,"head_dim":128,"vocab_size":151936,
           "tie_word_embeddings":false})",
       8190735360},
      {"LLaDA2-mini is a Ling 2",
       R"({"model_type":"llada2_moe","hidden_size":2048,"intermediate_size":5120,"moe_intermediate_size":512,
           "num_hidden_layers":20,"num_attention_heads":16,"num_key_value_heads":4,"head_dim":128,"vocab_size":157184,
           "num_experts":256,"num_shared_experts":1,"num_experts_per_tok":8,"first_k_dense_replace":1,
           "use_qkv_bias":false,"use_bias":false,"use_qk_norm":true,"tie_word_embeddings":false,
           "moe_router_enable_expert_bias":true})",
       16255643392},
      {"Sarvam-30B: norms of queries and keys, a bias on each choice",
       R"({"model_type":"sarvam_moe","hidden_size":4096,"intermediate_size":8192,"moe_intermediate_size":1024,
           "num_hidden_layers":19,"num_attention_heads":64,"num_key_value_heads":4,"head_dim":64,"vocab_size":262144,
           "num_experts":128,"num_shared_experts":1,"num_experts_per_tok":6,"first_k_dense_replace":1,
           "use_qk_norm":true,"moe_shared_expert_intermediate_size":1024,"tie_word_embeddings":false})",
       19 * (2 * 4096ULL * 4096 + 2 * 4096ULL * 256 + 2 * 64 + 2 * 4096) +
           18 * (128 * 4096ULL + 128 + 129 * 3 * 4096ULL * 1024) + 3 * 4096ULL * 8192 + 2 * 262144ULL * 4096 + 4096},
      {"openPangu-Embedded-7B: one key for the biases of q, k, v and o",
       R"({"model_type":"PanguEmbedded","hidden_size":4096,"intermediate_size":12800,"num_hidden_layers":34,
           "num_attention_heads":32,"num_key_value_heads":8,"vocab_size":153376,"bias":true,
           "tie_word_embeddings":false})",
       34 * (2 * (4096ULL * 4096 + 4096) + 2 * (4096ULL * 1024 + 1024) + 3 * 4096ULL * 12800 + 2 * 4096) +
           2 * 153376ULL * 4096 + 4096},
      {"PLaMo 3 2B: four norms, the head tied by its class",
       R"({"model_type":"plamo3","hidden_size":2048,"intermediate_size":8192,"num_hidden_layers":24,
           "num_attention_heads":32,"num_key_value_heads":4,"head_dim":128,"vocab_size":107520,"window_size":2048,
           "sliding_window_pattern":8})",
       24 * (2048ULL * (32 + 8) * 128 + 4096ULL * 2048 + 3 * 2048ULL * 8192 + 4 * 2048 + 2 * 128) + 107520ULL * 2048 +
           2048},
      {"Step-3's text: queries through a shared width, one expert for all tokens",
       R"({"model_type":"step3_text","hidden_size":7168,"intermediate_size":18432,"num_hidden_layers":61,
           "num_attention_heads":64,"num_attention_groups":1,"head_dim":256,"share_q_dim":2048,
           "share_expert_dim":5120,"moe_num_experts":48,"moe_top_k":3,"moe_intermediate_size":5120,
           "vocab_size":128815,"tie_word_embeddings":false,"moe_layers_enum":")"
       "4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40,41,"
       "42,43,44,45,46,47,48,49,50,51,52,53,54,55,56,57,58,59"
       R"("})",
       316294538240},
      {"Doge with experts: two tables of 1024 rows, a router of 2 * 32",
       R"({"model_type":"doge","hidden_size":256,"intermediate_size":512,"num_hidden_layers":8,
           "num_attention_heads":2,"num_key_value_heads":1,"is_moe":true,"num_experts":1024,"num_experts_per_tok":32,
           "vocab_size":32768,"tie_word_embeddings":true})",
       17444104},
      {"Falcon-H1 whose inner width follows from mamba_expand",
       R"({"text_config":{"model_type":"falcon_h1","mamba_d_ssm":null,"mamba_d_head":"auto"}})", 11334680576},
      {"Falcon-H1 with projectors_bias", R"({"text_config":{"model_type":"falcon_h1","projectors_bias":true}})",
       8515092480},
      {"Falcon-H1 with mamba_proj_bias", R"({"text_config":{"model_type":"falcon_h1","mamba_proj_bias":true}})",
       8515047424},
      {"Muse Glimmer's text: a wide gate, four norms", R"({"text_config":{"model_type":"muse_glimmer_text"}})",
       52 * (2 * 4096ULL * 6656 + 2 * 256ULL * 6656 + 4096ULL * 6656 + 3 * 6656ULL * 19968 + 4 * 6656) +
           2 * 202048ULL * 6656 + 6656},
      {"MiniCPM-SALA, 18.95 GB as published: gates everywhere, norms in the lightning layers",
       R"({"model_type":"minicpm_sala","hidden_size":4096,"intermediate_size":16384,"num_hidden_layers":4,
           "num_attention_heads":32,"num_key_value_heads":2,"head_dim":128,"vocab_size":73448,"lightning_nh":32,
           "lightning_nkv":32,"lightning_head_dim":128,"use_output_gate":true,"use_output_norm":true,"qk_norm":true,
           "attn_use_output_gate":true,"tie_word_embeddings":false,
           "mixer_types":["minicpm4","lightning-attn","lightning-attn","lightning-attn"]})",
       3 * (5 * 4096ULL * 4096 + 4096 + 2 * 128) + (3 * 4096ULL * 4096 + 2 * 4096ULL * 256) +
           4 * (3 * 4096ULL * 16384 + 2 * 4096) + 2 * 73448ULL * 4096 + 4096},
      {"Jet-Nemotron: an MLP makes the kernels of each token's convolution",
       R"({"model_type":"jet_nemotron","hidden_size":1536,"intermediate_size":8960,"num_hidden_layers":3,
           "num_attention_heads":12,"num_key_value_heads":2,"vocab_size":151936,"tie_word_embeddings":true,
           "layer_types":["jet","attn","swa"],"efficient_attention_config":{"jet":{"num_heads":12,"head_dim":96,
           "expand_v":2.0,"conv_size":4,"dconv_generator_reduction":8},"swa":{"window_size":1152}}})",
       2 * 1536ULL * 1152 + 3 * 1536ULL * 2304 + 2 * 1536ULL * 12 + 2 * 12 + 192 + 288 * 1536ULL + 288 * 9216ULL +
           9216 + 2 * (2 * 1536ULL * 1536 + 1536 + 2 * (1536ULL * 256 + 256)) + 3 * (3 * 1536ULL * 8960 + 2 * 1536) +
           151936ULL * 1536 + 1536},
      {"Higgs Audio 2 by its class: an MLP for sound beside the one for words",
       R"({"text_config":{"model_type":"higgs_audio_v2"}})", 5377182720},
      {"BigBird's masked words behind a pooler",
       R"({"model_type":"big_bird","architectures":["BigBirdForMaskedLM"],"hidden_size":768,"num_hidden_layers":12,
           "max_position_embeddings":4096})",
       128111286},
      {"RoFormer", R"({"model_type":"roformer","architectures":["RoFormerForMaskedLM"],"hidden_size":768,
           "num_hidden_layers":12,"max_position_embeddings":1536})",
       124197968},
      {"Cosmos 3 Edge's text: an MLP without a gate", R"({"text_config":{"model_type":"cosmos3_edge_text"}})",
       1677838336 + 131072ULL * 2048},
  };
  for (const Exact& row : kRows) check(row);
}

// Old files leave out what equals their class: the word embedding still exists.
TEST_CASE("encoders without a vocab_size have the one of their class") {
  struct Row {
    std::string_view model_type;
    std::uint64_t words;
  };
  constexpr Row kRows[] = {{"bert", 30522},   {"roberta", 50265}, {"xlm-roberta", 30522}, {"distilbert", 30522},
                           {"albert", 30000}, {"mpnet", 30527},   {"deberta-v2", 128100}, {"electra", 30522}};
  for (const Row& row : kRows) {
    CAPTURE(row.model_type);
    const auto model = [&](const std::string& more) {
      return read_config(
          R"({"model_type":")" + std::string(row.model_type) +
              R"(","hidden_size":768,"num_hidden_layers":12,"num_attention_heads":12,"dtype":"float32")" + more + "}",
          "", "test", {});
    };
    CHECK(model("").vocab_size == row.words);
    CHECK(count_parameters(model("")).total ==
          count_parameters(model(R"(,"vocab_size":)" + std::to_string(row.words))).total);
  }
}

// The first seven are totals of files on the Hub, the others come from transformers' constructors.
TEST_CASE("towers and projectors of models for images and sound") {
  constexpr Exact kRows[] = {
      {"Intern-S1-mini: InternViT before a Qwen3",
       R"({"model_type":"interns1","text_config":{"model_type":"qwen3","hidden_size":4096,"intermediate_size":12288,
           "num_hidden_layers":36,"num_attention_heads":32,"num_key_value_heads":8,"head_dim":128,"vocab_size":153216,
           "tie_word_embeddings":false},"vision_config":{"hidden_size":1024,"intermediate_size":4096,
           "num_hidden_layers":24,"num_attention_heads":16,"image_size":[448,448],"patch_size":[14,14],
           "attention_bias":true,"use_qk_norm":false,"norm_type":"layer_norm","model_type":"interns1_vision"},
           "downsample_ratio":0.5})",
       8538804224},
      {"MiniCPM-Llama3-V-2.5",
       R"({"model_type":"minicpmv","version":2.5,"hidden_size":4096,"intermediate_size":14336,"num_hidden_layers":32,
           "num_attention_heads":32,"num_key_value_heads":8,"vocab_size":128256,"tie_word_embeddings":false,
           "query_num":96,"vision_config":{"hidden_size":1152,"image_size":980,"intermediate_size":4304,
           "model_type":"siglip","num_attention_heads":16,"num_hidden_layers":27,"patch_size":14}})",
       8537092336},
      {"MiniCPM-V-2.6, whose decoder is a Qwen2",
       R"({"model_type":"minicpmv","version":2.6,"hidden_size":3584,"intermediate_size":18944,"num_hidden_layers":28,
           "num_attention_heads":28,"num_key_value_heads":4,"vocab_size":151666,"tie_word_embeddings":false,
           "query_num":64,"image_size":448,"drop_vision_last_layer":false,"batch_vision_input":true,
           "vision_config":{"hidden_size":1152,"image_size":980,"intermediate_size":4304,"model_type":"siglip",
           "num_attention_heads":16,"num_hidden_layers":27,"patch_size":14}})",
       8099175152},
      {"MiniCPM-V-4",
       R"({"model_type":"minicpmv","version":4.0,"hidden_size":2560,"intermediate_size":10240,"num_hidden_layers":32,
           "num_attention_heads":32,"num_key_value_heads":2,"head_dim":128,"vocab_size":73448,
           "tie_word_embeddings":false,"query_num":64,"vision_config":{"hidden_size":1152,"image_size":980,
           "intermediate_size":4304,"model_type":"siglip","num_attention_heads":16,"num_hidden_layers":27,
           "patch_size":14}})",
       4059533040},
      {"MiniCPM-V-4.5, whose decoder is a Qwen3",
       R"({"model_type":"minicpmv","version":4.5,"hidden_size":4096,"intermediate_size":12288,"num_hidden_layers":36,
           "num_attention_heads":32,"num_key_value_heads":8,"head_dim":128,"vocab_size":151748,
           "tie_word_embeddings":false,"query_num":64,"image_size":448,"vision_config":{"hidden_size":1152,
           "image_size":980,"intermediate_size":4304,"model_type":"siglip","num_attention_heads":16,
           "num_hidden_layers":27,"patch_size":14}})",
       8695895280},
      {"DeepSeek-OCR: SAM, CLIP behind it, and a projector of both",
       R"({"model_type":"deepseek_vl_v2","candidate_resolutions":[[1024,1024]],"global_view_pos":"head",
           "tile_tag":"2D","language_config":{"architectures":["DeepseekV2ForCausalLM"],"model_type":"deepseek_v2",
           "first_k_dense_replace":1,"hidden_size":1280,"intermediate_size":6848,"kv_lora_rank":null,"lm_head":true,
           "moe_intermediate_size":896,"n_group":1,"n_routed_experts":64,"n_shared_experts":2,"num_attention_heads":10,
           "num_experts_per_tok":6,"num_hidden_layers":12,"num_key_value_heads":10,"q_lora_rank":null,
           "qk_nope_head_dim":0,"qk_rope_head_dim":0,"topk_method":"greedy","use_mla":false,"v_head_dim":0,
           "vocab_size":129280},"projector_config":{"input_dim":2048,"model_type":"mlp_projector","n_embed":1280,
           "projector_type":"linear"},"vision_config":{"image_size":1024,"mlp_ratio":3.7362,"model_name":"deeplip_b_l",
           "model_type":"vision","width":{"clip-l-14-224":{"heads":16,"image_size":224,"layers":24,"patch_size":14,
           "width":1024},"sam_vit_b":{"downsample_channels":[512,1024],"global_attn_indexes":[2,5,8,11],"heads":12,
           "layers":12,"width":768}}}})",
       3336106240},
      {"Qwen2.5-Omni-7B's thinker, with a head of its own",
       R"({"model_type":"qwen2_5_omni","thinker_config":{"model_type":"qwen2_5_omni_thinker",
           "audio_config":{"model_type":"qwen2_5_omni_audio_encoder","d_model":1280,"encoder_layers":32,
           "encoder_attention_heads":20,"encoder_ffn_dim":5120,"num_mel_bins":128,"output_dim":3584,
           "max_source_positions":1500,"n_window":100},"text_config":{"model_type":"qwen2_5_omni_text",
           "hidden_size":3584,"intermediate_size":18944,"num_hidden_layers":28,"num_attention_heads":28,
           "num_key_value_heads":4,"vocab_size":152064},"vision_config":{"model_type":"qwen2_5_omni_vision_encoder",
           "depth":32,"hidden_size":1280,"intermediate_size":3420,"num_heads":16,"in_chans":3,"out_hidden_size":3584,
           "patch_size":14,"spatial_merge_size":2,"temporal_patch_size":2}}})",
       8931813888},
      {"GLM-OCR by its classes",
       R"({"model_type":"glm_ocr","text_config":{"model_type":"glm_ocr_text"},
           "vision_config":{"model_type":"glm_ocr_vision"}})",
       807479808},
      {"EXAONE 4.5, whose tower shares keys by its classes",
       R"({"model_type":"exaone4_5","text_config":{"model_type":"exaone4"},
           "vision_config":{"model_type":"exaone4_5_vision"}})",
       12100938496},
      {"PaddleOCR-VL by its classes",
       R"({"model_type":"paddleocr_vl","text_config":{"model_type":"paddleocr_vl_text"},
           "vision_config":{"model_type":"paddleocr_vl_vision"}})",
       799695472},
      {"Aria by its classes",
       R"({"model_type":"aria","text_config":{"model_type":"aria_text"},
           "vision_config":{"model_type":"idefics3_vision"}})",
       18701885824},
      {"Llama 4 by its classes",
       R"({"model_type":"llama4","text_config":{"model_type":"llama4_text"},
           "vision_config":{"model_type":"llama4_vision_model"}})",
       108225039360},
      {"Qianfan-OCR by its classes",
       R"({"model_type":"qianfan_ocr","text_config":{"model_type":"qwen3"},
           "vision_config":{"model_type":"qianfan_ocr_vision"}})",
       12387044352},
      {"Cosmos 3 Edge by its classes",
       R"({"model_type":"cosmos3_edge","text_config":{"model_type":"cosmos3_edge_text"},
           "vision_config":{"model_type":"cosmos3_edge_vision"}})",
       2435616496},
      {"Muse Glimmer by its classes",
       R"({"model_type":"muse_glimmer","text_config":{"model_type":"muse_glimmer_text"},
           "vision_config":{"model_type":"muse_glimmer_vision"}})",
       29776626688},
      {"GOT-OCR2",
       R"({"model_type":"got_ocr2","tie_word_embeddings":true,"text_config":{"model_type":"qwen2","hidden_size":1024,
           "intermediate_size":2816,"num_hidden_layers":24,"num_attention_heads":16,"num_key_value_heads":16,
           "vocab_size":151860},"vision_config":{"hidden_size":768}})",
       560528640},
      {"Voxtral Realtime: a norm that the delay turns",
       R"({"model_type":"voxtral_realtime","tie_word_embeddings":true,
           "text_config":{"model_type":"voxtral_realtime_text","hidden_size":3072,"intermediate_size":9216,
           "num_hidden_layers":26,"num_attention_heads":32,"num_key_value_heads":8,"vocab_size":131072,"head_dim":128},
           "audio_config":{"model_type":"voxtral_realtime_encoder"}})",
       4429679360},
  };
  for (const Exact& row : kRows) check(row);
}

// transformers 5.23.0: the classes executed with their own defaults.
TEST_CASE("models of several parts have the towers of their classes") {
  constexpr Exact kRows[] = {
      {"Audio Flamingo 3",
       R"({"model_type":"audioflamingo3","text_config":{"model_type":"qwen2"},
           "audio_config":{"model_type":"audioflamingo3_encoder"}})",
       12708843520},
      {"InstructBLIP: a Q-Former that reads the instruction",
       R"({"model_type":"instructblip","num_query_tokens":32,"text_config":{"model_type":"opt"},
           "vision_config":{"model_type":"instructblip_vision_model"},
           "qformer_config":{"model_type":"instructblip_qformer"}})",
       1297466112},
      {"DeepSeek-VL",
       R"({"model_type":"deepseek_vl","tie_word_embeddings":true,"text_config":{"model_type":"llama"},
           "vision_config":{"model_type":"siglip_vision_model"}})",
       6720158976},
      {"ERNIE 4.5 VL",
       R"({"model_type":"ernie4_5_vl_moe","tie_word_embeddings":true,
           "text_config":{"model_type":"ernie4_5_vl_moe_text"},
           "vision_config":{"model_type":"ernie4_5_vl_moe_vision"}})",
       29399294336},
      {"GLM-ASR, whose decoder is smaller than Llama's default",
       R"({"model_type":"glmasr","tie_word_embeddings":true,"text_config":{"model_type":"llama",
           "hidden_size":2048,"intermediate_size":6144,"num_hidden_layers":28,"num_attention_heads":16,
           "num_key_value_heads":4,"vocab_size":59264},"audio_config":{"model_type":"glmasr_encoder"}})",
       2136470528},
      {"Granite Speech",
       R"({"model_type":"granite_speech","tie_word_embeddings":true,"text_config":{"model_type":"granite"},
           "encoder_config":{"model_type":"granite_speech_encoder"},
           "projector_config":{"model_type":"blip_2_qformer"}})",
       6990441514},
      {"MiniCPM-V 4.6",
       R"({"model_type":"minicpmv4_6","tie_word_embeddings":false,"text_config":{"model_type":"qwen3_5_text"},
           "vision_config":{"model_type":"minicpmv4_6_vision"}})",
       9111202816},
      {"Molmo 2",
       R"({"model_type":"molmo2","tie_word_embeddings":false,"text_config":{"model_type":"molmo2_text"},
           "vision_config":{"model_type":"molmo2_vision"},"adapter_config":{"model_type":"molmo2_adapter"}})",
       8694602192},
      {"Ovis 2",
       R"({"model_type":"ovis2","tie_word_embeddings":true,"hidden_size":1536,
           "text_config":{"model_type":"qwen2"},"vision_config":{"model_type":"ovis2_vision"}})",
       11778684918},
      {"VideoLLaMA 3",
       R"({"model_type":"video_llama_3","tie_word_embeddings":false,"text_config":{"model_type":"qwen2"},
           "vision_config":{"model_type":"video_llama_3_vision"}})",
       12155424000},
      {"Video-LLaVA",
       R"({"model_type":"video_llava","tie_word_embeddings":false,"text_config":{"model_type":"llama"},
           "vision_config":{"model_type":"clip_vision_model","hidden_size":1024,"intermediate_size":4096,
           "num_hidden_layers":24,"num_attention_heads":16,"patch_size":14,"image_size":224}})",
       7365754880},
      {"Llama 4 without a vision_config: the class's own tower",
       R"({"model_type":"llama4","text_config":{"model_type":"llama4_text"}})", 108225039360},
  };
  for (const Exact& row : kRows) check(row);
}

// The index of a checkpoint gives 6,779,249,408 bytes of 16-bit weights.
TEST_CASE("DeepSeek-OCR 2 has a Qwen2 in the place of CLIP") {
  const ModelSpec model = read_config(
      R"({"model_type":"deepseek_vl_v2","candidate_resolutions":[[1024,1024]],"global_view_pos":"head","tile_tag":"2D",
          "language_config":{"architectures":["DeepseekV2ForCausalLM"],"model_type":"deepseek_v2",
          "first_k_dense_replace":1,"hidden_size":1280,"intermediate_size":6848,"kv_lora_rank":null,"lm_head":true,
          "moe_intermediate_size":896,"n_group":1,"n_routed_experts":64,"n_shared_experts":2,"num_attention_heads":10,
          "num_experts_per_tok":6,"num_hidden_layers":12,"num_key_value_heads":10,"q_lora_rank":null,
          "qk_nope_head_dim":0,"qk_rope_head_dim":0,"topk_method":"greedy","use_mla":false,"v_head_dim":0,
          "vocab_size":129280},"projector_config":{"input_dim":896,"model_type":"mlp_projector","n_embed":1280,
          "projector_type":"linear"},"vision_config":{"image_size":1024,"mlp_ratio":3.7362,
          "model_name":"deepencoderv2","model_type":"vision","width":{"qwen2-0-5b":{"dim":896},
          "sam_vit_b":{"downsample_channels":[512,1024],"global_attn_indexes":[2,5,8,11],"heads":12,"layers":12,
          "width":768}}}})",
      "", "test", {});
  CHECK(2.0 * double(count_parameters(model).total) == doctest::Approx(6'779'249'408).epsilon(0.0002));
}

}  // namespace
}  // namespace kvplan
