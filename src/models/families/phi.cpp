// Microsoft's Phi. Source: transformers modeling_phi*.py; Phi-4-mini-flash's modeling_phi4flash.py.
#include "models/blocks/blocks.h"
#include "models/towers/tower.h"

namespace kvplan {

// SambaY: the first half alternates Mamba and sliding windows and ends with a full layer. The second half reads that
// layer's cache, and its gated memory units have no cache.
static void read_phi4flash(Reader& reader) {
  const std::uint64_t layers = reader.num_layers();
  const std::uint64_t step = reader.text.count_or("mb_per_layer", 2);
  if (step == 0) fail("\"mb_per_layer\" is 0", "correct the config");
  const Heads heads = read_heads(reader.text);
  const Ssm ssm = read_mamba1(reader.text);
  // sliding_window may be a number, or a list with one per layer, in which null means no window.
  const auto windows = reader.text.counts("sliding_window");
  const Tokens window = windows ? Tokens(0) : Tokens(reader.text.count_or("sliding_window", 512));
  const std::uint64_t middle = layers / 2;
  for (std::uint64_t i = 0; i < layers; ++i) {
    const bool recurrent = i % step == 0;
    if (i >= middle + 2) {
      if (recurrent)
        reader.add({{None{}}});
      else
        reader.add({{Shared{middle + 1, heads, Tokens(0)}}});
    } else if (recurrent) {
      reader.add({{ssm}});
    } else {
      const Tokens own = windows && i < windows->size() ? Tokens((*windows)[i]) : i < middle ? window : Tokens(0);
      reader.add({{attention_mixer(reader, Label::kSliding, heads, own)}});
    }
  }
}

// Phi-4-multimodal: two LoRAs over every linear layer of the decoder, one for images and one for audio, which are not
// merged. Also both encoders, with projectors whose size is what remains of the published checkpoint.
static void write_phi4_senses(Inventory& out) {
  if (!out.reader.root.child("embd_layer")) return;
  out.outside(Place::kFirst);
  const Tower other{out, Component::kOther};
  const Fields& text = out.text;
  const std::uint64_t h = out.hidden;
  const std::uint64_t layers = out.reader.model.layers.size();
  const std::uint64_t inner = text.count_or("intermediate_size", 8192);
  const std::uint64_t heads = text.count_or("num_attention_heads", 24);
  const std::uint64_t d = heads > 0 ? h / heads : 0;
  const std::uint64_t qkv = times(checked_add(heads, 2 * text.count_or("num_key_value_heads", 8), "the heads"), d);
  for (const std::string_view key : {"vision_lora", "speech_lora"}) {
    const auto lora = text.child(key);
    const std::uint64_t rank = lora ? lora->count_or("r", 0) : 0;
    if (rank == 0) continue;
    const auto pair = [&](std::string_view module, std::uint64_t to, std::uint64_t from) {
      other.plain(std::string(key) + "." + std::string(module), times(rank, checked_add(to, from, "a LoRA")), layers);
    };
    pair("qkv_proj", qkv, h);
    pair("o_proj", h, times(heads, d));
    pair("gate_up_proj", times(2, inner), h);
    pair("down_proj", h, inner);
  }
  Tower{out, Component::kVision}.plain("embed_tokens_extend", 907'966'432);
}

// CLIP, with tokens joined in groups of four, and two separators of that width. The config does not mention a tower.
static void write_phi3_v(Inventory& out) {
  const Tower p{out, Component::kProjector};
  out.outside(Place::kFirst);
  write_encoder_part("clip_large", {out, Component::kVision}, out.text, {{"post_norm", 1}});
  p.linear("img_projection.0", out.hidden, 4096, true);
  p.linear("img_projection.2", out.hidden, out.hidden, true);
  p.plain("separators", 2 * 4096);
}

// clang-format off
std::span<const Family> phi_family() {
  static constexpr Family kRows[] = {
    {.is = {"phi", kExecutedClass}, .tensors = {.biases = "+", .head_bias = "+", .qk_norm = QkNorm::kHeadBias,
     .qk_norm_key = "qk_layernorm", .norms = 1, .norm_style = NormStyle::kLayerNorm, .has_gated_mlp = false},
     .modules = "self_attn.o_proj=self_attn.dense mlp.up_proj=mlp.fc1 mlp.down_proj=mlp.fc2"},
    {.is = {"phi3small", kPublishedTotal}, .tensors = {.biases = "+", .norm_style = NormStyle::kLayerNorm,
     .fuses_qkv = true, .fuses_gate_up = true, .ties_by_default = true}},
    {.is = {"mixformer-sequential phixtral", kExecutedClass}},
    {.is = {"phi3", kExecutedClass, Arch::kPhi3}, .layers = read_windowed, .tensors = {.qkv_bias = "", .o_bias = "",
     .fuses_qkv = true, .fuses_gate_up = true}},
    {.is = {"phimoe", kExecutedClass, Arch::kPhi3}, .layers = read_windowed, .tensors = {.head_bias = "lm_head_bias",
     .norm_style = NormStyle::kLayerNorm}, .modules = "mlp=block_sparse_moe experts.*.gate_proj=experts.*.w1 "
     "experts.*.up_proj=experts.*.w3 experts.*.down_proj=experts.*.w2 | mlp.gate=mlp.router"},
    {.is = {"phi4_multimodal", kExecutedClass}, .layers = read_windowed, .tensors = {.qkv_bias = "", .o_bias = "",
     .fuses_qkv = true, .fuses_gate_up = true}},
    {.is = {"phi4mm", kExecutedClass}, .layers = read_windowed, .extras = write_phi4_senses},
    {.is = {"phi3_v", kExecutedClass, Arch::kPhi3V}, .layers = read_windowed, .tensors = {.qkv_bias = "", .o_bias = "",
     .fuses_qkv = true, .fuses_gate_up = true}, .extras = write_phi3_v},
    {.is = {"phi4flash sambay"}, .layers = read_phi4flash, .rule = "phi4flash", .tensors = {.may_have_more = true}},
  };
  return kRows;
}
// clang-format on

}  // namespace kvplan
