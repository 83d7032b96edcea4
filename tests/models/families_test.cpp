// Families with unusual configs: the cache of one sequence, computed by hand from the model's code. A row names the
// source of the rule. The numbers are written-out products, for a 16-bit model with a 16-bit cache.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "formulas/model.h"
#include "kvplan/error.h"
#include "kvplan/storage.h"
#include "sources/load.h"

namespace kvplan {

namespace {

struct Bytes3 {
  std::uint64_t beyond_windows = 0;  // cost of one more token in a long sequence
  std::uint64_t in_window = 0;       // cost of one of the first tokens
  std::uint64_t fixed = 0;           // whatever the length
};

Bytes3 three_bytes_of(const ModelSpec& model) {
  CacheTypes types;
  types.state = model.declared_state_dtype.value_or(model.dtype);
  Bytes3 out;
  for (const Layer& layer : model.layers)
    for (const Mixer& mixer : layer.mixers)
      for (const Term& term : cache_terms(mixer)) {
        const std::uint64_t entry = entry_bytes(term, types).count();
        if (term.growth == Growth::kSequence) out.fixed += entry;
        if (term.growth != Growth::kToken) continue;
        out.in_window += entry / term.stride;
        if (term.limit.kind == LimitKind::kNone) out.beyond_windows += entry / term.stride;
      }
  return out;
}

struct Example {
  std::string_view name, config, kind;
  Bytes3 bytes;
  std::string_view source;
};

// clang-format off
const std::vector<Example> kExamples{
    {"ZAYA1-8B", R"({"model_type":"zaya","hidden_size":2048,"num_hidden_layers":40,"num_attention_heads":8,"num_key_value_heads":2,"head_dim":128,"cca_time0":2,"cca_time1":2,"dtype":"bfloat16"})",
     "hybrid", {40 * 2 * 2 * 128 * 2, 40 * 2 * 2 * 128 * 2, 40 * ((8 + 2) * 128 * 2 + 128) * 2},
     "transformers zaya: two columns over q and k, half of v delayed by a token"},
    {"Inkling defaults", R"({"model_type":"inkling_mm_model","text_config":{"dtype":"bfloat16"}})",
     "hybrid", {11 * 2 * 8 * 128 * 2, (11 * 8 + 55 * 16) * 2 * 128 * 2, (11 * (1024 + 6144) + 55 * (2048 + 6144)) * 2 * 3 * 2},
     "transformers inkling: k, v, attention and MLP outputs pass a convolution of 4"},
    {"Baichuan-M1", R"({"model_type":"baichuan_m1","hidden_size":5120,"num_hidden_layers":4,"num_attention_heads":40,"num_key_value_heads":2,"num_swa_attention_heads":40,"num_swa_key_value_heads":8,"sliding_window":8192,"sliding_window_layers":[1,3],"conv_window":2,"max_position_embeddings":32768,"dtype":"bfloat16"})",
     "hybrid", {2 * 2 * 2 * 128 * 2, (2 * 2 + 2 * 8) * 2 * 128 * 2, (2 * 2 + 2 * 8) * 2 * 128 * 2},
     "mlx-lm baichuan_m1: the last k and v before the convolution"},
    {"HRM-Text-1B, saved", R"({"model_type":"hrm_text","hidden_size":1536,"num_hidden_layers":128,"num_layers_per_stack":16,"num_attention_heads":12,"head_dim":128,"H_cycles":2,"L_cycles":3,"dtype":"bfloat16"})",
     "mha", {128 * 2 * 1536 * 2, 128 * 2 * 1536 * 2, 0}, "transformers hrm_text: 16 * 2 * (3 + 1) caches"},
    {"HRM-Text-1B, first form", R"({"model_type":"hrm_text","hidden_size":1536,"num_hidden_layers":16,"num_attention_heads":12,"head_dim":128,"H_cycles":2,"L_cycles":3,"dtype":"bfloat16"})",
     "mha", {128 * 2 * 1536 * 2, 128 * 2 * 1536 * 2, 0}, "the same: num_hidden_layers is one stack's"},
    {"Ouro-1.4B", R"({"model_type":"ouro","hidden_size":2048,"num_hidden_layers":24,"num_attention_heads":16,"num_key_value_heads":16,"total_ut_steps":4,"dtype":"bfloat16"})",
     "mha", {4 * 24 * 2 * 2048 * 2, 4 * 24 * 2 * 2048 * 2, 0}, "its cache has total_ut_steps * layers slots"},
    {"Dory defaults", R"({"model_type":"dory","hidden_size":2560,"num_hidden_layers":72,"n_recurrent_loops":3,"dtype":"bfloat16"})",
     "hybrid", {19 * 2 * 4 * 256 * 2, 76 * 2 * 4 * 256 * 2, 0}, "vLLM 0.33, executed: 57 windows and 19 full layers with three loops"},
    {"Dory, one cache for all loops", R"({"model_type":"dory","hidden_size":2560,"num_hidden_layers":72,"n_recurrent_loops":3,"recurrent_kv_cache_mode":"last_loop","dtype":"bfloat16"})",
     "hybrid", {9 * 2 * 4 * 256 * 2, 36 * 2 * 4 * 256 * 2, 0}, "vLLM 0.33, executed"},
    {"Inkling 2 with loops", R"({"model_type":"inkling2_loop","text_config":{"dtype":"bfloat16"}})",
     "hybrid", {8 * 2 * 8 * 128 * 2, 48 * 2 * 8 * 128 * 2, 48 * 2 * (1024 + 2304) * 2 * 3}, "transformers 5.24, executed: 48 caches for 24 layers"},
    {"IQuest loop coder", R"({"model_type":"iquestloopcoder","hidden_size":5120,"num_hidden_layers":80,"num_attention_heads":40,"num_key_value_heads":8,"head_dim":128,"loop_num":2,"loop_window_size":64,"dtype":"bfloat16"})",
     "hybrid", {80 * 2 * 8 * 128 * 2, 2 * 80 * 2 * 8 * 128 * 2, 0}, "mlx-lm iquestloopcoder"},
    {"Phi-4-mini-flash", R"({"model_type":"phi4flash","hidden_size":2560,"num_hidden_layers":32,"num_attention_heads":40,"num_key_value_heads":20,"mb_per_layer":2,"sliding_window":512,"mamba_d_state":16,"mamba_d_conv":4,"mamba_expand":2,"max_position_embeddings":262144,"dtype":"bfloat16"})",
     "hybrid", {2 * 20 * 64 * 2, 9 * 2 * 20 * 64 * 2, 9 * 5120 * (3 + 16) * 2},
     "its modeling code: Mamba on even layers to 16, windows on odd ones below 16, layer 17 full, the rest shares"},
    {"Hymba-1.5B", R"({"model_type":"hymba","hidden_size":1600,"num_hidden_layers":32,"num_attention_heads":25,"num_key_value_heads":5,"v_head_dim":128,"sliding_window":1024,"global_attn_idx":[0,15,31],"kv_reuse_group":[[1,2],[3,4],[5,6],[7,8],[9,10],[11,12],[13,14],[16,17,18],[19,20],[21,22],[23,24],[25,26],[27,28],[29,30]],"mamba_d_state":16,"mamba_d_conv":4,"mamba_expand":2,"max_position_embeddings":8192,"dtype":"bfloat16"})",
     "hybrid", {3 * 5 * (64 + 128) * 2, 17 * 5 * (64 + 128) * 2, 32 * 3200 * (3 + 16) * 2},
     "its modeling code: the first of a reuse group produces the keys and values"},
    {"Hymba-1.5B with its meta tokens", R"({"model_type":"hymba","hidden_size":1600,"num_hidden_layers":32,"num_attention_heads":25,"num_key_value_heads":5,"v_head_dim":128,"sliding_window":1024,"num_memory_tokens":128,"global_attn_idx":[0,15,31],"kv_reuse_group":[[1,2],[3,4],[5,6],[7,8],[9,10],[11,12],[13,14],[16,17,18],[19,20],[21,22],[23,24],[25,26],[27,28],[29,30]],"mamba_d_state":16,"mamba_d_conv":4,"mamba_expand":2,"max_position_embeddings":8192,"dtype":"bfloat16"})",
     "hybrid", {3 * 5 * (64 + 128) * 2, 17 * 5 * (64 + 128) * 2, 32 * 3200 * (3 + 16) * 2 + 17 * 128 * 5 * (64 + 128) * 2},
     "its modeling code: 128 tokens go before the first forward pass, and into every layer's cache"},
    {"PLaMo-2-1B", R"({"model_type":"plamo2","hidden_size":2048,"num_hidden_layers":16,"num_attention_heads":16,"num_key_value_heads":1,"hidden_size_per_head":128,"mamba_d_state":64,"mamba_d_conv":4,"mamba_num_heads":32,"mamba_step":2,"attention_window_size":2048,"full_attention_idx":[1,15],"max_position_embeddings":10485760,"dtype":"bfloat16"})",
     "hybrid", {2 * 2 * 128 * 2, 8 * 2 * 128 * 2, 8 * 4096 * (3 + 64) * 2}, "mlx-lm plamo2; the convolution runs over x alone"},
    {"Zamba-7B-v1", R"({"model_type":"zamba","hidden_size":3712,"num_hidden_layers":76,"num_attention_heads":16,"attn_layer_offset":4,"attn_layer_period":6,"mamba_d_state":16,"mamba_d_conv":4,"mamba_expand":2,"n_mamba_heads":2,"dtype":"bfloat16"})",
     "hybrid", {13 * 2 * 7424 * 2, 13 * 2 * 7424 * 2, 76 * 7424 * (3 + 16) * 2},
     "transformers zamba: layer 2, and 7, 13, ..., 73; heads of 2 * 3712 / 16"},
    {"Zamba2-7B", R"({"model_type":"zamba2","hidden_size":3584,"num_hidden_layers":81,"num_attention_heads":32,"num_key_value_heads":32,"kv_channels":112,"attention_head_dim":224,"hybrid_layer_ids":[6,11,17,23,29,35,41,47,53,59,65,71,77],"mamba_d_state":64,"mamba_headdim":64,"mamba_ngroups":2,"n_mamba_heads":112,"mamba_d_conv":4,"dtype":"bfloat16"})",
     "hybrid", {13 * 2 * 7168 * 2, 13 * 2 * 7168 * 2, 81 * ((7168 + 2 * 2 * 64) * 3 + 7168 * 64) * 2}, "transformers zamba2"},
    {"Ling 3 flash", R"({"model_type":"bailing_hybrid","hidden_size":2560,"num_hidden_layers":42,"num_attention_heads":32,"num_key_value_heads":32,"head_dim":128,"kv_lora_rank":512,"q_lora_rank":null,"qk_nope_head_dim":128,"qk_rope_head_dim":64,"v_head_dim":128,"layer_group_size":6,"short_conv_kernel_size":4,"dtype":"bfloat16"})",
     "hybrid", {7 * 576 * 2, 7 * 576 * 2, 35 * (3 * 3 * 4096 * 2 + 4096 * 128 * 4)}, "KDA with float32 states, MLA every sixth layer"},
    {"Ling 2.5", R"({"model_type":"bailing_hybrid","hidden_size":2560,"num_hidden_layers":20,"num_attention_heads":32,"head_dim":128,"kv_lora_rank":512,"qk_rope_head_dim":64,"layer_group_size":5,"dtype":"bfloat16"})",
     "hybrid", {4 * 576 * 2, 4 * 576 * 2, 16 * 4096 * 128 * 2}, "vLLM bailing_moe_linear: lightning and MLA"},
    {"DeepSeek-VL2-tiny", R"({"model_type":"deepseek_vl_v2","language_config":{"architectures":["DeepseekV2ForCausalLM"],"hidden_size":1280,"num_hidden_layers":12,"num_attention_heads":10,"num_key_value_heads":10,"kv_lora_rank":null,"use_mla":false,"qk_nope_head_dim":0,"qk_rope_head_dim":0,"v_head_dim":0,"dtype":"bfloat16"}})",
     "mha", {12 * 2 * 1280 * 2, 12 * 2 * 1280 * 2, 0}, "its language_config has no latent"},
    {"MiniCPM3, sparse file", R"({"model_type":"minicpm3","hidden_size":2560,"num_hidden_layers":62,"num_attention_heads":40,"dtype":"bfloat16"})",
     "mla", {62 * (256 + 32) * 2, 62 * (256 + 32) * 2, 0}, "transformers minicpm3: class defaults"},
    {"LongCat-Flash-Lite", R"({"model_type":"longcat_flash_ngram","hidden_size":3072,"num_layers":14,"num_attention_heads":32,"kv_lora_rank":512,"qk_rope_head_dim":64,"mla_scale_q_lora":true,"mla_scale_kv_lora":true,"dtype":"bfloat16"})",
     "mla", {28 * 576 * 2, 28 * 576 * 2, 0}, "mlx-lm longcat_flash_ngram: two attentions a layer"},
    {"Step3", R"({"model_type":"step3_vl","text_config":{"model_type":"step3_text","hidden_size":7168,"num_hidden_layers":61,"num_attention_heads":64,"num_attention_groups":1,"head_dim":256,"dtype":"bfloat16"}})",
     "mqa", {61 * 2 * 256 * 2, 61 * 2 * 256 * 2, 0}, "vLLM step3_text: one group of 256"},
    {"AFM-7B", R"({"model_type":"afm7","hidden_dim":2048,"num_layers":56,"num_kv_reuse_layers":21,"num_heads":16,"num_kv_heads":2,"dtype":"bfloat16"})",
     "gqa", {35 * 2 * 2 * 128 * 2, 35 * 2 * 2 * 128 * 2, 0}, "mlx-lm afm7"},
    {"Falcon-40B, first config", R"({"model_type":"RefinedWeb","hidden_size":8192,"n_layer":60,"n_head":128,"n_head_kv":8,"dtype":"bfloat16"})",
     "gqa", {60 * 2 * 8 * 64 * 2, 60 * 2 * 8 * 64 * 2, 0}, "vLLM RWConfig"},
    {"Falcon-7B, first config", R"({"model_type":"RefinedWebModel","hidden_size":4544,"n_layer":32,"n_head":71,"multi_query":true,"dtype":"bfloat16"})",
     "mqa", {32 * 2 * 64 * 2, 32 * 2 * 64 * 2, 0}, "the same"},
    {"Bamba without a list", R"({"model_type":"bamba","hidden_size":4096,"num_hidden_layers":2,"num_attention_heads":32,"dtype":"bfloat16"})",
     "ssm", {0, 0, 2 * ((8192 + 2 * 256) * 3 + 8192 * 256) * 2}, "transformers bamba: no attn_layer_indices, no attention"},
    {"OLMo-hybrid without linear fields", R"({"model_type":"olmo_hybrid","hidden_size":2560,"num_hidden_layers":4,"num_attention_heads":20,"dtype":"bfloat16"})",
     "hybrid", {2 * 2560 * 2, 2 * 2560 * 2, 3 * (3 * 20 * (2 * 96 + 192) + 20 * 192 * 96) * 2}, "transformers olmo_hybrid: keys of 3/4, values twice"},
    {"xLSTM-7B", R"({"model_type":"xlstm","embedding_dim":4096,"num_heads":8,"num_blocks":32,"qk_dim_factor":0.5,"v_dim_factor":1.0,"dtype":"bfloat16"})",
     "linear", {0, 0, 32 * 8 * (256 * 512 + 256 + 1) * 4}, "transformers xlstm: C, n and m in float32"},
    {"RWKV-5", R"({"model_type":"rwkv5","hidden_size":2048,"attention_hidden_size":2048,"head_size":64,"num_hidden_layers":24,"dtype":"bfloat16"})",
     "rwkv", {0, 0, 24 * (2 * 2048 + 2048 * 64) * 2}, "two shifts and a 64 x 64 state a head"},
    {"Moonshine-tiny", R"({"model_type":"moonshine","hidden_size":288,"decoder_num_hidden_layers":6,"encoder_num_hidden_layers":6,"decoder_num_attention_heads":8,"dtype":"bfloat16"})",
     "hybrid", {6 * 2 * 288 * 2, 6 * 2 * 288 * 2, 0}, "transformers moonshine: heads are padded after the cache"},
    {"T5 without decoder layers", R"({"model_type":"t5","d_model":1024,"num_layers":24,"num_heads":16,"d_kv":64,"dtype":"bfloat16"})",
     "hybrid", {24 * 2 * 1024 * 2, 24 * 2 * 1024 * 2, 0}, "transformers t5: as many as the encoder"},
    {"T5Gemma", R"({"model_type":"t5gemma","encoder":{"num_hidden_layers":26},"decoder":{"model_type":"t5_gemma_module","hidden_size":2304,"num_hidden_layers":26,"max_position_embeddings":8192,"dtype":"bfloat16"}})",
     "hybrid", {13 * 2 * 4 * 256 * 2, 26 * 2 * 4 * 256 * 2, 0}, "transformers t5gemma: every other layer has a window"},
    {"ViT and GPT-2", R"({"model_type":"vision-encoder-decoder","encoder":{"model_type":"vit","image_size":224,"patch_size":16},"decoder":{"model_type":"gpt2","n_embd":768,"n_layer":12,"n_head":12,"add_cross_attention":true,"dtype":"bfloat16"}})",
     "hybrid", {12 * 2 * 768 * 2, 12 * 2 * 768 * 2, 0}, "transformers vision_encoder_decoder"},
    {"DeciLM-7B's blocks", R"({"model_type":"deci","hidden_size":4096,"num_attention_heads":32,"num_hidden_layers":4,"num_key_value_heads_per_layer":[4,4,2,1],"dtype":"bfloat16"})",
     "hybrid", {2 * 128 * (4 + 4 + 2 + 1) * 2, 2 * 128 * (4 + 4 + 2 + 1) * 2, 0}, "its modeling_decilm.py"},
    {"Falcon-Mamba-7B", R"({"model_type":"falcon_mamba","hidden_size":4096,"intermediate_size":8192,"expand":16,"num_hidden_layers":64,"state_size":16,"conv_kernel":4,"dtype":"bfloat16"})",
     "ssm", {0, 0, 64 * 8192 * (16 + 3) * 2}, "vLLM mamba: config.intermediate_size"},
    {"SmallThinker-21B", R"({"model_type":"smallthinker","hidden_size":2560,"head_dim":128,"num_attention_heads":28,"num_key_value_heads":4,"num_hidden_layers":52,"sliding_window_size":4096,"sliding_window_layout":[0,1,1,1,0,1,1,1,0,1,1,1,0,1,1,1,0,1,1,1,0,1,1,1,0,1,1,1,0,1,1,1,0,1,1,1,0,1,1,1,0,1,1,1,0,1,1,1,0,1,1,1],"max_position_embeddings":16384,"dtype":"bfloat16"})",
     "hybrid", {13 * 2 * 4 * 128 * 2, 52 * 2 * 4 * 128 * 2, 0}, "llama.cpp smallthinker: one full layer in four"},
    {"MiMo-V2-Flash by its class", R"({"text_config":{"model_type":"mimo_v2_flash","dtype":"bfloat16"}})",
     "hybrid", {9 * 4 * (192 + 128) * 2, 9 * 4 * (192 + 128) * 2 + 39 * 8 * (192 + 128) * 2, 0},
     "transformers mimo_v2_flash: twice the KV heads in windows; full are the first layer and every sixth"},
    {"openPangu-Ultra-MoE by its own names", R"({"model_type":"pangu_ultra_moe","hidden_size":7680,"intermediate_size":18432,"moe_intermediate_size":2048,"num_hidden_layers":61,"num_attention_heads":128,"num_key_value_heads":128,"attention_q_lora_dim":1536,"attention_kv_lora_dim":512,"attention_qk_dim":128,"attention_qk_rope_dim":64,"attention_v_dim":128,"num_routed_experts":256,"num_shared_experts":1,"num_experts_per_tok":8,"num_dense_layers":3,"vocab_size":153600,"sandwich_norm":true,"dtype":"bfloat16"})",
     "mla", {61 * 576 * 2, 61 * 576 * 2, 0}, "its modeling_openpangu_moe.py"},
    {"Spark X2.5 1.7B", R"({"model_type":"spark2_5","hidden_size":2048,"num_hidden_layers":4,"num_attention_heads":8,"num_key_value_heads":2,"head_dim":256,"sliding_window":512,"max_position_embeddings":32768,"layer_types":["sliding_attention","sliding_attention","sliding_attention","full_attention"],"dtype":"bfloat16"})",
     "hybrid", {2 * 2 * 256 * 2, 4 * 2 * 2 * 256 * 2, 0}, "its configuration_spark.py"},
    {"Spark X2.5 without a list", R"({"model_type":"spark2_5","hidden_size":2048,"num_hidden_layers":4,"num_attention_heads":8,"num_key_value_heads":2,"head_dim":256,"sliding_window":512,"max_position_embeddings":32768,"dtype":"bfloat16"})",
     "gqa", {4 * 2 * 2 * 256 * 2, 4 * 2 * 2 * 256 * 2, 0}, "its configuration_spark.py: full attention everywhere"},
    {"MiniCPM-SALA", R"({"model_type":"minicpm_sala","hidden_size":4096,"num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":2,"head_dim":128,"lightning_nh":32,"lightning_nkv":32,"lightning_head_dim":128,"mamba_ssm_dtype":"float32","mixer_types":["minicpm4","lightning-attn","lightning-attn","lightning-attn","lightning-attn","lightning-attn","lightning-attn","lightning-attn","lightning-attn","minicpm4","lightning-attn","lightning-attn","lightning-attn","lightning-attn","lightning-attn","lightning-attn","minicpm4","minicpm4","lightning-attn","lightning-attn","lightning-attn","lightning-attn","minicpm4","lightning-attn","lightning-attn","lightning-attn","lightning-attn","lightning-attn","lightning-attn","minicpm4","minicpm4","minicpm4"],"dtype":"bfloat16"})",
     "hybrid", {8 * 2 * 2 * 128 * 2, 8 * 2 * 2 * 128 * 2, 24 * 32 * 128 * 128 * 4}, "SGLang minicpm: its state is float32"},
    {"Jet-Nemotron-2B", R"({"model_type":"jet_nemotron","hidden_size":1536,"num_hidden_layers":4,"num_attention_heads":12,"num_key_value_heads":2,"max_position_embeddings":65536,"layer_types":["jet","attn","swa","jet"],"efficient_attention_config":{"jet":{"num_heads":12,"head_dim":96,"expand_v":2.0,"conv_size":4,"dconv_generator_reduction":8},"swa":{"window_size":1152}},"dtype":"bfloat16"})",
     "hybrid", {2 * 2 * 128 * 2, 2 * 2 * 2 * 128 * 2, 2 * 12 * 192 * (96 + 3) * 2}, "SGLang jet_nemotron: a convolution over the values alone"},
    {"GigaChat 3.5, its full layers named", R"({"model_type":"gigachat3_5","full_attention_layers":[3,7,11],"hidden_size":1280,"num_hidden_layers":12,"num_attention_heads":16,"num_key_value_heads":16,"q_lora_rank":1536,"kv_lora_rank":512,"qk_nope_head_dim":128,"qk_rope_head_dim":64,"v_head_dim":128,"linear_conv_kernel_dim":4,"linear_key_head_dim":128,"linear_value_head_dim":128,"linear_num_key_heads":8,"linear_num_value_heads":16,"dtype":"bfloat16"})",
     "hybrid", {3 * 576 * 2, 3 * 576 * 2, 9 * (16 * 128 * 128 + 3 * (2 * 8 + 16) * 128) * 2}, "vLLM gigachat3_5: delta nets and latents"},
    {"GigaChat 3.5, all layers named", R"({"model_type":"gigachat3_5","layer_types":["linear_attention","linear_attention","linear_attention","full_attention","linear_attention","linear_attention","linear_attention","full_attention","linear_attention","linear_attention","linear_attention","full_attention"],"hidden_size":1280,"num_hidden_layers":12,"num_attention_heads":16,"num_key_value_heads":16,"q_lora_rank":1536,"kv_lora_rank":512,"qk_nope_head_dim":128,"qk_rope_head_dim":64,"v_head_dim":128,"linear_conv_kernel_dim":4,"linear_key_head_dim":128,"linear_value_head_dim":128,"linear_num_key_heads":8,"linear_num_value_heads":16,"dtype":"bfloat16"})",
     "hybrid", {3 * 576 * 2, 3 * 576 * 2, 9 * (16 * 128 * 128 + 3 * (2 * 8 + 16) * 128) * 2}, "the same"},
    {"Hy4-preview by its class", R"({"text_config":{"model_type":"hy_v4","dtype":"bfloat16"}})",
     "sparse_mla", {34 * 576 * 2 + 10 * 132, 34 * 576 * 2 + 10 * 132, 0}, "transformers hy_v4: indexers in layers 0, 1, 5, 9, ..., 33"},
    {"an encoder alone", R"({"model_type":"bert","hidden_size":768,"num_hidden_layers":12,"num_attention_heads":12,"dtype":"bfloat16"})",
     "none", {0, 0, 0}, "nothing is decoded"},
    {"InternVL, class by architecture", R"({"model_type":"internvl_chat","llm_config":{"architectures":["InternLM2ForCausalLM"],"hidden_size":4096,"num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8,"dtype":"bfloat16"}})",
     "gqa", {32 * 2 * 8 * 128 * 2, 32 * 2 * 8 * 128 * 2, 0}, "its llm_config"},
    {"a nested difference of nothing", R"({"model_type":"gemma3","text_config":{},"dtype":"bfloat16"})",
     "hybrid", {4 * 2 * 4 * 256 * 2, 26 * 2 * 4 * 256 * 2, 0}, "transformers gemma3_text: class defaults"},
    {"Qwen3.5, nested", R"({"model_type":"qwen3_5","text_config":{"num_hidden_layers":4,"dtype":"bfloat16"}})",
     "hybrid", {2 * 4 * 256 * 2, 2 * 4 * 256 * 2, 3 * (3 * (2 * 16 + 32) * 128 + 32 * 128 * 128) * 2}, "transformers qwen3_5: head_dim 256"},
};
// clang-format on

}  // namespace

