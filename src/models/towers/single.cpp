// Towers of single models. Source: transformers modeling_florence2.py, modeling_phi4_multimodal.py,
// modeling_fun_asr_nano.py.
#include <algorithm>
#include <string>

#include "models/class_defaults.h"
#include "models/towers/tower.h"

namespace kvplan {

// Florence-2: DaViT, whose blocks attend within windows and then over channels, each with two convolutions.
void write_florence_vision(const TowerWriter& s) {
  const auto widths = s.v.counts("embed_dim"), depths = s.v.counts("depths"), patches = s.v.counts("patch_size");
  if (!widths || !depths || !patches || widths->empty() || depths->size() != widths->size() ||
      patches->size() != widths->size())
    return estimate_tower(s.t.inventory, s.v.bare(), Component::kVision, "the vision tower (" + s.own + ")");
  const double ratio = s.v.find_real("mlp_ratio").value_or(4);
  std::uint64_t before = s.count("in_channels", 3);
  for (std::size_t i = 0; i < widths->size(); ++i) {
    const std::uint64_t h = (*widths)[i];
    const std::uint64_t inner = whole_width(ratio * static_cast<double>(h), "mlp_ratio");
    const std::string at = "vision_tower.blocks." + std::to_string(i) + ".";
    const std::uint64_t blocks = times(2, (*depths)[i]);
    s.t.linear("vision_tower.convs." + std::to_string(i), h, times(before, square((*patches)[i])), true);
    // The first stage normalises its output, the others their input.
    s.t.plain("vision_tower.convs." + std::to_string(i) + ".norm", times(2, i == 0 ? h : before));
    s.t.plain(at + "convolutions", times(20, h), blocks);
    s.t.plain(at + "norms", times(4, h), blocks);
    s.t.linear(at + "qkv", times(3, h), h, s.v.flag("qkv_bias", true), blocks);
    s.t.linear(at + "proj", h, h, true, blocks);
    s.t.linear(at + "fc1", inner, h, true, blocks);
    s.t.linear(at + "fc2", h, inner, true, blocks);
    before = h;
  }
  const std::uint64_t out = s.count("projection_dim", 1024);
  s.p.linear("multi_modal_projector.image_projection", out, before, false);
  s.p.plain("multi_modal_projector.image_proj_norm", times(2, out));
  s.p.plain("multi_modal_projector.image_position_embed", times(s.count("max_position_embeddings", 50), before));
}

// Phi-4 multimodal: SigLIP with its head, followed by two vectors and two projections.
void write_phi4_vision(const TowerWriter& s) {
  const std::uint64_t h = s.count("hidden_size", 1152);
  write_siglip_with_head(s);
  s.p.plain("image_embed.img_feature_extensors", times(2, h));
  s.p.linear("image_embed.img_projection_up", s.out, h, true);
  s.p.linear("image_embed.img_projection_down", s.out, s.out, true);
}

// Its Conformer: half MLPs with gates around each block, and projections for speech alone and for speech with images.
void write_phi4_audio(const TowerWriter& s) {
  const std::uint64_t h = s.count("hidden_size", 1024);
  const std::uint64_t inner = s.count("intermediate_size", 1536);
  const std::uint64_t layers = s.count("num_blocks", 24);
  const std::uint64_t channels = s.count("nemo_conv_channels", 1024);
  const std::uint64_t wide = s.count("ext_pw_out_channel", 1024);
  const std::uint64_t deep = times(h, s.count("depthwise_multiplier", 1));
  std::uint64_t halvings = 0;
  for (std::uint64_t rate = s.count("time_reduction", 8); rate > 1; rate /= 2) ++halvings;
  const std::string at = "audio_embed.encoder.encoders.";
  s.t.linear("audio_embed.encoder.embed.first", channels, 9, true);
  if (halvings > 1) {
    s.t.linear("audio_embed.encoder.embed.depthwise", channels, 9, true, halvings - 1);
    s.t.linear("audio_embed.encoder.embed.pointwise", channels, channels, true, halvings - 1);
  }
  s.t.linear("audio_embed.encoder.embed.out", h, times(channels, s.count("nemo_final_size", 10)), true);
  const std::uint64_t distances = times(s.v.flag("bias_symmetric", false) ? 1 : 2, s.count("bias_max_distance", 1000));
  s.t.plain("audio_embed.encoder.relative_attention_bias", times(distances, s.count("num_attention_heads", 16)));
  s.t.linear(at + "feed_forward.gate_up_proj", times(2, inner), h, true, times(2, layers));
  s.t.linear(at + "feed_forward.down_proj", h, inner, true, times(2, layers));
  s.t.linear(at + "self_attn.qkvo", times(4, h), h, true, layers);
  s.t.linear(at + "conv.glu", times(2, wide), h, true, layers);
  s.t.plain(at + "conv.glu.biases", times(2, wide), layers);
  s.t.linear(at + "conv.dw_conv", deep, s.count("kernel_size", 3), true, layers);
  s.t.linear(at + "conv.pw_conv", s.count("depthwise_separable_out_channel", 1024), deep, true, layers);
  s.t.linear(at + "conv.ext_pw_conv_1d", wide, wide, true, layers);
  s.t.plain(at + "norms", times(10, h), layers);
  s.p.linear("audio_embed.up_proj", s.out, times(h, s.count("downsample_rate", 1)), true, 2);
  s.p.linear("audio_embed.down_proj", s.out, s.out, true, 2);
}

// Fun-ASR: blocks with a memory over neighbouring frames, the first of which reads several concatenated frames; then
// blocks of the decoder's width.
void write_fun_asr_audio(const TowerWriter& s) {
  const std::uint64_t h = s.count("hidden_size", 512);
  const std::uint64_t layers = s.count("num_hidden_layers", 70);
  const std::uint64_t inner = s.count("intermediate_size", 2048);
  const std::uint64_t input = times(s.count("num_mel_bins", 80), s.count("num_stacked_frames", 7));
  if (layers == 0) return;
  s.t.linear("audio_tower.layers.0.qkv_proj", times(3, h), input, true);
  s.t.plain("audio_tower.layers.0.input_layernorm", times(2, input));
  s.t.linear("audio_tower.layers.qkv_proj", times(3, h), h, true, layers - 1);
  s.t.plain("audio_tower.layers.input_layernorm", times(2, h), layers - 1);
  s.t.linear("audio_tower.layers.o_proj", h, h, true, layers);
  s.t.plain("audio_tower.layers.fsmn", times(h, s.count("fsmn_kernel_size", 11)), layers);
  s.t.linear("audio_tower.layers.fc1", inner, h, true, layers);
  s.t.linear("audio_tower.layers.fc2", h, inner, true, layers);
  s.t.plain("audio_tower.layers.post_attention_layernorm", times(2, h), layers);
  s.t.plain("audio_tower.final_layernorms", times(4, h));
  s.root.touch("adaptor_config");
  const Fields adaptor = s.root.child("adaptor_config").value_or(Fields::empty());
  const std::uint64_t wide = adaptor.count_or("projector_hidden_size", 2048);
  const std::uint64_t width = adaptor.count_or("hidden_size", s.out);
  s.p.linear("multi_modal_projector.linear_1", wide, h, true);
  s.p.linear("multi_modal_projector.linear_2", width, wide, true);
  s.p.blocks("multi_modal_projector.layers.",
             {width, adaptor.count_or("intermediate_size", 256), adaptor.count_or("num_hidden_layers", 2)});
}

}  // namespace kvplan
