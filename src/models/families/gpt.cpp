// GPT-2 and the decoders of its time, StarCoder, MPT, DBRX, and gpt-oss. Source: transformers' modelling files of the
// types named.
#include "models/blocks/inventory.h"
#include "models/blocks/layers.h"
#include "models/family.h"

namespace kvplan {

namespace {

void read_gpt_bigcode(Reader& reader) {
  const std::uint64_t num_heads = reader.text.count("num_attention_heads");
  push_full(reader, heads_of_width(reader.text, num_heads, reader.text.flag("multi_query", true) ? 1 : num_heads));
}

void read_attn_config(Reader& reader) {
  const std::uint64_t num_heads = reader.text.count("num_attention_heads");
  // DBRX's class has one KV head where attn_config names none, MPT's as many as heads.
  const std::uint64_t fallback = reader.text.class_name() == "dbrx" ? 1 : num_heads;
  std::uint64_t num_kv_heads = fallback;
  if (const auto attention = reader.text.child("attn_config")) {
    const bool multi_query = attention->find_string("attn_type").value_or("") == "multiquery_attention";
    num_kv_heads = attention->count_or("kv_n_heads", multi_query ? 1 : fallback);
  }
  push_full(reader, heads_of_width(reader.text, num_heads, num_kv_heads));
}

void write_neox_japanese(Inventory& inventory) {
  inventory.out.outside(Place::kLast);
  inventory.out.plain(Component::kAttention, "model.layers.last.attention.dense_bias", inventory.hidden);
}

// clang-format off
constexpr Family kRows[] = {
    {.is = {"jais", "plain"}, .layers = read_plain, .tensors = {.qkv_bias = "+", .o_bias = "+", .mlp_bias = "+",
     .norm_style = NormStyle::kLayerNorm, .fuses_qkv = true, .ties_by_default = true}},
    {.is = {"jais2", "plain", Arch::kOther, "executed class"}, .layers = read_plain,
     .tensors = {.norm_style = NormStyle::kLayerNorm, .has_gated_mlp = false}},
    {.is = {"xglm", "plain", Arch::kOther, "executed class"}, .layers = read_plain, .tensors = {.qkv_bias = "+",
     .o_bias = "+", .mlp_bias = "+", .norm_style = NormStyle::kLayerNorm, .has_gated_mlp = false,
     .ties_by_default = true}},
    {.is = {"biogpt opt", "plain", Arch::kOther, "executed class"}, .layers = read_plain, .tensors = {.qkv_bias = "+",
     .o_bias = "+", .mlp_bias = "+", .norm_style = NormStyle::kLayerNorm, .has_gated_mlp = false,
     .has_position_table = true, .position_offset = 2, .ties_by_default = true}},
    {.is = {"gpt2", "plain", Arch::kOther, "executed class"}, .layers = read_plain, .tensors = {.qkv_bias = "+",
     .o_bias = "+", .mlp_bias = "+", .norm_style = NormStyle::kLayerNorm, .has_gated_mlp = false, .fuses_qkv = true,
     .has_position_table = true, .ties_by_default = true}},
    {.is = {"gptj", "plain", Arch::kOther, "executed class"}, .layers = read_plain, .tensors = {.qkv_bias = "",
     .o_bias = "", .mlp_bias = "+", .head_bias = "+", .norms = 1, .norm_style = NormStyle::kLayerNorm,
     .has_gated_mlp = false}},
    {.is = {"codegen", "plain", Arch::kOther, "executed class"}, .layers = read_plain, .tensors = {.qkv_bias = "",
     .o_bias = "", .mlp_bias = "+", .head_bias = "+", .norms = 1, .norm_style = NormStyle::kLayerNorm,
     .has_gated_mlp = false, .fuses_qkv = true}},
    {.is = {"gpt_neox", "plain", Arch::kOther, "executed class"}, .layers = read_plain, .tensors = {.qkv_bias = "+",
     .o_bias = "+", .mlp_bias = "+", .norm_style = NormStyle::kLayerNorm, .has_gated_mlp = false, .fuses_qkv = true}},
    {.is = {"gpt_neox_japanese", "plain", Arch::kOther, "executed class"}, .layers = read_plain,
     .tensors = {.qkv_bias = "", .o_bias = "", .mlp_bias = "", .norm_style = NormStyle::kLayerNorm,
     .has_gated_mlp = false, .fuses_qkv = true}, .extras = write_neox_japanese},
    {.is = {"bloom codeshell", "plain", Arch::kOther, "executed class"}, .layers = read_plain,
     .tensors = {.qkv_bias = "+", .o_bias = "+", .mlp_bias = "+", .norm_style = NormStyle::kLayerNorm,
     .has_gated_mlp = false, .fuses_qkv = true, .ties_by_default = true}},
    {.is = {"ctrl", "plain", Arch::kOther, "executed class"}, .layers = read_plain, .tensors = {.qkv_bias = "+",
     .o_bias = "+", .mlp_bias = "+", .head_bias = "+", .norm_style = NormStyle::kLayerNorm, .has_gated_mlp = false,
     .ties_by_default = true}},
    {.is = {"openai-gpt", "plain", Arch::kOther, "executed class"}, .layers = read_plain, .tensors = {.qkv_bias = "+",
     .o_bias = "+", .mlp_bias = "+", .norm_style = NormStyle::kLayerNorm, .has_final_norm = false,
     .has_gated_mlp = false, .fuses_qkv = true, .has_position_table = true, .ties_by_default = true}},
    {.is = {"gpt-sw3 musicgen_decoder musicgen_melody_decoder imagegpt git clvp_decoder xlnet reformer "
            "kosmos_2_text_model kosmos_2_5_text_model", "plain", Arch::kOther, "executed class"},
     .layers = read_plain},
    {.is = {"cpmant", "plain"}, .layers = read_plain, .tensors = {.may_have_more = true}},
    {.is = {"starcoder2", "windowed", Arch::kOther, "executed class"}, .layers = read_windowed,
     .tensors = {.qkv_bias = "use_bias", .o_bias = "use_bias", .mlp_bias = "use_bias",
     .norm_style = NormStyle::kLayerNorm, .has_gated_mlp = false, .ties_by_default = true}},
    {.is = {"gpt_oss", "windowed", Arch::kGptOss, "executed class"}, .layers = read_windowed,
     .tensors = {.has_sinks = true, .has_expert_biases = true},
     .pattern = PatternRule{PatternRule::Default::kFullEvery, 2}},
    {.is = {"gpt_neo", "windowed", Arch::kGptNeo, "executed class"}, .layers = read_windowed,
     .tensors = {.qkv_bias = "", .o_bias = "+", .mlp_bias = "+", .norm_style = NormStyle::kLayerNorm,
     .has_gated_mlp = false, .has_position_table = true, .ties_by_default = true},
     .pattern = PatternRule{PatternRule::Default::kFullEvery, 2}},
    {.is = {"gpt_bigcode", "gpt_bigcode", Arch::kOther, "executed class"}, .layers = read_gpt_bigcode,
     .tensors = {.qkv_bias = "+", .o_bias = "+", .mlp_bias = "+", .norm_style = NormStyle::kLayerNorm,
     .has_gated_mlp = false, .fuses_qkv = true, .has_position_table = true, .ties_by_default = true}},
    {.is = {"mpt", "attn_config", Arch::kOther, "executed class"}, .layers = read_attn_config,
     .tensors = {.qkv_bias = "", .o_bias = "", .mlp_bias = "", .has_gated_mlp = false, .fuses_qkv = true,
     .ties_by_default = true}},
    {.is = {"dbrx", "attn_config", Arch::kOther, "executed class"}, .layers = read_attn_config,
     .tensors = {.qkv_bias = "", .o_bias = "", .fuses_qkv = true, .moe = "ffn"}},
};
// clang-format on

}  // namespace

std::span<const Family> gpt_family() {
  return kRows;
}

}  // namespace kvplan