TEST_CASE("families with their own config keys have the cache that their code allocates") {
  for (const Example& row : kExamples) {
    CAPTURE(row.name);
    CAPTURE(row.source);
    const ModelSpec model = read_config(row.config, "", row.name, {});
    const Bytes3 bytes = three_bytes_of(model);
    CHECK(model_attention(model) == row.kind);
    CHECK(model.family != "generic");
    CHECK(bytes.beyond_windows == row.bytes.beyond_windows);
    CHECK(bytes.in_window == row.bytes.in_window);
    CHECK(bytes.fixed == row.bytes.fixed);
    for (const Note& note : model.notes) CHECK(note.level == NoteLevel::kInfo);
  }
}

// transformers 5.23, __post_init__ of each class, at ten layers.
TEST_CASE("classes that compute the list of their layers") {
  struct Row {
    std::string_view type;
    std::vector<std::size_t> full;
  };
  const Row rows[] = {{"beam", {5, 9}}, {"flint", {0, 1, 5, 9}}, {"kolibri1", {4, 9}}, {"muse_spark_text", {1, 5, 9}}};
  for (const Row& row : rows) {
    CAPTURE(row.type);
    const ModelSpec model =
        read_config(R"({"model_type":")" + std::string(row.type) +
                        R"(","num_hidden_layers":10,"hidden_size":1024,"max_position_embeddings":32768})",
                    "", "test", {});
    std::vector<std::size_t> full;
    for (std::size_t i = 0; i < model.layers.size(); ++i)
      if (std::holds_alternative<FullAttention>(model.layers[i].mixers.front())) full.push_back(i);
    CHECK(full == row.full);
  }
}

