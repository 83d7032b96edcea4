// Z.ai's ChatGLM and GLM. Source: transformers modeling_glm*.py, modeling_chatglm.py.
#include "models/blocks/blocks.h"

namespace kvplan {

// ChatGLM: groups only count with multi_query_attention.
static void read_chatglm(Reader& reader) {
  const std::uint64_t num_heads = reader.text.count("num_attention_heads");
  const bool grouped = reader.text.flag("multi_query_attention", false);
  const std::uint64_t groups = reader.text.count_or("multi_query_group_num", 1);
  push_full(reader, heads_of_width(reader.text, num_heads, grouped ? groups : num_heads));
}

// GLM-5.3-Flash (glm5_next): KDA, whose heads are in linear_attn_config or next to it, and in every fourth layer
// latents without a rotary part, with pooled index keys. Source: vLLM models/glm5next.
static void read_glm5_next(Reader& reader) {
  const Fields& text = reader.text;
  const Linear linear = read_linear_heads(text, 64, 128);
  Mixer latent = latent_mixer(text);
  if (const std::uint64_t pool = text.count_or("index_kpool", 0); pool > 0) {
    SparseMla sparse = std::get<SparseMla>(sparse_latent_mixer(text));
    sparse.index_pool = pool;
    latent = sparse;
  }
  for (const Label label : layer_labels(text, reader.num_layers(), full_every(4, Label::kRecurrent)))
    reader.add({{label == Label::kRecurrent ? Mixer(linear) : latent}});
  for (const std::string_view key : {"index_kpool_compress", "index_kpool_always_select_tail",
                                     "index_dsa_use_layernorm", "index_share_for_mtp_iteration"})
    text.touch(key);
}

static void write_glm5_next(Inventory& out) {
  write_hyper_connections(out, {.has_head = false});
  const std::vector<LayerRun> indexed = layers_of<SparseMla>(out);
  if (indexed.empty()) return;
  const std::uint64_t d = out.text.count_or("index_head_dim", 128);
  out.in_layers(indexed);
  out.plain(Component::kAttention, "self_attn.indexer.index_kpool_compress_ape",
            times(out.text.count_or("index_kpool", 1), d));
  out.linear(Component::kAttention, "self_attn.indexer.index_kpool_compress_gate", d, out.hidden);
}

// clang-format off
std::span<const Family> glm_family() {
  static constexpr Family kRows[] = {
    {.is = {"glm", kExecutedClass}, .tensors = {.o_bias = "", .fuses_gate_up = true}},
    {.is = {"glm4", kExecutedClass, Arch::kGlm4, {.overflows_float16 = true}}, .tensors = {.o_bias = "", .norms = 4,
     .fuses_gate_up = true}},
    {.is = {"glm4_moe", kExecutedClass}, .tensors = {.o_bias = "", .qk_norm = QkNorm::kHead,
     .qk_norm_key = "use_qk_norm", .mtp_repeats_ends = true, .has_router_bias = true}},
    {.is = {"glm4v_text", kExecutedClass}, .tensors = {.qkv_bias = "+", .o_bias = "", .norms = 4,
     .fuses_gate_up = true}, .extras = [](Inventory& out) { out.text.flag("attention_bias", true); }},
    {.is = {"glm4v_moe_text", kExecutedClass}, .tensors = {.o_bias = "", .has_router_bias = true}},
    {.is = {"glm_ocr_text glm_image_text", kExecutedClass}, .tensors = {.o_bias = "", .norms = 4,
     .fuses_gate_up = true}},
    {.is = {"chatglm"}, .layers = read_chatglm, .rule = "chatglm", .tensors = {.qkv_bias = "add_qkv_bias",
     .o_bias = "add_bias_linear", .mlp_bias = "add_bias_linear", .fuses_qkv = true, .fuses_gate_up = true},
     .modules = "layers.*=encoder.layers.* self_attn.qkv_proj=self_attention.query_key_value "
     "self_attn.o_proj=self_attention.dense mlp.gate_up_proj=mlp.dense_h_to_4h mlp.down_proj=mlp.dense_4h_to_h "
     "lm_head=output_layer embed_tokens=embedding.word_embeddings"},
    {.is = {"glm4_moe_lite", kExecutedClass, Arch::kGlm4MoeLite}, .layers = read_mla,
     .tensors = {.mtp_repeats_ends = true, .dense_first = 1, .has_router_bias = true}},
    // For serving engines: how experts are chosen, and whether GLM-4V's projections have biases.
    {.is = {"glm_moe_dsa", kExecutedClass, Arch::kGlmMoeDsa}, .layers = read_sparse_mla,
     .tensors = {.has_router_bias = true}, .extras = [](Inventory& out) { out.text.find_string("topk_method"); },
     .modules = kIndexerModules},
    {.is = {"glm5_next_text glm5_next glm5next_text glm5next", kExecutedClass, Arch::kGlm5Next}, .layers = read_glm5_next,
     .rule = "glm5_next", .tensors = {.dense_first = 3, .has_router_bias = true}, .extras = write_glm5_next},
  };
  return kRows;
}
// clang-format on

}  // namespace kvplan
