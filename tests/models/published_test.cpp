// Published parameter counts of models whose blocks differ from Llama's in more than sizes. A total is the sum of the
// tensors in the published files, which the model's own code also gives. A tied head counts once.
#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "sources/load.h"
#include "support/figures.h"
#include "weights/weigh.h"

namespace kvplan {
namespace {

struct Published {
  std::string_view file;
  std::uint64_t total;
};

TEST_CASE("published totals of unusual blocks") {
  constexpr Published kRows[] = {
      {"hunyuan-a13b", 80393183232},    // lists with an entry for each layer
      {"phi-3-small", 7392272384},      // biases and layer norms everywhere, the head tied by the base class
      {"falcon-mamba-7b", 7272665088},  // "expand" is 16, but the mixer is twice as wide as the model
      {"jetmoe-8b", 8522237952},        // experts of attention
      {"rwkv6-1.6b", 1599873024},      {"molmo-7b-d", 8021025280},  // a tower that the config does not mention
  };
  for (const Published& row : kRows) {
    CAPTURE(row.file);
    const ModelSpec model =
        load_model(std::string(KVPLAN_SOURCE_DIR) + "/testdata/configs/" + std::string(row.file) + ".json", {});
    CHECK(count_parameters(model).is_known);
    CHECK(count_parameters(model).total == row.total);
  }
}

struct Inline {
  std::string_view name, config;
  std::uint64_t total;
};

constexpr Inline kInline[] = {
    {"T5-v1.1-xxl's encoder alone",
     R"({"model_type":"t5","architectures":["T5EncoderModel"],"d_ff":10240,"d_kv":64,"d_model":4096,
         "feed_forward_proj":"gated-gelu","num_heads":64,"num_layers":24,"num_decoder_layers":24,"vocab_size":32128,
         "tie_word_embeddings":false})",
     4762310656},
    {"LongCat-Flash-Lite, 31.4B of them n-grams",
     R"({"model_type":"longcat_flash_ngram","architectures":["LongcatFlashNgramForCausalLM"],"ffn_hidden_size":6144,
         "expert_ffn_hidden_size":1024,"hidden_size":3072,"kv_lora_rank":512,"q_lora_rank":1536,"qk_nope_head_dim":128,
         "qk_rope_head_dim":64,"v_head_dim":128,"n_routed_experts":256,"zero_expert_num":128,"moe_topk":12,
         "num_attention_heads":32,"num_layers":14,"vocab_size":131072,"ngram_vocab_size_ratio":78,"emb_neighbor_num":4,
         "emb_split_num":4})",
     68562465024},
    {"DeBERTa-v3-base",
     R"({"model_type":"deberta-v2","architectures":["DebertaV2Model"],"hidden_size":768,"intermediate_size":3072,
         "num_attention_heads":12,"num_hidden_layers":12,"max_position_embeddings":512,"relative_attention":true,
         "position_buckets":256,"norm_rel_ebd":"layer_norm","position_biased_input":false,"type_vocab_size":0,
         "vocab_size":128100})",
     183831552},
    {"EuroBERT-210m with its head",
     R"({"model_type":"eurobert","architectures":["EuroBertForMaskedLM"],"hidden_size":768,"intermediate_size":3072,
         "num_attention_heads":12,"num_key_value_heads":12,"num_hidden_layers":12,"vocab_size":128256})",
     310266624},
    {"jina-embeddings-v2-base: slopes and a gated MLP",
     R"({"model_type":"bert","architectures":["JinaBertModel"],"hidden_size":768,"intermediate_size":3072,
         "num_attention_heads":12,"num_hidden_layers":12,"max_position_embeddings":8192,"type_vocab_size":2,
         "vocab_size":30528,"feed_forward_type":"geglu","position_embedding_type":"alibi"})",
     137368320},
    {"gte-multilingual-base, whose type is \"new\"",
     R"({"model_type":"new","architectures":["NewModel"],"hidden_size":768,"intermediate_size":3072,
         "num_attention_heads":12,"num_hidden_layers":12,"max_position_embeddings":8192,"type_vocab_size":1,
         "vocab_size":250048,"position_embedding_type":"rope"})",
     305368320},
    {"nomic-embed-text-v2-moe",
     R"({"model_type":"nomic_bert","architectures":["NomicBertModel"],"n_embd":768,"n_head":12,"n_inner":3072,"n_layer":12,
         "n_positions":2048,"vocab_size":250048,"type_vocab_size":1,"activation_function":"gelu","qkv_proj_bias":true,
         "mlp_fc1_bias":true,"mlp_fc2_bias":true,"num_experts":8,"moe_top_k":2,"moe_every_n_layers":2})",
     475292928},
    {"e5-mistral-7b: no head of words",
     R"({"model_type":"mistral","architectures":["MistralModel"],"hidden_size":4096,"intermediate_size":14336,
         "num_attention_heads":32,"num_key_value_heads":8,"num_hidden_layers":32,"vocab_size":32000})",
     7110660096},
    {"Ouro-1.4B: four norms and a gate",
     R"({"model_type":"ouro","architectures":["OuroForCausalLM"],"hidden_size":2048,"intermediate_size":5632,
         "num_attention_heads":16,"num_key_value_heads":16,"num_hidden_layers":24,"head_dim":128,"vocab_size":49152,
         "total_ut_steps":4,"tie_word_embeddings":false})",
     1434652673},
    {"Falcon-40B, as first published",
     R"({"model_type":"RefinedWeb","hidden_size":8192,"n_head":128,"n_head_kv":8,"n_layer":60,"parallel_attn":true,
         "bias":false,"vocab_size":65024})",
     // 60 blocks of 679510016 (two norms each), two tables, a norm
     41835970560},
    {"RWKV-5 1.5B",
     R"({"model_type":"rwkv5","hidden_size":2048,"attention_hidden_size":2048,"num_hidden_layers":24,"head_size":64,
         "vocab_size":65536,"intermediate_size":null})",
     1577754624},
    {"RWKV-7 2.9B",
     R"({"model_type":"rwkv7","hidden_size":2560,"num_hidden_layers":32,"head_dim":64,"vocab_size":65536,
         "intermediate_size":10240})",
     2947735040},
    {"PLaMo 2 1B",
     R"({"model_type":"plamo2","hidden_size":2048,"num_hidden_layers":16,"num_attention_heads":16,
         "num_key_value_heads":1,"hidden_size_per_head":128,"mamba_d_state":64,"mamba_num_heads":32,"mamba_step":2,
         "intermediate_size":8192,"vocab_size":100000,"tie_word_embeddings":true})",
     1291441920},
    {"Ling-mini-2.0, with its routers' biases",
     R"({"model_type":"bailing_moe","hidden_size":2048,"intermediate_size":5120,"moe_intermediate_size":512,
         "num_experts":256,"num_shared_experts":1,"num_experts_per_tok":8,"num_attention_heads":16,
         "num_key_value_heads":4,"head_dim":128,"num_hidden_layers":20,"vocab_size":157184,"first_k_dense_replace":1,
         "use_qk_norm":true,"moe_router_enable_expert_bias":true,"tie_word_embeddings":false})",
     16255643392},
    {"Fuyu-8B, its decoder named inside",
     R"({"model_type":"fuyu","hidden_size":4096,"num_hidden_layers":36,"patch_size":30,"text_config":{
         "model_type":"persimmon","hidden_size":4096,"intermediate_size":16384,"num_attention_heads":64,
         "num_hidden_layers":36,"qk_layernorm":true,"vocab_size":262144}})",
     9408238592},
    {"Idefics2-8B",
     R"({"model_type":"idefics2","perceiver_config":{"model_type":"idefics2"},"text_config":{"model_type":"mistral",
         "vocab_size":32003},"vision_config":{"hidden_size":1152,"image_size":980,"intermediate_size":4304,
         "num_attention_heads":16,"num_hidden_layers":27,"patch_size":14}})",
     8402768112},
    {"Phi-3.5-vision",
     R"({"model_type":"phi3_v","hidden_size":3072,"intermediate_size":8192,"num_hidden_layers":32,
         "num_attention_heads":32,"num_key_value_heads":32,"vocab_size":32064,"tie_word_embeddings":false,
         "sliding_window":262144,"max_position_embeddings":131072})",
     4146621440},
    {"Phi-4-multimodal",
     R"({"model_type":"phi4mm","hidden_size":3072,"intermediate_size":8192,"num_hidden_layers":32,
         "num_attention_heads":24,"num_key_value_heads":8,"vocab_size":200064,"tie_word_embeddings":true,
         "vision_lora":{"r":256},"speech_lora":{"r":320},"embd_layer":{"embedding_cls":"image_audio"}})",
     5574460384},
    {"InternVL3-8B, as InternVLChatModel",
     R"({"model_type":"internvl_chat","downsample_ratio":0.5,"llm_config":{"model_type":"qwen2","hidden_size":3584,
         "intermediate_size":18944,"num_attention_heads":28,"num_hidden_layers":28,"num_key_value_heads":4,
         "vocab_size":151674,"tie_word_embeddings":false},"vision_config":{"model_type":"intern_vit_6b",
         "hidden_size":1024,"image_size":448,"intermediate_size":4096,"num_attention_heads":16,
         "num_hidden_layers":24,"patch_size":14,"qkv_bias":true,"qk_normalization":false}})",
     7944373760},
    {"dots.ocr",
     R"({"model_type":"dots_ocr","hidden_size":1536,"intermediate_size":8960,"num_hidden_layers":28,
         "num_attention_heads":12,"num_key_value_heads":2,"vocab_size":151936,"tie_word_embeddings":false,
         "attention_bias":true,"use_sliding_window":false,"vision_config":{"embed_dim":1536,"hidden_size":1536,
         "intermediate_size":4224,"num_hidden_layers":42,"num_attention_heads":12,"patch_size":14,"post_norm":true,
         "spatial_merge_size":2,"temporal_patch_size":1,"use_bias":false}})",
     3039179264},
    {"LFM2-VL-450M",
     R"({"model_type":"lfm2_vl","downsample_factor":2,"projector_hidden_size":2560,"text_config":{"model_type":"lfm2",
         "vocab_size":65536,"hidden_size":1024,"num_hidden_layers":16,"num_attention_heads":16,
         "num_key_value_heads":8,"block_ff_dim":6656,"full_attn_idxs":[2,5,8,10,12,14]},"vision_config":{
         "model_type":"siglip2_vision_model","hidden_size":768,"intermediate_size":3072,"num_hidden_layers":12,
         "num_attention_heads":12,"patch_size":16,"num_patches":256}})",
     450822656},
    {"Zamba2-1.2B",
     R"({"model_type":"zamba2","hidden_size":2048,"num_hidden_layers":38,"mamba_d_state":128,"mamba_ngroups":1,
         "n_mamba_heads":64,"mamba_headdim":64,"intermediate_size":8192,"num_attention_heads":32,
         "num_key_value_heads":32,"attention_head_dim":128,"vocab_size":32000,"num_mem_blocks":1,
         "use_shared_attention_adapter":true,"adapter_rank":128,"hybrid_layer_ids":[5,11,17,23,29,35]})",
     1215064704},
    {"Inkling's decoder, as its class has it (transformers 5.16)", R"({"text_config":{"model_type":"inkling_text"}})",
     975340287042},
    {"Baichuan-M1's blocks, as mlx-lm builds them",
     R"({"model_type":"baichuan_m1","vocab_size":133120,"hidden_size":5120,"intermediate_size":17408,
         "num_hidden_layers":40,"num_attention_heads":40,"num_key_value_heads":2,"num_swa_attention_heads":20,
         "num_swa_key_value_heads":2,"sliding_window":8192,"conv_window":2,"max_position_embeddings":32768,
         "sliding_window_layers":[1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31,33,35,37,39],
         "tie_word_embeddings":false})",
     14313477440},
    {"BERT base",
     R"({"architectures":["BertModel"],"model_type":"bert","hidden_size":768,"intermediate_size":3072,
         "num_hidden_layers":12,"num_attention_heads":12,"vocab_size":30522,"max_position_embeddings":512,
         "type_vocab_size":2})",
     109482240},
    {"BERT base with both heads of its training",
     R"({"architectures":["BertForPreTraining"],"model_type":"bert","hidden_size":768,"intermediate_size":3072,
         "num_hidden_layers":12,"num_attention_heads":12,"vocab_size":30522,"max_position_embeddings":512})",
     110104890 + 1538},
    {"BGE-M3",
     R"({"architectures":["XLMRobertaModel"],"model_type":"xlm-roberta","hidden_size":1024,"intermediate_size":4096,
         "num_hidden_layers":24,"num_attention_heads":16,"vocab_size":250002,"max_position_embeddings":8194,
         "type_vocab_size":1})",
     567754752},
    {"all-mpnet-base",
     R"({"architectures":["MPNetModel"],"model_type":"mpnet","hidden_size":768,"intermediate_size":3072,
         "num_hidden_layers":12,"num_attention_heads":12,"vocab_size":30527,"max_position_embeddings":514})",
     109486464},
    {"DistilBERT",
     R"({"architectures":["DistilBertModel"],"model_type":"distilbert","dim":768,"hidden_dim":3072,"n_heads":12,
         "n_layers":6,"vocab_size":30522,"max_position_embeddings":512})",
     66362880},
    {"ModernBERT base",
     R"({"architectures":["ModernBertModel"],"model_type":"modernbert","hidden_size":768,"intermediate_size":1152,
         "num_hidden_layers":22,"num_attention_heads":12,"vocab_size":50368,"max_position_embeddings":8192})",
     149014272},
};