TEST_CASE("attention_type names a kind of attention directly") {
  const std::string shape =
      R"("hidden_size":4096,"num_hidden_layers":4,"num_attention_heads":32,"max_position_embeddings":32768})";
  struct Kind {
    std::string_view fields, kind;
    std::uint64_t in_window, fixed;
  };
  const std::vector<Kind> kinds{
      {R"("attention_type":"mha")", "mha", 4 * 2 * 4096 * 2, 0},
      {R"("attention_type":"gqa","num_key_value_heads":8)", "gqa", 4 * 2 * 1024 * 2, 0},
      {R"("attention_type":"mqa")", "mqa", 4 * 2 * 128 * 2, 0},
      {R"("attention_type":"mla","kv_lora_rank":512,"qk_rope_head_dim":64)", "mla", 4 * 576 * 2, 0},
      {R"("attention_type":"sliding_window","sliding_window":1024)", "sliding_window", 4 * 2 * 4096 * 2, 0},
      {R"("attention_type":"sliding_window","sliding_window":32768)", "mha", 4 * 2 * 4096 * 2, 0},
      {R"("attention_type":"attention_sink","attention_sink_size":4,"sliding_window":1024)", "attention_sink",
       4 * 2 * 4096 * 2, 0},
      {R"("attention_type":"chunked","attention_chunk_size":8192)", "chunked", 4 * 2 * 4096 * 2, 0},
      {R"("attention_type":"ssm","state_size":16)", "ssm", 0, 4 * 8192 * (3 + 16) * 2},
      {R"("attention_type":"ssm","d_state":16)", "ssm", 0, 4 * 8192 * (3 + 16) * 2},
      {R"("attention_type":"linear")", "linear", 0, 4 * 32 * 128 * 128 * 2},
      {R"("ssm_cfg":{})", "ssm", 0, 4 * 8192 * (3 + 16) * 2},
      {R"("ssm_cfg":{"layer":"Mamba2"})", "ssm", 0, 4 * ((8192 + 2 * 128) * 3 + 8192 * 128) * 2},
      {R"("layer_types":["ssm","full_attention","mla","sliding_window"],"state_size":16,"kv_lora_rank":512,"sliding_window":512)",
       "hybrid", (2 * 4096 + 576 + 2 * 4096) * 2, 8192 * (3 + 16) * 2},
  };
  for (const Kind& kind : kinds) {
    CAPTURE(kind.fields);
    const std::string text = "{" + std::string(kind.fields) + "," + shape;
    const ModelSpec model = read_config(text, "", "generic", {.assume = true});
    CHECK(model_attention(model) == kind.kind);
    CHECK(three_bytes_of(model).in_window == kind.in_window);
    CHECK(three_bytes_of(model).fixed == kind.fixed);
  }
}

