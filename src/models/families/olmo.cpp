// Ai2's OLMo, OLMoE, Molmo, and OLMo-hybrid with gated delta nets. Source: transformers modeling_olmo*.py.
#include "models/blocks/blocks.h"
#include "models/towers/tower.h"

namespace kvplan {

// OLMo-hybrid: if the config gives no dimensions, they follow from the attention's heads. Keys take 3/4 of the hidden
// size, values twice the hidden size.
static Linear read_olmo_delta_net(const Fields& text) {
  const Fields own = text.bare();
  Linear linear;
  linear.rule = Linear::Rule::kGatedDeltaNet;
  linear.conv_kernel = text.count_or("linear_conv_kernel_dim", 4);
  const std::uint64_t num_heads = text.count("num_attention_heads");
  linear.num_key_heads = own.count_or("linear_num_key_heads", num_heads);
  linear.num_value_heads = own.count_or("linear_num_value_heads", num_heads);
  if (linear.num_key_heads == 0) fail("\"linear_num_key_heads\" is 0", "correct the config");
  const std::uint64_t keys = checked_mul(text.count("hidden_size"), 3, "the keys of a delta net") / 4;
  linear.key_head_dim = own.count_or("linear_key_head_dim", keys / linear.num_key_heads);
  linear.value_head_dim =
      own.count_or("linear_value_head_dim", checked_mul(linear.key_head_dim, 2, "the values of a delta net"));
  return linear;
}

// CLIP without its last block, which the config does not mention. Attention pools two of its layers together, and a
// gated MLP of the decoder's width projects them.
static void write_molmo(Inventory& out) {
  const Tower p{out, Component::kProjector};
  const std::uint64_t h = out.hidden;
  const std::uint64_t inner = out.text.count_or("intermediate_size", 0) / 2;
  out.outside(Place::kFirst);
  write_encoder_part("clip_large", {out, Component::kVision}, out.text, {{"layers", 23}});
  p.linear("image_pooling_2d.wqkv", 3 * 1024, 2048, true);
  p.linear("image_pooling_2d.wo", 1024, 1024, true);
  p.linear("image_projector.w13", times(2, inner), 1024, false);
  p.linear("image_projector.w2", h, inner, false);
  p.plain("pad_embed", 2 * 2048);
  // Rows for image tokens.
  p.plain("new_embedding", times(out.text.count_or("additional_vocab_size", 128), h));
}

// Rows for image tokens.
static void write_molmo2(Inventory& out) {
  out.outside(Place::kFirst);
  out.plain(Component::kEmbedding, "model.embed_tokens.additional",
            times(out.text.count_or("additional_vocab_size", 128), out.hidden));
}

// clang-format off
std::span<const Family> olmo_family() {
  static constexpr Family kRows[] = {
    {.is = {"olmo", kExecutedClass}, .tensors = {.norms = 0, .has_final_norm = false}},
    {.is = {"olmo2 olmoe flex_olmo", kExecutedClass}, .tensors = {.qk_norm = QkNorm::kWide}},
    {.is = {"molmo", kPublishedTotal}, .tensors = {.qkv_bias = "qkv_bias", .o_bias = "", .mlp_bias = "include_bias",
     .fuses_qkv = true, .halves_mlp_width = true}, .extras = write_molmo},
    {.is = {"molmo2 molmo2_text", kExecutedClass}, .tensors = {.qk_norm = QkNorm::kHead}, .extras = write_molmo2},
    {.is = {"olmo3", kExecutedClass, Arch::kOlmo3}, .layers = read_windowed, .tensors = {.qk_norm = QkNorm::kWide},
     .pattern = full_every(4)},
    {.is = {"olmo_hybrid", kExecutedClass}, .layers = [](Reader& reader) {
     read_hybrid(reader, full_every(4, Label::kRecurrent), read_olmo_delta_net(reader.text)); },
     .rule = "gated_delta_net", .tensors = {.qk_norm = QkNorm::kWide}},
  };
  return kRows;
}
// clang-format on

}  // namespace kvplan