TEST_CASE("published totals from a few fields") {
  for (const Inline& row : kInline) {
    CAPTURE(row.name);
    const Parameters parameters = count_parameters(parse_model(row.config));
    CHECK(parameters.is_known);
    CHECK(parameters.total == row.total);
  }
}

// ERNIE-4.5-VL's own config: lists of two, for words and for pictures. 28 layers: 64 experts of 1536 and 64 of 512, a
// router and its bias for each, two shared experts; the first layer is dense.
TEST_CASE("published totals: two kinds of experts") {
  const ModelSpec model = parse_model(
      R"({"model_type":"ernie4_5_moe_vl","hidden_size":2560,"intermediate_size":12288,"num_attention_heads":20,
          "num_key_value_heads":4,"num_hidden_layers":28,"vocab_size":103424,"tie_word_embeddings":true,
          "moe_num_experts":[64,64],"moe_intermediate_size":[1536,512],"moe_k":6,"moe_layer_start_index":[1,1],
          "moe_layer_end_index":[29,28],"moe_num_shared_experts":2})");
  CHECK(count_parameters(model).total == 28624635776);
}

// Grok-2 has an MLP in addition to the experts of each layer; Skywork-MoE gives its experts in a list of one.
TEST_CASE("published totals: experts and an MLP side by side") {
  const ModelSpec grok = parse_model(
      R"({"model_type":"git","architectures":["Grok1ForCausalLM"],"hidden_size":8192,"intermediate_size":32768,
          "moe_intermediate_size":16384,"num_local_experts":8,"num_experts_per_tok":2,"residual_moe":true,
          "num_attention_heads":64,"num_key_value_heads":8,"head_dim":128,"num_hidden_layers":64,"vocab_size":131072,
          "tie_word_embeddings":false})");
  constexpr std::uint64_t kAttention = 2 * 8192ULL * 8192 + 2 * 8192ULL * 1024;
  constexpr std::uint64_t kMlps = 8 * 3 * 8192ULL * 16384 + 3 * 8192ULL * 32768 + 8 * 8192ULL;
  const std::uint64_t total = count_parameters(grok).total;
  CHECK(total >= 64 * (kAttention + kMlps) + 2 * 131072ULL * 8192);
  CHECK(total <= 64 * (kAttention + kMlps + 4 * 8192) + 2 * 131072ULL * 8192 + 8192);
  const ModelSpec skywork = parse_model(
      R"({"model_type":"skywork","hidden_size":4608,"intermediate_size":12288,"num_hidden_layers":52,
          "num_attention_heads":36,"num_key_value_heads":36,"num_experts":[16],"num_experts_per_tok":2,
          "vocab_size":65532})");
  CHECK(count_parameters(skywork).total ==
        52 * (4 * 4608ULL * 4608 + 16 * (3 * 4608ULL * 12288 + 4608) + 2 * 4608) + 2 * 65532ULL * 4608 + 4608);
}