TEST_CASE("a known class follows attention_type if nothing contradicts it") {
  const std::string shape =
      R"("hidden_size":4096,"num_hidden_layers":4,"num_attention_heads":32,"max_position_embeddings":32768})";
  const auto kind = [&](std::string_view fields) {
    return model_attention(read_config("{" + std::string(fields) + "," + shape, "", "x", {}));
  };
  CHECK(
      kind(R"("model_type":"llama","attention_type":"attention_sink","attention_sink_size":4,"sliding_window":1020)") ==
      "attention_sink");
  CHECK(kind(R"("model_type":"llama","attention_type":"mla")") == "mha");  // no latent anywhere
  CHECK(kind(R"("model_type":"llama","attention_type":"mqa","num_key_value_heads":8)") == "gqa");
  CHECK(kind(R"("model_type":"deepseek_v3","attention_type":"mha")") == "mla");
}

TEST_CASE("names from a config are printed without control characters") {
  const ModelSpec model = read_config(
      "{\"model_type\":\"llama\",\"architectures\":[\"X\\n::error::\\u001b[31m<script>\\u0000\"],\"hidden_size\":1024,"
      "\"num_hidden_layers\":4,\"num_attention_heads\":16}",
      "", "x", {});
  CHECK(model.architecture == "X???error????31m?script??");
}

