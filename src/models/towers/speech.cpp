// Audio encoders of encoder-decoders: wav2vec 2.0 and Conformers. Source: transformers modeling_wav2vec2.py,
// modeling_parakeet.py, modeling_seamless_m4t.py, modeling_seamless_m4t_v2.py.
#include <algorithm>
#include <string>
#include <vector>

#include "models/towers/tower.h"

namespace kvplan {

namespace {

using Counts = std::vector<std::uint64_t>;

// Convolutions over the waveform, each shortening it.
void write_wave_convolutions(const Tower& t, const Fields& config, std::uint64_t h) {
  const Counts widths = config.counts("conv_dim").value_or(Counts(7, 512));
  const Counts kernels = config.counts("conv_kernel").value_or(Counts{10, 3, 3, 3, 3, 2, 2});
  const bool bias = config.flag("conv_bias", false);
  const bool norms_all = config.find_string("feat_extract_norm").value_or("group") == "layer";
  std::uint64_t from = 1;
  for (std::size_t i = 0; i < std::min(widths.size(), kernels.size()); ++i) {
    const std::string at = "encoder.feature_extractor.conv_layers." + std::to_string(i);
    t.linear(at, widths[i], times(from, kernels[i]), bias);
    if (i == 0 || norms_all) t.plain(at + ".layer_norm", times(2, widths[i]));
    from = widths[i];
  }
  t.plain("encoder.feature_projection.layer_norm", times(2, from));
  t.linear("encoder.feature_projection.projection", h, from, true);
}

}  // namespace

void write_wave_encoder(const Tower& t, const Fields& config) {
  const std::uint64_t h = config.count_or("hidden_size", 768);
  const std::uint64_t layers = first_count(config, {"encoder_layers", "num_hidden_layers"}, 12);
  const std::uint64_t inner = first_count(config, {"encoder_ffn_dim", "intermediate_size"}, 3072);
  const std::uint64_t kernel = config.count_or("num_conv_pos_embeddings", 128);
  const std::uint64_t groups = std::max<std::uint64_t>(1, config.count_or("num_conv_pos_embedding_groups", 16));
  write_wave_convolutions(t, config, h);
  if (config.find_real("mask_time_prob").value_or(0.05) > 0 || config.find_real("mask_feature_prob").value_or(0) > 0)
    t.plain("encoder.masked_spec_embed", h);
  // Its weight is stored as a direction and a length (weight norm) for each step.
  t.plain("encoder.pos_conv_embed",
          checked_add(times(times(h, h / groups), kernel), checked_add(kernel, h, "a bias"), "the positions"));
  t.blocks("encoder.layers.", {.width = h, .inner = inner, .layers = layers});
  t.plain("encoder.layer_norm", times(2, h));
  if (!config.flag("add_adapter", false)) return;
  const std::uint64_t out = config.count_or("output_hidden_size", h);
  if (out != h) {
    t.linear("encoder.adapter.proj", out, h, true);
    t.plain("encoder.adapter.proj_layer_norm", times(2, out));
  }
  t.linear("encoder.adapter.layers.conv", times(2, out), times(out, config.count_or("adapter_kernel_size", 3)), true,
           config.count_or("num_adapter_layers", 3));
}

void write_parakeet(const Tower& t, const Fields& config) {
  const std::uint64_t h = config.count_or("hidden_size", 1024);
  const std::uint64_t layers = config.count_or("num_hidden_layers", 24);
  const std::uint64_t inner = config.count_or("intermediate_size", 4096);
  const std::uint64_t channels = config.count_or("subsampling_conv_channels", 256);
  const std::uint64_t window = square(config.count_or("subsampling_conv_kernel_size", 3));
  const std::uint64_t stride = std::max<std::uint64_t>(1, config.count_or("subsampling_conv_stride", 2));
  std::uint64_t halvings = 0;
  std::uint64_t pitches = config.count_or("num_mel_bins", 80);
  for (std::uint64_t factor = config.count_or("subsampling_factor", 8); factor > 1; factor /= 2) {
    ++halvings;
    pitches /= stride;
  }
  const bool bias = config.flag("attention_bias", true);
  const bool conv_bias = config.flag("convolution_bias", true);
  const std::string at = "encoder.layers.";
  t.linear("encoder.subsampling.first", channels, window, true);
  if (halvings > 1) {
    t.linear("encoder.subsampling.depthwise", channels, window, true, halvings - 1);
    t.linear("encoder.subsampling.pointwise", channels, channels, true, halvings - 1);
  }
  t.linear("encoder.subsampling.linear", h, times(channels, pitches), true);
  t.linear(at + "feed_forward.linear1", inner, h, bias, times(2, layers));
  t.linear(at + "feed_forward.linear2", h, inner, bias, times(2, layers));
  t.linear(at + "self_attn.qkvo", times(4, h), h, bias, layers);
  t.linear(at + "self_attn.relative_k_proj", h, h, false, layers);
  t.plain(at + "self_attn.bias_uv", times(2, h), layers);
  t.linear(at + "conv.pointwise_conv1", times(2, h), h, conv_bias, layers);
  t.linear(at + "conv.depthwise_conv", h, config.count_or("conv_kernel_size", 9), conv_bias, layers);
  t.linear(at + "conv.pointwise_conv2", h, h, conv_bias, layers);
  t.plain(at + "norms", times(12, h), layers);
}

void write_seamless_speech(const Tower& t, const Fields& config) {
  const std::uint64_t h = config.count_or("hidden_size", 1024);
  const std::uint64_t layers = config.count_or("speech_encoder_layers", 24);
  const std::uint64_t inner = config.count_or("speech_encoder_intermediate_size", 4096);
  const std::uint64_t heads = std::max<std::uint64_t>(1, config.count_or("speech_encoder_attention_heads", 16));
  const std::uint64_t input = config.count_or("feature_projection_input_dim", 160);
  const std::string positions = config.find_string("position_embeddings_type").value_or("relative");
  const std::string at = "speech_encoder.layers.";
  t.plain("speech_encoder.feature_projection.layer_norm", times(2, input));
  t.linear("speech_encoder.feature_projection.projection", h, input, true);
  t.linear(at + "ffn.intermediate_dense", inner, h, true, times(2, layers));
  t.linear(at + "ffn.output_dense", h, inner, true, times(2, layers));
  t.linear(at + "self_attn.qkvo", times(4, h), h, true, layers);
  if (positions == "relative") {
    t.linear(at + "self_attn.linear_pos", h, h, false, layers);
    t.plain(at + "self_attn.pos_bias", times(2, h), layers);
  } else if (positions == "relative_key") {
    const std::uint64_t distances = checked_add(config.count_or("left_max_position_embeddings", 64),
                                                config.count_or("right_max_position_embeddings", 8) + 1, "distances");
    t.plain(at + "self_attn.distance_embedding", times(distances, h / heads), layers);
  }
  t.linear(at + "conv_module.pointwise_conv1", times(2, h), h, false, layers);
  t.linear(at + "conv_module.depthwise_conv", h, config.count_or("conv_depthwise_kernel_size", 31), false, layers);
  t.linear(at + "conv_module.pointwise_conv2", h, h, false, layers);
  t.plain(at + "norms", times(12, h), layers);
  t.linear("speech_encoder.intermediate_ffn.intermediate_dense", inner, h, true);
  t.linear("speech_encoder.intermediate_ffn.output_dense", h, inner, true);
  t.plain("speech_encoder.layer_norms", times(4, h));
  if (!config.flag("add_adapter", true)) return;
  const std::uint64_t adapters = config.count_or("num_adapter_layers", 1);
  const std::string adapter = "speech_encoder.adapter.layers.";
  t.linear(adapter + "convolutions", times(2, h), times(h, config.count_or("adaptor_kernel_size", 8)), true,
           times(2, adapters));
  t.linear(adapter + "self_attn.qkvo", times(4, h), h, true, adapters);
  t.linear(adapter + "ffn.intermediate_dense", inner, h, true, adapters);
  t.linear(adapter + "ffn.output_dense", h, inner, true, adapters);
  t.plain(adapter + "norms", times(6, h), adapters);
}

}  // namespace kvplan
