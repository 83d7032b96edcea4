// GPT-2 and decoders of its time, StarCoder, MPT, DBRX, and gpt-oss. Source: transformers' modelling files of the types
// named.
#include "models/blocks/blocks.h"

namespace kvplan {

// CPM-Ant: learned prompts, segments among the word embeddings, and a separate head whatever the config says. All
// layers share biases for each distance and pair of segments. Source: transformers modeling_cpmant.py.
static void write_cpmant(Inventory& out) {
  const Fields& text = out.text;
  const std::uint64_t segments = text.count_or("segment_types", 32);
  out.outside(Place::kFirst);
  out.table(Component::kEmbedding, "cpmant.prompt_embedding",
            times(text.count_or("prompt_types", 32), text.count_or("prompt_length", 32)), out.hidden);
  out.table(Component::kEmbedding, "cpmant.segment_embedding", segments, out.hidden);
  out.plain(
      Component::kAttention, "cpmant.position_bias.relative_attention_bias",
      times(text.count_or("num_attention_heads", 32),
            checked_add(times(segments, segments), text.count_or("position_bias_num_buckets", 512), "the biases")));
  for (TensorGroup& group : out.model().tensors)
    if (group.role == TensorRole::kHead) group.is_tied = false;
}

// The causal mask, one byte for each pair of positions, in transformers' class, which vLLM runs.
static void write_gpt_bigcode(Inventory& out) {
  const std::uint64_t positions = out.reader.model.max_model_len.count();
  out.outside(Place::kFirst);
  out.plain(Component::kOther, "transformer.bias", ceil_div(times(positions, positions), 2)).is_derived = true;
}

static void read_gpt_bigcode(Reader& reader) {
  const std::uint64_t num_heads = reader.text.count("num_attention_heads");
  push_full(reader, heads_of_width(reader.text, num_heads, reader.text.flag("multi_query", true) ? 1 : num_heads));
}

static void read_attn_config(Reader& reader) {
  const std::uint64_t num_heads = reader.text.count("num_attention_heads");
  // If attn_config does not give KV heads, DBRX's class has one and MPT's has as many as heads.
  const std::uint64_t fallback = reader.text.class_name() == "dbrx" ? 1 : num_heads;
  std::uint64_t num_kv_heads = fallback;
  if (const auto attention = reader.text.child("attn_config")) {
    const bool multi_query = attention->find_string("attn_type").value_or("") == "multiquery_attention";
    num_kv_heads = attention->count_or("kv_n_heads", multi_query ? 1 : fallback);
  }
  push_full(reader, heads_of_width(reader.text, num_heads, num_kv_heads));
}

// Kosmos-2 and 2.5: norms within the blocks, and two kinds of segments in 2.5. Source: transformers
// modeling_kosmos2.py, modeling_kosmos2_5.py.
static void write_kosmos(Inventory& out) {
  const bool is_second = out.text.class_name() == "kosmos_2_text_model";
  out.in_layers(all_layers(out));
  if (is_second) out.norms("self_attn.inner_attn_ln", out.hidden, 1, true);
  out.norms("mlp.ffn_layernorm", out.text.count_or("intermediate_size", times(4, out.hidden)), 1, true);
  out.outside(Place::kFirst);
  if (!is_second) out.table(Component::kEmbedding, "model.segment_emb", 2, out.hidden);
}

// GIT: BERT's blocks after an image, with a temporal embedding for each video frame. Source: transformers
// modeling_git.py.
static void write_git(Inventory& out) {
  out.outside(Place::kFirst);
  out.norms("model.embeddings.LayerNorm", out.hidden, 1, true);
  const auto vision = out.reader.root.child("vision_config");
  if (const std::uint64_t frames = out.text.count_or("num_image_with_embedding", 0); frames > 0)
    out.table(Component::kVision, "model.img_temporal_embedding", frames,
              vision ? vision->count_or("hidden_size", 768) : 768);
}

// XLM: a norm after the embedding, and a row for each language if there are several. Source: transformers
// modeling_xlm.py.
static void write_xlm(Inventory& out) {
  const std::uint64_t languages = out.text.count_or("n_langs", 1);
  out.outside(Place::kFirst);
  out.norms("model.layer_norm_emb", out.hidden, 1, true);
  if (languages > 1 && out.text.flag("use_lang_emb", true))
    out.table(Component::kEmbedding, "model.lang_embeddings", languages, out.hidden);
}

// XLNet: relative positions have a projection, and five vectors are added to the scores. Source: transformers
// modeling_xlnet.py.
static void write_xlnet(Inventory& out) {
  const std::uint64_t heads = out.text.count_or("num_attention_heads", 16);
  const std::uint64_t wide = times(heads, out.text.count_or("d_head", heads > 0 ? out.hidden / heads : 0));
  out.in_layers(all_layers(out));
  out.linear(Component::kAttention, "self_attn.r_proj", wide, out.hidden);
  out.plain(Component::kAttention, "self_attn.biases", times(5, wide));
  out.outside(Place::kFirst);
  out.plain(Component::kEmbedding, "model.mask_emb", out.hidden);
}

static void write_neox_japanese(Inventory& out) {
  out.outside(Place::kLast);
  out.plain(Component::kAttention, "model.layers.last.attention.dense_bias", out.hidden);
}

static void write_bloom(Inventory& out) {
  out.outside(Place::kFirst);
  out.norms("model.word_embeddings_layernorm", out.hidden, 1, true);
}

static void plan_dbrx(const Inventory& inventory, MlpPlan& plan) {
  const Fields ffn = inventory.text.child("ffn_config").value_or(Fields::empty());
  plan.every.experts = ffn.count_or("moe_num_experts", 4);
  plan.every.top_k = ffn.count_or("moe_top_k", 1);
  plan.every.width = ffn.count_or("ffn_hidden_size", 3584);
  if (plan.every.top_k > plan.every.experts)
    fail("\"moe_top_k\" is " + std::to_string(plan.every.top_k) + " of " + std::to_string(plan.every.experts) +
             " experts",
         "correct the config");
}

constexpr std::string_view kXglmModules = "self_attn.o_proj=self_attn.out_proj mlp.up_proj=fc1 mlp.down_proj=fc2";
constexpr std::string_view kGpt2Modules =
    "layers.*=h.* self_attn.qkv_proj=attn.c_attn self_attn.o_proj=attn.c_proj "
    "mlp.up_proj=mlp.c_fc mlp.down_proj=mlp.c_proj embed_tokens=wte";
constexpr std::string_view kGptjModules =
    "layers.*=h.* self_attn=attn o_proj=out_proj mlp.up_proj=mlp.fc_in "
    "mlp.down_proj=mlp.fc_out embed_tokens=wte";

// GPT-2's shape: biases everywhere, LayerNorms, MLPs of two matrices.
static constexpr Traits gpt_like(Traits own) {
  own.biases = "+";
  own.norm_style = NormStyle::kLayerNorm;
  own.has_gated_mlp = false;
  return own;
}

// clang-format off
std::span<const Family> gpt_family() {
  static constexpr Family kRows[] = {
    {.is = {"jais"}, .tensors = {.biases = "+", .norm_style = NormStyle::kLayerNorm, .fuses_qkv = true,
     .ties_by_default = true}},
    {.is = {"jais2", kExecutedClass}, .tensors = {.norm_style = NormStyle::kLayerNorm, .has_gated_mlp = false}},
    {.is = {"xglm", kExecutedClass}, .tensors = gpt_like({.ties_by_default = true}), .modules = kXglmModules},
    {.is = {"biogpt opt", kExecutedClass}, .tensors = gpt_like({.has_position_table = true, .position_offset = 2,
     .ties_by_default = true}), .modules = kXglmModules},
    {.is = {"gpt2", kExecutedClass}, .tensors = gpt_like({.fuses_qkv = true, .mlp_ratio = 4, .has_position_table = true,
     .ties_by_default = true}), .modules = kGpt2Modules},
    {.is = {"gptj", kExecutedClass}, .tensors = {.qkv_bias = "", .o_bias = "", .mlp_bias = "+", .head_bias = "+",
     .norms = 1, .norm_style = NormStyle::kLayerNorm, .has_gated_mlp = false, .mlp_ratio = 4}, .modules = kGptjModules},
    {.is = {"codegen", kExecutedClass}, .tensors = {.qkv_bias = "", .o_bias = "", .mlp_bias = "+", .head_bias = "+",
     .norms = 1, .norm_style = NormStyle::kLayerNorm, .has_gated_mlp = false, .fuses_qkv = true, .mlp_ratio = 4},
     .modules = kGptjModules},
    {.is = {"gpt_neox", kExecutedClass}, .tensors = gpt_like({.fuses_qkv = true}),
     .modules = "self_attn.qkv_proj=attention.query_key_value self_attn.o_proj=attention.dense "
     "mlp.up_proj=mlp.dense_h_to_4h mlp.down_proj=mlp.dense_4h_to_h lm_head=embed_out embed_tokens=embed_in | ="},
    {.is = {"gpt_neox_japanese", kExecutedClass}, .tensors = {.biases = "", .norm_style = NormStyle::kLayerNorm,
     .has_gated_mlp = false, .fuses_qkv = true, .mlp_ratio = 4}, .extras = write_neox_japanese},
    {.is = {"bloom", kExecutedClass}, .tensors = gpt_like({.fuses_qkv = true, .mlp_ratio = 4, .ties_by_default = true}),
     .extras = write_bloom, .modules = kBloomModules},
    {.is = {"codeshell", kExecutedClass}, .tensors = gpt_like({.fuses_qkv = true, .ties_by_default = true})},
    {.is = {"ctrl", kExecutedClass}, .tensors = gpt_like({.head_bias = "+", .mlp_width = "dff",
     .ties_by_default = true})},
    {.is = {"openai-gpt", kExecutedClass, Arch::kOpenaiGpt}, .tensors = gpt_like({.has_final_norm = false, .fuses_qkv = true,
     .mlp_ratio = 4, .has_position_table = true, .ties_by_default = true})},
    {.is = {"gpt-sw3 musicgen_decoder musicgen_melody_decoder imagegpt clvp_decoder reformer", kExecutedClass}},
    {.is = {"kosmos_2_text_model kosmos_2_5_text_model", kExecutedClass},
     .tensors = gpt_like({.ties_by_default = true}), .extras = write_kosmos},
    {.is = {"git", kExecutedClass}, .tensors = gpt_like({.head_bias = "+", .has_final_norm = false,
     .has_position_table = true}), .extras = write_git},
    {.is = {"xlm", kExecutedClass}, .tensors = gpt_like({.head_bias = "+", .has_final_norm = false, .mlp_ratio = 4,
     .has_position_table = true, .ties_by_default = true}), .extras = write_xlm},
    {.is = {"xlnet", kExecutedClass}, .tensors = {.mlp_bias = "+", .head_bias = "+",
     .norm_style = NormStyle::kLayerNorm, .has_final_norm = false, .has_gated_mlp = false, .mlp_width = "d_inner",
     .ties_by_default = true}, .extras = write_xlnet},
    {.is = {"cpmant", kExecutedClass, Arch::kCpmant}, .tensors = {.may_have_more = true, .mlp_width = "dim_ff"},
     .extras = write_cpmant},
    {.is = {"starcoder2", kExecutedClass}, .layers = read_windowed, .tensors = {.biases = "use_bias",
     .norm_style = NormStyle::kLayerNorm, .has_gated_mlp = false, .ties_by_default = true},
     .modules = "mlp.up_proj=mlp.c_fc mlp.down_proj=mlp.c_proj"},
    {.is = {"gpt_oss", kExecutedClass, Arch::kGptOss}, .layers = read_windowed, .tensors = {.has_sinks = true,
     .has_expert_biases = true}, .pattern = full_every(2)},
    {.is = {"gpt_neo", kExecutedClass, Arch::kGptNeo}, .layers = read_windowed, .tensors = {.qkv_bias = "",
     .o_bias = "+", .mlp_bias = "+", .norm_style = NormStyle::kLayerNorm, .has_gated_mlp = false, .mlp_ratio = 4,
     .has_position_table = true, .ties_by_default = true}, .pattern = full_every(2), .modules = "layers.*=h.* "
     "self_attn=attn.attention o_proj=out_proj mlp.up_proj=mlp.c_fc mlp.down_proj=mlp.c_proj embed_tokens=wte"},
    {.is = {"gpt_bigcode", kExecutedClass}, .layers = read_gpt_bigcode, .rule = "gpt_bigcode",
     .tensors = gpt_like({.fuses_qkv = true, .mlp_ratio = 4, .has_position_table = true, .ties_by_default = true}),
     .extras = write_gpt_bigcode, .modules = kGpt2Modules},
    {.is = {"mpt", kExecutedClass}, .layers = read_attn_config, .rule = "attn_config", .tensors = {.biases = "",
     .has_gated_mlp = false, .fuses_qkv = true, .mlp_width = "expansion_ratio", .ties_by_default = true},
     .mlp_width = [](const Inventory& inventory, std::uint64_t ratio) {
     return times(ratio > 0 ? ratio : 4, inventory.hidden); }, .modules = "layers.*=blocks.* "
     "self_attn.qkv_proj=attn.Wqkv self_attn.o_proj=attn.out_proj mlp=ffn embed_tokens=wte"},
    {.is = {"dbrx", kExecutedClass}, .layers = read_attn_config, .rule = "attn_config", .tensors = {.qkv_bias = "",
     .o_bias = "", .fuses_qkv = true, .has_mlps = false, .moe = "ffn"}, .mlps = plan_dbrx,
     .modules = "layers.*=blocks.* self_attn.qkv_proj=norm_attn_norm.attn.Wqkv "
     "self_attn.o_proj=norm_attn_norm.attn.out_proj ffn.gate=ffn.router.layer experts.*.gate_proj=experts.mlp.w1 "
     "experts.*.up_proj=experts.mlp.v1 experts.*.down_proj=experts.mlp.w2"},
  };
  return kRows;
}
// clang-format on

}  // namespace kvplan