TEST_CASE("Nanbeige's loops have separate caches; Grok-2's type is git") {
  const ModelSpec looped = read_config(
      R"({"model_type":"nanbeige","hidden_size":3072,"intermediate_size":10752,"num_hidden_layers":22,
          "num_attention_heads":48,"num_key_value_heads":8,"head_dim":128,"num_loops":2,"vocab_size":166144})",
      "", "x", {});
  CHECK(looped.layers.size() == 44);
  CHECK(three_bytes_of(looped).beyond_windows == 44 * 2 * 8 * 128 * 2);
  const ModelSpec grok = read_config(
      R"({"model_type":"git","architectures":["Grok1ForCausalLM"],"hidden_size":8192,"intermediate_size":32768,
          "num_hidden_layers":64,"num_attention_heads":64,"num_key_value_heads":8,"head_dim":128,"vocab_size":131072})",
      "", "x", {});
  CHECK(grok.model_type == "grok-1");
  CHECK(three_bytes_of(grok).beyond_windows == 64 * 2 * 8 * 128 * 2);
}

// 11 latents of 512 without a rotary part, 34 KDA layers of 64 heads: vLLM's glm5_next. An index key covers four
// tokens.
std::ptrdiff_t warnings_of(const ModelSpec& model) {
  return std::count_if(model.notes.begin(), model.notes.end(),
                       [](const Note& note) { return note.level == NoteLevel::kWarning; });
}

