// Audio encoders and their projectors. Source: transformers' modelling code of each.
#include <algorithm>

#include "models/towers/tower.h"

namespace kvplan {

static void write_convolutions(const TowerWriter& s, std::uint64_t h) {
  s.t.linear("audio_tower.conv1", h, times(3, s.count("num_mel_bins", 128)), true);
  s.t.linear("audio_tower.conv2", h, times(3, h), true);
}

// Whisper's encoder, as in Qwen2-Audio, Qwen2.5-Omni (whose positions are no tensor) and Voxtral.
static void write_whisper_encoder(const TowerWriter& s, bool has_positions = true, bool fuses_biases = false) {
  const std::uint64_t h = s.count({"d_model", "hidden_size"}, 1280);
  write_convolutions(s, h);
  if (has_positions) s.t.plain("audio_tower.embed_positions", times(s.count("max_source_positions", 1500), h));
  s.t.blocks("audio_tower.layers.", {.width = h,
                                     .inner = s.count({"encoder_ffn_dim", "intermediate_size"}, 5120),
                                     .layers = s.count({"encoder_layers", "num_hidden_layers"}, 32),
                                     .qkv_bias = 2});
  // vLLM fuses queries, keys and values, which gives the keys a bias too.
  if (fuses_biases)
    s.t.derived("audio_tower.layers.k_proj.bias", times(h, s.count({"encoder_layers", "num_hidden_layers"}, 32)));
  s.t.plain("audio_tower.layer_norm", times(2, h));
}

// Voxtral Realtime: rotary positions, RMS norms, a gated MLP with only an output bias.
static void write_realtime_encoder(const TowerWriter& s) {
  const std::uint64_t h = s.count("hidden_size", 1280);
  write_convolutions(s, h);
  const std::uint64_t inner = s.count("intermediate_size", 5120);
  const std::uint64_t layers = s.count("num_hidden_layers", 32);
  const std::uint64_t d = s.count("head_dim", 64);
  s.t.blocks("audio_tower.layers.", {.width = h,
                                     .inner = inner,
                                     .layers = layers,
                                     .qkv_bias = 2,
                                     .mlp_bias = false,
                                     .gated = true,
                                     .layer_norm = false,
                                     .extra = h,
                                     .attention = times(s.count("num_attention_heads", 32), d)});
  s.t.plain("audio_tower.norm", h);
}

static std::uint64_t width_of(const TowerWriter& s) {
  return s.count({"d_model", "hidden_size"}, 1280);
}

static void write_qwen2_audio(const TowerWriter& s) {
  write_whisper_encoder(s);
  s.p.linear("multi_modal_projector.linear", s.out, width_of(s), true);
}

static void write_omni_audio(const TowerWriter& s) {
  const std::uint64_t out = s.count("output_dim", 3584);
  write_whisper_encoder(s, false);
  s.t.plain("audio_tower.audio_bos_eos_token", times(2, out));
  s.p.linear("audio_tower.proj", out, width_of(s), true);
}

// Muse Spark: the waveform in ever longer patches, each stage with short convolutions and MLPs.
static void write_muse_audio(const TowerWriter& s) {
  const auto widths = s.v.counts("hidden_sizes"), depths = s.v.counts("depths"), patches = s.v.counts("patch_sizes");
  if (!widths || !depths || !patches || widths->size() != depths->size() || widths->size() != patches->size())
    return estimate_tower(s.t.inventory, s.v, Component::kAudio, "the audio encoder (" + s.own + ")");
  const double ratio = s.v.find_real("mlp_ratio").value_or(4);
  std::uint64_t before = 1;
  for (std::size_t i = 0; i < widths->size(); ++i) {
    const std::uint64_t h = (*widths)[i];
    const std::uint64_t inner = whole_width(ratio * static_cast<double>(h), "mlp_ratio");
    const std::string at = "audio_tower.layers." + std::to_string(i) + ".";
    s.t.linear(at + "patch_embedder.proj", h, times(before, (*patches)[i]), true);
    s.t.plain(at + "patch_embedder.norm", h);
    s.t.plain(at + "conv", times(h, s.count("conv_kernel_size", 7) + 1), (*depths)[i]);
    s.t.plain(at + "norm", h, (*depths)[i]);
    s.t.linear(at + "fc1", inner, h, true, (*depths)[i]);
    s.t.linear(at + "fc2", h, inner, true, (*depths)[i]);
    before = h;
  }
  const std::uint64_t out = s.count("out_hidden_size", s.out);
  s.t.plain("audio_tower.norm", before);
  s.p.linear("audio_tower.proj", out, before, true);
  s.p.plain("audio_tower.post_proj_norm", out);
}

// Audio Flamingo 3, Music Flamingo: Whisper's encoder with pooling, and two projections.
static void write_flamingo_audio(const TowerWriter& s) {
  write_whisper_encoder(s);
  write_two_linears(s.p, width_of(s), s.out, s.root.flag("projector_bias", true));
}

// MOSS: several frames concatenated, two projections and a norm.
static void write_moss_audio(const TowerWriter& s) {
  write_whisper_encoder(s, true, true);
  write_two_linears(s.p, times(s.root.count_or("audio_merge_size", 4), width_of(s)), s.out,
                    s.root.flag("projector_bias", true));
  s.p.plain("multi_modal_projector.norm", times(2, s.out));
}

// GLM-ASR: rotary positions, and a projector over as many frames as its MLP's width holds.
static void write_glm_audio(const TowerWriter& s) {
  write_whisper_encoder(s, false, true);
  if (const std::uint64_t heads = s.count("num_attention_heads", 20); heads > 0)
    s.t.derived("audio_tower.rotary_emb.inv_freq", width_of(s) / heads / 4).is_float32 = true;
  s.p.linear("multi_modal_projector.linear_1", times(2, s.out), s.count("intermediate_size", 5120), true);
  s.p.linear("multi_modal_projector.linear_2", s.out, times(2, s.out), true);
}

// Qwen3-ASR and Qwen3-Omni: three convolutions over time and frequency, each halving both.
static void write_qwen3_audio(const TowerWriter& s) {
  const std::uint64_t h = width_of(s);
  const std::uint64_t channels = s.count("downsample_hidden_size", 480);
  const std::uint64_t pitches = ceil_div(s.count("num_mel_bins", 128), 8);
  s.t.linear("audio_tower.conv2d1", channels, 9, true);
  s.t.linear("audio_tower.conv2d", channels, times(9, channels), true, 2);
  s.t.linear("audio_tower.conv_out", h, times(channels, pitches), false);
  s.t.blocks("audio_tower.layers.",
             {.width = h, .inner = s.count("encoder_ffn_dim", 5120), .layers = s.count("encoder_layers", 32)});
  s.t.plain("audio_tower.ln_post", times(2, h));
  s.t.derived("audio_tower.positional_embedding", times(s.count("max_source_positions", 1500), h)).is_float32 = true;
  s.p.linear("audio_tower.proj1", h, h, true);
  s.p.linear("audio_tower.proj2", s.count("output_dim", 3584), h, true);
}

// Granite Speech: a Conformer, and a Q-Former over each window of frames.
static void write_granite_speech(const TowerWriter& s) {
  const std::uint64_t h = s.count("hidden_dim", 1024);
  const std::uint64_t layers = s.count("num_layers", 10);
  const std::uint64_t d = s.count("dim_head", 128);
  const std::uint64_t heads = times(s.count("num_heads", 8), d);
  const std::uint64_t inner = times(s.count("feedforward_mult", 4), h);
  const std::uint64_t wide = times(s.count("conv_expansion_factor", 2), h);
  const std::uint64_t out = s.count("output_dim", 42);
  const std::string at = "encoder.layers.";
  s.t.linear("encoder.input_linear", h, s.count("input_dim", 160), true);
  s.t.linear(at + "ff.up_proj", inner, h, true, times(2, layers));
  s.t.linear(at + "ff.down_proj", h, inner, true, times(2, layers));
  s.t.linear(at + "attn.to_qkv", times(3, heads), h, false, layers);
  s.t.linear(at + "attn.to_out", h, heads, true, layers);
  s.t.plain(at + "attn.rel_pos_emb", times(times(2, s.count("max_pos_emb", 512)) + 1, d), layers);
  s.t.linear(at + "conv.up_conv", times(2, wide), h, true, layers);
  s.t.plain(at + "conv.depth_conv", times(wide, s.count("conv_kernel_size", 15)), layers);
  s.t.plain(at + "conv.batch_norm", times(2, wide), layers);
  s.t.linear(at + "conv.down_conv", h, wide, true, layers);
  s.t.plain(at + "norms", times(10, h), layers);
  // Buffers of the class: distances within a context, of eight bytes each, and the batch norms' running statistics.
  s.t.derived(at + "conv.batch_norm.running", times(times(2, wide), layers));
  s.t.derived("encoder.attention_dists",
              times(2, checked_add(layers, square(s.count("context_size", 200)), "the buffers of an encoder")))
      .is_float32 = true;
  s.t.linear("encoder.out", out, h, true);
  s.t.linear("encoder.out_mid", h, out, true);
  s.root.touch("projector_config");
  const Fields looking = s.root.child("projector_config").value_or(Fields::empty());
  const std::uint64_t rate = std::max<std::uint64_t>(1, s.root.count_or("downsample_rate", 5));
  write_qformer(s.p, looking, s.root.count_or("window_size", 15) / rate, false);
  s.p.linear("projector.linear", s.out, looking.count_or("hidden_size", 768), true);
}

static void write_voxtral_projector(const TowerWriter& s, std::uint64_t from) {
  s.p.linear("multi_modal_projector.linear_1", s.out, from, false);
  s.p.linear("multi_modal_projector.linear_2", s.out, s.out, false);
}

static void write_voxtral_realtime(const TowerWriter& s) {
  write_realtime_encoder(s);
  write_voxtral_projector(s, times(width_of(s), s.t.inventory.reader.root.count_or("downsample_factor", 4)));
}

static void write_voxtral(const TowerWriter& s) {
  write_whisper_encoder(s);
  write_voxtral_projector(s, s.count("intermediate_size", 5120));
}

// As for its vision tower in vision.cpp.
static void write_gemma3n_audio(const TowerWriter& s) {
  s.t.plain("audio_tower", 684'536'864);
  // Masks, limits and time scales that vLLM's class has as buffers, and norms without weights before the decoder.
  s.t.derived("audio_tower.buffers", 10'128).is_float32 = true;
  s.p.derived("embed_audio, embed_vision: embedding_post_projection_norm", times(2, s.out));
}

// Phi-4 multimodal's Conformer: half MLPs with gates around each block, and projections for speech alone and for speech
// with images.
static void write_phi4_audio(const TowerWriter& s) {
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
static void write_fun_asr_audio(const TowerWriter& s) {
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

std::span<const TowerRow> audio_towers() {
  static constexpr TowerRow kRows[] = {
      {"qwen2_audio", write_qwen2_audio},
      {"audioflamingo3_encoder", write_flamingo_audio},
      {"moss_transcribe_diarize_audio", write_moss_audio},
      {"glmasr_encoder", write_glm_audio},
      {"granite_speech_encoder granite_speech_plus_encoder", write_granite_speech},
      {"qwen3_asr_encoder qwen3_omni_moe_audio_encoder", write_qwen3_audio},
      {"gemma3n", write_gemma3n_audio},
      {"qwen2_5_omni_audio_encoder", write_omni_audio},
      {"voxtral_realtime", write_voxtral_realtime},
      {"voxtral", write_voxtral},
      {"muse_spark_audio", write_muse_audio},
      {"phi4_multimodal_audio", write_phi4_audio},
      {"fun_asr_nano_encoder", write_fun_asr_audio},
  };
  return kRows;
}

}  // namespace kvplan
