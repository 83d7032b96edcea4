// rednote's dots. Source: transformers modeling_dots1.py, modeling_dots3_note.py.
#include "models/blocks/blocks.h"

namespace kvplan {

// dots.note has latents with an indexer, and in between layers with a window and latents of another shape. Source:
// transformers modeling_dots3_note.py. This returns a window's latent, from per_layer_config or from the names of the
// released files.
static Latent sliding_latent(const Fields& text, const Latent& latent) {
  if (!text.has("swa_kv_lora_rank")) return latent;
  const std::uint64_t nope = text.count_or("swa_qk_nope_head_dim", 192);
  const std::uint64_t rope = text.count_or("swa_qk_rope_head_dim", text.count_or("swa_head_dim", 256) - nope);
  text.touch("swa_num_key_value_heads");
  return {text.count_or("swa_num_attention_heads", 64),
          text.count("swa_kv_lora_rank"),
          rope,
          nope,
          text.count_or("swa_v_head_dim", 128),
          text.count_or("swa_q_lora_rank", latent.q_lora_rank)};
}

static void read_dots3_note(Reader& reader) {
  const std::uint64_t layers = reader.num_layers();
  const Tokens window = read_window(reader.text);
  const std::vector<Label> labels = layer_labels(reader.text, layers, full_every(4));
  for (std::uint64_t i = 0; i < layers; ++i) {
    const Latent latent = layer_latent(reader.text, i);
    if (labels[i] == Label::kSliding) {
      reader.add({{Mla{sliding_latent(reader.text, latent), window}}});
      continue;
    }
    SparseMla sparse = std::get<SparseMla>(sparse_latent_mixer(reader.text));
    sparse.latent = latent;
    reader.add({{sparse}});
  }
}

static void write_dots3_note(Inventory& out) {
  out.in_layers(all_layers(out));
  out.norms("self_attn.k_rope_only_layernorm", out.text.count_or("qk_rope_head_dim", 64));
}

// clang-format off
std::span<const Family> dots_family() {
  static constexpr Family kRows[] = {
    {.is = {"dots1", kExecutedClass}, .layers = read_qwen, .tensors = {.qk_norm = QkNorm::kHead,
     .has_router_bias = true}},
    {.is = {"dots_ocr", kExecutedClass}, .layers = read_qwen, .tensors = {.qkv_bias = "+", .o_bias = ""}},
    {.is = {"dots3_note_text", kExecutedClass, Arch::kDots3Note}, .layers = read_dots3_note, .rule = "dots3_note",
     .tensors = {.gate = Gate::kHead, .dense_first = 1, .has_router_bias = true}, .extras = write_dots3_note},
  };
  return kRows;
}
// clang-format on

}  // namespace kvplan