TEST_CASE("GLM-5.3-Flash's latents have no rotary part, and its KDA's heads may be in two places") {
  const std::string shape =
      R"({"model_type":"glm5_next","text_config":{"model_type":"glm5_next_text","hidden_size":4096,
          "num_hidden_layers":45,"num_attention_heads":64,"q_lora_rank":1536,"kv_lora_rank":512,
          "qk_nope_head_dim":256,"qk_rope_head_dim":0,"v_head_dim":256,"index_head_dim":128,"index_n_heads":32,
          "index_topk":2048,"index_kpool":4,"vocab_size":154880,"dtype":"bfloat16",)";
  for (const std::string& heads :
       {std::string(R"("linear_attn_config":{"num_heads":64,"head_dim":128,"short_conv_kernel_size":4}}})"),
        std::string(R"("linear_num_heads":64,"linear_head_dim":128,"linear_conv_kernel_dim":4}})")}) {
    const ModelSpec model = read_config(shape + heads, "", "x", {});
    CHECK(three_bytes_of(model).beyond_windows == 11 * (512 * 2 + 132 / 4));
    CHECK(three_bytes_of(model).fixed == 34 * (64 * 128 * 128 * 4 + 3 * 3 * 8192 * 2));
    CHECK(warnings_of(model) == 0);
  }
}

