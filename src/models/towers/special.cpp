// Towers whose sizes are lists, which a line of towers.txt cannot express. Source: transformers' modelling code of
// each.
#include <algorithm>
#include <string>
#include <vector>

#include "models/towers/tower.h"

namespace kvplan {

static void write_internvl(const TowerWriter& s) {
  const std::uint64_t h = s.count({"hidden_size"}, 1024);
  const auto sizes = s.v.counts("image_size");
  const auto patches = s.v.counts("patch_size");
  const std::uint64_t image = sizes && !sizes->empty() ? sizes->front() : s.count({"image_size"}, 448);
  const std::uint64_t patch = patches && !patches->empty() ? patches->front() : s.count({"patch_size"}, 14);
  s.t.linear("vision_tower.patch_embeddings", h, times(3, square(patch)), true);
  s.t.plain("vision_tower.cls_token", h);
  s.t.plain("vision_tower.position_embeddings", times(patches_of(image, patch) + 1, h));
  const std::uint64_t inner = s.count({"intermediate_size"}, 4096);
  Blocks blocks{h, inner, s.count({"num_hidden_layers"}, 24)};
  blocks.qkv_bias = s.v.flag("attention_bias", s.v.flag("qkv_bias", false)) ? 3 : 0;
  blocks.layer_norm = s.v.find_string("norm_type").value_or("layer_norm") == "layer_norm";
  blocks.extra = times(2 + (s.v.flag("use_qk_norm", s.v.flag("qk_normalization", false)) ? 2 : 0), h);  // layer scales
  s.t.blocks("vision_tower.layers.", blocks);
  const double ratio = s.root.find_real("downsample_ratio").value_or(0.5);
  const std::uint64_t merged =
      ratio > 0 && ratio <= 1 ? times(h, static_cast<std::uint64_t>(1 / (ratio * ratio) + 0.5)) : times(4, h);
  s.p.plain("multi_modal_projector.layer_norm", times(2, merged));
  s.p.linear("multi_modal_projector.linear_1", s.out, merged, true);
  s.p.linear("multi_modal_projector.linear_2", s.out, s.out, true);
}

// Florence-2: DaViT, whose blocks attend within windows and then over channels, each with two convolutions.
static void write_florence_vision(const TowerWriter& s) {
  const auto widths = s.v.counts("embed_dim"), depths = s.v.counts("depths"), patches = s.v.counts("patch_size");
  if (!widths || !depths || !patches || widths->empty() || depths->size() != widths->size() ||
      patches->size() != widths->size())
    return estimate_tower(s.t.inventory, s.v.bare(), Component::kVision, "the vision tower (" + s.own + ")");
  const double ratio = s.v.find_real("mlp_ratio").value_or(4);
  std::uint64_t before = s.count({"in_channels"}, 3);
  for (std::size_t i = 0; i < widths->size(); ++i) {
    const std::uint64_t h = (*widths)[i];
    const std::uint64_t inner = whole_width(ratio * static_cast<double>(h), "mlp_ratio");
    const std::string at = "vision_tower.blocks." + std::to_string(i) + ".";
    const std::uint64_t blocks = times(2, (*depths)[i]);
    s.t.linear("vision_tower.convs." + std::to_string(i), h, times(before, square((*patches)[i])), true);
    // The first stage normalizes its output, the other stages their input.
    s.t.plain("vision_tower.convs." + std::to_string(i) + ".norm", times(2, i == 0 ? h : before));
    s.t.plain(at + "convolutions", times(20, h), blocks);
    s.t.plain(at + "norms", times(4, h), blocks);
    s.t.linear(at + "qkv", times(3, h), h, s.v.flag("qkv_bias", true), blocks);
    s.t.linear(at + "proj", h, h, true, blocks);
    s.t.linear(at + "fc1", inner, h, true, blocks);
    s.t.linear(at + "fc2", h, inner, true, blocks);
    before = h;
  }
  const std::uint64_t out = s.count({"projection_dim"}, 1024);
  s.p.linear("multi_modal_projector.image_projection", out, before, false);
  s.p.plain("multi_modal_projector.image_proj_norm", times(2, out));
  s.p.plain("multi_modal_projector.image_position_embed", times(s.count({"max_position_embeddings"}, 50), before));
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
    s.t.plain(at + "conv", times(h, s.count({"conv_kernel_size"}, 7) + 1), (*depths)[i]);
    s.t.plain(at + "norm", h, (*depths)[i]);
    s.t.linear(at + "fc1", inner, h, true, (*depths)[i]);
    s.t.linear(at + "fc2", h, inner, true, (*depths)[i]);
    before = h;
  }
  const std::uint64_t out = s.count({"out_hidden_size"}, s.out);
  s.t.plain("audio_tower.norm", before);
  s.p.linear("audio_tower.proj", out, before, true);
  s.p.plain("audio_tower.post_proj_norm", out);
}

using Counts = std::vector<std::uint64_t>;

// Convolutions over the waveform, each shortening it.
static void write_wave_convolutions(const Tower& t, const Fields& config, std::uint64_t h) {
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

void write_special_tower(std::string_view name, const TowerWriter& side) {
  if (name == "florence") write_florence_vision(side);
  if (name == "internvl") write_internvl(side);
  if (name == "muse_audio") write_muse_audio(side);
}

}  // namespace kvplan