// Snowflake Arctic: 10 billion in attention and the dense MLPs, 128 experts of 3.66 billion, 480 billion in all.
TEST_CASE("published totals: experts beside a dense transformer") {
  const ModelSpec model = parse_model(
      R"({"model_type":"arctic","hidden_size":7168,"intermediate_size":4864,"num_hidden_layers":35,
          "num_attention_heads":56,"num_key_value_heads":8,"vocab_size":32000,"num_local_experts":128,
          "num_experts_per_tok":2,"use_residual":true,"tie_word_embeddings":false})");
  std::uint64_t experts = 0;
  for (const TensorGroup& group : model.tensors)
    if (group.component == Component::kExperts) experts += group.stored().count();
  CHECK(experts == 128 * (35 * 3 * 7168ULL * 4864));
  const std::uint64_t rest = count_parameters(model).total - experts;
  CHECK(rest == 35 * (2 * 7168ULL * 7168 + 2 * 7168ULL * 1024 + 3 * 7168ULL * 7168 + 128 * 7168ULL + 3 * 7168) +
                    2 * 32000ULL * 7168 + 7168);
}

// Laguna's window layers have 64 query heads, its full layers 48. So q, o and the head's gate have 16 more.
TEST_CASE("published totals: query heads that differ by layer") {
  const std::string with = R"({"model_type":"laguna","hidden_size":2048,"num_hidden_layers":4,"head_dim":128,
      "num_attention_heads":48,"num_key_value_heads":8,"layer_types":["full_attention","sliding_attention",
      "sliding_attention","sliding_attention"])";
  const std::uint64_t alike = count_parameters(parse_model(with + "}")).total;
  const std::uint64_t apart =
      count_parameters(parse_model(with + R"(,"num_attention_heads_per_layer":[48,64,64,64]})")).total;
  CHECK(apart - alike == 3 * 16 * (2 * 128 * 2048 + 2048));
}

}  // namespace
}  // namespace kvplan