// Logged by SGLang at TP 2, where each rank has half of the heads: 12,288 B per token and 57,729,024 B per slot of
// states.
TEST_CASE("Qwen3.8-Flash-Next has the cache of Qwen3.5, an index key for every four tokens, and n-grams") {
  const std::string text =
      R"("num_hidden_layers":48,"num_attention_heads":24,"num_key_value_heads":2,"head_dim":256,"hidden_size":2560,
         "linear_num_key_heads":16,"linear_num_value_heads":48,"linear_key_head_dim":128,"linear_value_head_dim":128,
         "linear_conv_kernel_dim":4,"mamba_ssm_dtype":"float32","moe_intermediate_size":640,
         "shared_expert_intermediate_size":640,"num_experts":512,"num_experts_per_tok":10,"vocab_size":248320,
         "indexer_kv_heads":1,"indexer_n_heads":4,"indexer_head_dim":128,"indexer_compress_ratio":4,"ple_layer_ids":[2],
         "dtype":"bfloat16"})";
  for (const std::string& config :
       {R"({"model_type":"qwen4_exp","text_config":{"model_type":"qwen4_exp_text",)" + text + "}",
        R"({"model_type":"qwen3_8_flash_next","text_config":{"model_type":"qwen3_8_flash_next_text",)" + text + "}",
        R"({"model_type":"qwen3_8_flash_next_text",)" + text}) {
    CAPTURE(config);
    const ModelSpec model = read_config(config, "", "x", {});
    CHECK(three_bytes_of(model).beyond_windows == 2 * 12288 + 12 * 128 * 2 / 4);
    CHECK(three_bytes_of(model).fixed == 2 * 57729024 + 9 * 10240 * 2);
    CHECK(warnings_of(model) == 0);
  }
}

TEST_CASE("a list of layer types replaces Qwen's use_sliding_window") {
  const ModelSpec draft = read_config(
      R"({"architectures":["DFlashDraftModel"],"model_type":"qwen3","hidden_size":5120,"num_hidden_layers":5,
          "num_attention_heads":32,"num_key_value_heads":8,"head_dim":128,"sliding_window":2048,
          "use_sliding_window":true,"max_window_layers":5,"layer_types":["sliding_attention","sliding_attention",
          "sliding_attention","sliding_attention","full_attention"]})",
      "", "x", {});
  CHECK(three_bytes_of(draft).beyond_windows == 2 * 8 * 128 * 2);
  CHECK(warnings_of(draft) == 0);
}

TEST_CASE("an unknown class is refused if it has an unread key about the cache, and only then") {
  const std::string shape =
      R"("hidden_size":1024,"num_hidden_layers":4,"num_attention_heads":16,"max_position_embeddings":8192})";
  const auto read = [&](std::string_view fields) {
    return read_config(R"({"model_type":"newmodel",)" + std::string(fields) + "," + shape, "", "x", {});
  };
  CHECK_NOTHROW(read(R"("output_hidden_states":true,"use_cache":true,"qkv_bias":true,"clip_qkv":8.0)"));
  CHECK_NOTHROW(read(R"("sliding_window":null,"use_sliding_window":false,"max_window_layers":28)"));
  CHECK_NOTHROW(read(R"("kv_cache_dtype":"auto","rope_theta":10000.0,"num_key_value_heads":4)"));
  for (const std::string_view key : {"index_topk", "kv_compression", "cache_window", "key_rank", "memory_state",
                                     "compress_rate", "mamba_width", "linear_num_value_heads"}) {
    CAPTURE(key);
    CHECK_THROWS_WITH_AS(read("\"" + std::string(key) + "\":64"), doctest::Contains(std::string(key).c_str()), Error);
  }
  CHECK_THROWS_WITH_AS(read(R"("layer_types":["wavelet","wavelet","wavelet","wavelet"])"), doctest::Contains("wavelet"),
                       Error);
}

}  // namespace kvplan
