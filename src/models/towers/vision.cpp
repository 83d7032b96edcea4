// Unusual vision towers, as far as a config determines them. Source: transformers' modelling code of each, where no
// other is named.
#include <algorithm>

#include "kvplan/strings.h"
#include "models/class_defaults.h"
#include "models/towers/tower.h"

namespace kvplan {

// The table of angles of patches: 8,192 rows of half a head (vLLM's get_rope for a tower).
static void write_patch_angles(const TowerWriter& s, std::uint64_t width, std::uint64_t heads) {
  constexpr std::uint64_t kRows = 8192;
  if (heads > 0) s.t.derived("rotary_pos_emb", times(kRows, width / heads / 2));
}

// Frequencies of patches' angles, twice and in float32, for classes of transformers itself.
static void write_frequencies(const TowerWriter& s, std::uint64_t count) {
  s.t.derived("rotary_emb.inv_freq", times(2, count)).is_float32 = true;
}

// Qwen3-VL, Qwen3.5 and similar: a merger, and another for each deepstack level.
static void write_qwen3_vision(const TowerWriter& s) {
  const std::uint64_t h = s.count("hidden_size", 1152);
  const std::uint64_t patch = s.count("patch_size", 16);
  const std::uint64_t wide = times(s.merge(), h);
  const std::uint64_t out = s.count("out_hidden_size", s.out);
  s.t.linear("visual.patch_embed", h, times(3 * s.count("temporal_patch_size", 2), square(patch)), true);
  s.t.plain("visual.pos_embed", times(s.count("num_position_embeddings", 2304), h));
  s.t.blocks("visual.blocks.", {h, s.count("intermediate_size", 4304), s.count({"depth", "num_hidden_layers"}, 27)});
  write_patch_angles(s, h, s.count("num_heads", 16));
  // Where the file gives none, Qwen3-VL's class has three levels, Qwen3.5's none.
  const std::uint64_t usual = has_word("qwen3_vl_text qwen3_vl_moe_text", s.t.inventory.text.class_name()) ? 3 : 0;
  const std::uint64_t levels = s.v.list_size("deepstack_visual_indexes").value_or(usual);
  s.p.plain("visual.merger.norm", times(2, h));
  s.p.up("visual.merger.linear_fc1", wide, wide, 1 + levels);
  s.p.down("visual.merger.linear_fc2", out, wide, 1 + levels);
  if (levels > 0) s.p.plain("visual.deepstack_merger_list.norm", times(2, wide), levels);
}

static void write_qwen2_vision(const TowerWriter& s) {
  const std::uint64_t e = s.count("embed_dim", 1280);
  const std::uint64_t wide = times(s.merge(), e);
  s.frames("visual.patch_embed", e, false);
  s.t.blocks("visual.blocks.", {e, times(s.count("mlp_ratio", 4), e), s.count("depth", 32)});
  write_patch_angles(s, e, s.count("num_heads", 16));
  s.p.plain("visual.merger.ln_q", times(2, e));
  s.p.up("visual.merger.mlp.0", wide, wide);
  s.p.down("visual.merger.mlp.2", s.count("hidden_size", s.out), wide);
}

static void write_qwen2_5_vision(const TowerWriter& s) {
  const std::uint64_t h = s.count("hidden_size", 1280);
  const std::uint64_t wide = times(s.merge(), h);
  s.frames("visual.patch_embed", h, false);
  Blocks blocks = s.sizes(h, 3420, 32, "depth");
  blocks.gated = true;
  blocks.layer_norm = false;
  // In EXAONE 4.5's towers heads share keys.
  const std::uint64_t heads = s.count("num_heads", 16);
  if (const std::uint64_t kv = s.v.count_or("num_key_value_heads", heads); heads > 0 && kv < heads)
    blocks.keys = times(h / heads, kv);
  s.t.blocks("visual.blocks.", blocks);
  write_patch_angles(s, h, heads);
  s.p.plain("visual.merger.ln_q", h);
  s.p.up("visual.merger.mlp.0", wide, wide);
  s.p.down("visual.merger.mlp.2", s.count("out_hidden_size", s.out), wide);
  if (s.root_type == "hyperclovax_vision_v2") s.p.linear("projector", s.out, s.count("out_hidden_size", s.out), true);
}

static void write_gemma4_vision(const TowerWriter& cut) {
  TowerWriter s = cut;
  s.t.cuts = false;  // vLLM loads it with transformers
  const std::uint64_t h = s.count("hidden_size", 768);
  const std::uint64_t d = s.count("head_dim", 64);
  s.patches("vision_tower.patch_embedder.input_proj", h, 16, false);
  s.t.plain("vision_tower.patch_embedder.position_embedding_table",
            times(2 * s.count("position_embedding_size", 10240), h));
  Blocks blocks = llama_blocks(s.sizes(h, 3072, 16));
  blocks.norms = 4;
  blocks.extra = times(2, d);
  s.t.blocks("vision_tower.layers.", blocks);
  write_frequencies(s, d / 4);
  if (s.v.bare().flag("standardize", false)) s.t.derived("vision_tower.std_bias, std_scale", times(2, h));
  s.p.derived("embed_vision.embedding_pre_projection_norm", h);
  s.p.linear("embed_vision.embedding_projection", s.out, h, false);
}

// MoonViT, the tower of Kimi-VL and Kimi-K2.5.
static void write_moonvit(const TowerWriter& s) {
  const std::uint64_t h = s.count({"hidden_size", "vt_hidden_size"}, 1152);
  const bool bias = s.v.flag("linear_bias", true);
  const bool layer_norm = s.v.find_string("norm_type").value_or("layernorm") != "rmsnorm";
  s.patches("vision_tower.patch_embed", h, 14, s.v.flag("patch_embed_proj_bias", true));
  const std::uint64_t columns = s.count({"pos_emb_width", "init_pos_emb_width"}, 64);
  const std::uint64_t rows = s.count({"pos_emb_height", "init_pos_emb_height"}, 64);
  s.t.plain("vision_tower.pos_emb", times(times(rows, columns), h));
  if (s.v.has("init_pos_emb_time"))
    s.t.derived("time_weight", times(s.count("init_pos_emb_time", 4), h)).is_float32 = true;
  Blocks blocks{.width = h,
                .inner = s.count({"intermediate_size", "vt_intermediate_size"}, 4304),
                .layers = s.count({"num_hidden_layers", "vt_num_hidden_layers"}, 27),
                .layer_norm = layer_norm};
  blocks.set_biases(s.v.flag("attn_bias", true), bias);
  blocks.attention = s.count("qkv_hidden_size", 0);
  blocks.heads = s.count({"num_attention_heads", "vt_num_attention_heads"}, 0);
  s.t.blocks("vision_tower.blocks.", blocks);
  s.t.plain("vision_tower.final_layernorm", times(layer_norm ? 2 : 1, h));
  // The second form of the merger has its norm at the end, and no biases.
  const bool norm_first = s.v.find_string("mm_projector_type").value_or("") != "patchmergerv2";
  s.p.plain("mm_projector.norm", norm_first ? times(2, h) : s.out);
  s.p.linear("mm_projector.linear_1", times(4, h), times(4, h), norm_first);
  s.p.linear("mm_projector.linear_2", s.out, times(4, h), norm_first);
}

// ERNIE 4.5 VL: Qwen2-VL's tower, and a resampler of neighbouring patches, then of consecutive frames.
static void write_ernie_vision(const TowerWriter& s) {
  const std::uint64_t h = s.count("hidden_size", 1280);
  const std::uint64_t wide = times(s.merge(), h);
  s.patches("vision_tower.patch_embed", h, 14, false);
  s.t.blocks("vision_tower.blocks.", s.sizes(h, 5120, 32, "depth"));
  s.t.plain("vision_tower.ln", times(2, h));
  s.p.linear("resampler_model.spatial_linear", wide, wide, true, 2);
  s.p.linear("resampler_model.temporal_linear.fc1", wide, times(s.count("temporal_merge_size", 2), wide), true);
  s.p.linear("resampler_model.temporal_linear.fc2", wide, wide, true);
  s.p.plain("resampler_model.norms", times(4, wide));
  s.p.linear("resampler_model.mlp", s.out, wide, true);
  s.p.plain("resampler_model.after_norm", s.out);
}

// Molmo 2: a plain ViT; attention pools two of its layers together, and a gated MLP projects them.
static void write_molmo2_vision(const TowerWriter& s) {
  const std::uint64_t h = s.count("hidden_size", 1152);
  s.patches("vision_tower.patch_embedding", h, 14, true);
  s.t.plain("vision_tower.positional_embedding", times(s.count("num_position_embeddings", 729), h));
  s.t.blocks("vision_tower.layers.", s.sizes(h, 4304, 25));
  const Fields own = with_class(s.root.child("adapter_config").value_or(Fields::empty()), "molmo2_adapter");
  const std::uint64_t wide = own.count_or("hidden_size", 1152);
  const std::uint64_t inner = own.count_or("intermediate_size", 18944);
  const std::uint64_t from = times(own.list_size("vision_feature_layer").value_or(2), h);
  s.p.linear("image_pooling_2d.qkv_proj", times(3, wide), from, true);
  s.p.linear("image_pooling_2d.o_proj", wide, wide, true);
  s.p.linear("image_projector.gate_up_proj", times(2, inner), wide, false);
  s.p.linear("image_projector.down_proj", own.count_or("text_hidden_size", s.out), inner, false);
}

// Ovis 2: AIMv2, and a head that selects rows of a table of visual words for each patch.
static void write_ovis2_vision(const TowerWriter& s) {
  const std::uint64_t h = s.count("hidden_size", 1024);
  const std::uint64_t words = s.count("vocab_size", 16384);
  const std::uint64_t head_words = checked_sub(words, s.count("num_visual_indicator_tokens", 5), "the visual words");
  s.patches("vision_tower.patch_embedding", h, 14, true);
  s.t.plain("vision_tower.position_embedding",
            times(patches_of(s.count("image_size", 224), s.count("patch_size", 14)), h));
  Blocks blocks = llama_blocks(s.sizes(h, 2816, 24));
  const bool bias = s.v.flag("qkv_bias", false);  // read first: reports list keys in the order of reading
  blocks.set_biases(bias, s.v.flag("mlp_bias", false));
  s.t.blocks("vision_tower.layers.", blocks);
  s.t.plain("vision_tower.rms_norms", times(2, h));
  s.t.linear("vision_tower.head_linear", head_words, times(square(s.count("hidden_stride", 1)), h), false);
  s.t.plain("vision_tower.head_norm", times(2, head_words));
  s.p.plain("visual_embeddings_table", times(words, s.root.count_or("hidden_size", s.out)));
}

static void write_llama4_vision(const TowerWriter& s) {
  const std::uint64_t h = s.count("hidden_size", 1408);
  const std::uint64_t inner = s.count("intermediate_size", 5632);
  const std::uint64_t patch = s.count("patch_size", 14);
  const std::uint64_t wide = s.count("projector_input_dim", 4096);
  const std::uint64_t out = s.count("projector_output_dim", 4096);
  const std::uint64_t positions = patches_of(s.count("image_size", 336), patch) + 1;
  s.t.linear("vision_model.patch_embedding", h, times(3, square(patch)), false);
  s.t.plain("vision_model.class_embedding", h);
  s.t.plain("vision_model.positional_embedding", times(positions, h));
  s.t.blocks("vision_model.layers.", {h, inner, s.count("num_hidden_layers", 34)});
  s.t.plain("vision_model.layernorm", times(4, h));
  s.t.linear("vision_model.vision_adapter.fc1", wide, inner, false);
  s.t.linear("vision_model.vision_adapter.fc2", out, wide, false);
  s.p.linear("multi_modal_projector.linear_1", s.out, s.count("vision_output_dim", out), false);
  // Angles of every patch and of the class token, as complex numbers.
  if (const std::uint64_t heads = s.count("num_attention_heads", 16); heads > 0)
    s.t.derived("vision_model.rotary_emb", times(times(2, positions), h / heads / 2)).is_float32 = true;
}

// GLM's merger: concatenated patches, a projection, and a gated MLP.
static void write_glm_merger(const Tower& p, std::uint64_t wide, std::uint64_t out, std::uint64_t context) {
  p.linear("visual.downsample", out, wide, true);
  p.linear("visual.merger.proj", out, out, false);
  p.plain("visual.merger.norm", times(2, out));
  p.linear("visual.merger.gate_up_proj", times(2, context), out, false);
  p.linear("visual.merger.down_proj", out, context, false);
}

static void write_glm4v(const TowerWriter& s) {
  const std::uint64_t h = s.count("hidden_size", 1536);
  const std::uint64_t out = s.count("out_hidden_size", s.out);
  const std::uint64_t patch = s.count("patch_size", 14);
  const std::uint64_t wide = times(s.merge(), h);
  const std::uint64_t context = s.count("intermediate_size", 13696);
  s.t.linear("visual.patch_embed", h, times(3 * s.count("temporal_patch_size", 2), square(patch)), true);
  s.t.plain("visual.embeddings", times(patches_of(s.count("image_size", 336), patch), h));
  s.t.plain("visual.layernorms", times(2, h));
  const std::uint64_t layers = s.count("depth", 24);
  const bool bias = s.v.flag("attention_bias", false);
  Blocks blocks = llama_blocks({h, out, layers});
  blocks.set_biases(bias, false);
  s.t.blocks("visual.blocks.", blocks);
  write_patch_angles(s, h, s.count("num_heads", 12));
  write_position_ids(s.t, patches_of(s.count("image_size", 336), patch));
  write_glm_merger(s.p, wide, out, context);
}

static void write_minimax_vision(const TowerWriter& s) {
  const std::uint64_t h = s.count("hidden_size", 1280);
  s.frames("vision_tower.patch_embed", h, false);
  s.t.plain("vision_tower.pre_layernorm", times(2, h));
  s.t.blocks("vision_tower.blocks.", s.sizes(h, 5120, 32));
  s.p.linear("multi_modal_projector.linear_1", s.out, h, true);
  s.p.linear("multi_modal_projector.linear_2", s.out, s.out, true);
  s.p.linear("patch_merge.linear_1", s.out, times(s.merge(), s.out), true);
  s.p.linear("patch_merge.linear_2", s.out, s.out, true);
}

static void write_mllama_vision(const TowerWriter& s) {
  const std::uint64_t h = s.count("hidden_size", 1280);
  const std::uint64_t inner = s.count("intermediate_size", 5120);
  const std::uint64_t patch = s.count("patch_size", 14);
  const std::uint64_t tiles = s.count("max_num_tiles", 4);
  const auto ratios = s.v.list_size("supported_aspect_ratios").value_or(8);
  const std::uint64_t positions = patches_of(s.count("image_size", 448), patch) + 1;
  s.t.linear("vision_model.patch_embedding", h, times(3, square(patch)), false);
  s.t.plain("vision_model.class_embedding", h);
  s.t.plain("vision_model.gated_positional_embedding", times(positions, h) + 1);
  s.t.plain("vision_model.tile_embedding", times(times(ratios + 1, tiles), times(positions, h)));
  s.t.plain("vision_model.tile_positional_embedding", times(times(ratios + 1, tiles), h) + 1, 2);
  s.t.plain("vision_model.layernorms", times(4, h));
  Blocks blocks{h, inner, s.count("num_hidden_layers", 32)};
  blocks.set_biases(false, true);
  s.t.blocks("vision_model.transformer.", blocks);
  blocks.layers = s.count("num_global_layers", 8);
  blocks.extra = 2;
  s.t.blocks("vision_model.global_transformer.", blocks);
  s.p.linear("multi_modal_projector", s.out, s.count("vision_output_dim", 7680), true);
}

static void write_pixtral(const TowerWriter& s) {
  const std::uint64_t h = s.count("hidden_size", 1024);
  s.patches("vision_tower.patch_conv", h, 16, false);
  s.t.plain("vision_tower.ln_pre", h);
  s.t.blocks("vision_tower.layers.", llama_blocks(s.sizes(h, 4096, 24)));
  if (const std::uint64_t heads = s.count("num_attention_heads", 16); heads > 0) write_frequencies(s, h / heads / 2);
  // Where the file lacks the key, Pixtral's own projector has biases and Mistral 3's, which follows a merger, has none.
  const bool merges = has_word("mistral3 mistral_large4 lighton_ocr", s.root_type);
  const std::uint64_t from = s.count("hidden_size", 1152);
  if (merges) {
    s.p.plain("multi_modal_projector.norm", from);
    s.p.linear("multi_modal_projector.patch_merger", from,
               times(square(s.root.count_or("spatial_merge_size", 2)), from), false);
  }
  write_two_linears(s.p, from, s.out, s.root.flag("multimodal_projector_bias", !merges));
}

static void write_internvl(const TowerWriter& s) {
  const std::uint64_t h = s.count("hidden_size", 1024);
  const auto sizes = s.v.counts("image_size");
  const auto patches = s.v.counts("patch_size");
  const std::uint64_t image = sizes && !sizes->empty() ? sizes->front() : s.count("image_size", 448);
  const std::uint64_t patch = patches && !patches->empty() ? patches->front() : s.count("patch_size", 14);
  s.t.linear("vision_tower.patch_embeddings", h, times(3, square(patch)), true);
  s.t.plain("vision_tower.cls_token", h);
  s.t.plain("vision_tower.position_embeddings", times(patches_of(image, patch) + 1, h));
  Blocks blocks = s.sizes(h, 4096, 24);
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

// dots.ocr: RMS norms, a gated MLP, no biases in the blocks; four tokens are merged into one.
static void write_dots_vision(const TowerWriter& s) {
  const std::uint64_t h = s.count("embed_dim", 1536);
  const std::uint64_t wide = times(s.merge(), h);
  const bool bias = s.v.flag("use_bias", false);
  s.frames("vision_tower.patch_embed", h, true, "temporal_patch_size", 1);
  s.t.plain("vision_tower.norms", times(s.v.flag("post_norm", true) ? 2 : 1, h));
  s.t.blocks("vision_tower.blocks.", llama_blocks(s.sizes(h, 4224, 42), bias));
  s.p.plain("vision_tower.merger.ln_q", times(2, h));
  s.p.linear("vision_tower.merger.mlp.0", wide, wide, true);
  s.p.linear("vision_tower.merger.mlp.2", s.out, wide, true);
}

// GLM-OCR: GLM-4V's merger after blocks with biases, norms of queries and keys, and no table of positions.
static void write_glm_ocr_vision(const TowerWriter& s) {
  const std::uint64_t h = s.count("hidden_size", 1024);
  const std::uint64_t heads = std::max<std::uint64_t>(1, s.count("num_heads", 16));
  const std::uint64_t out = s.count("out_hidden_size", s.out);
  const std::uint64_t channels = s.count("in_channels", 3);
  const bool bias = s.v.flag("attention_bias", true);
  s.frames("visual.patch_embed", h, true, "temporal_patch_size", 2, channels);
  Blocks blocks = llama_blocks(s.sizes(h, 4096, 24, "depth"), bias);
  blocks.extra = times(2, h / heads);
  s.t.blocks("visual.blocks.", blocks);
  write_patch_angles(s, h, heads);
  s.t.plain("visual.post_layernorm", h);
  write_glm_merger(s.p, times(s.merge(), h), out, s.count("projection_intermediate_size", times(out, channels)));
}

static void write_muse_vision(const TowerWriter& s) {
  const std::uint64_t h = s.count("hidden_size", 1536);
  const std::uint64_t inner = s.root.count_or("projector_hidden_size", 4096);
  s.frames("vision_tower.patch_embed", h, false, "patch_temporal");
  const std::uint64_t columns = s.count("pos_emb_width", 32);
  const std::uint64_t rows = s.count("pos_emb_height", 32);
  s.t.plain("vision_tower.position_embedding", times(times(rows, columns), h));
  s.t.plain("vision_tower.layernorms", times(4, h));
  s.t.blocks("vision_tower.layers.", s.sizes(h, 8960, 50));
  s.p.linear("vision_adapter.fc1", inner, times(square(s.count("merge_size", 2)), h), false);
  s.p.linear("vision_adapter.fc2", inner, inner, false);
  s.p.linear("vision_projection", s.out, inner, false);
}

// Gemma 3n's towers have only one size (MobileNet-V5 of 300 million, and a Conformer of twelve blocks): the parameters
// of both published checkpoints outside of their decoder.
static void write_gemma3n_vision(const TowerWriter& s) {
  s.t.plain("vision_tower", 298'744'640);
}

// Florence-2: DaViT, whose blocks attend within windows and then over channels, each with two convolutions.
static void write_florence_vision(const TowerWriter& s) {
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

std::span<const TowerRow> vision_towers() {
  static constexpr TowerRow kRows[] = {
      {"qwen3_vl qwen3_vl_moe qwen3_5 qwen3_5_moe qwen4_exp qwen3_8_flash_next cosmos3_omni cohere_compass_vision "
       "qwen3_vl_vision qwen3_omni_moe_vision_encoder",
       write_qwen3_vision},
      {"qwen2_5_vl qwen2_5_vl_vision exaone4_5 exaone4_5_vision qwen2_5_omni_vision_encoder", write_qwen2_5_vision},
      {"qwen2_vl qwen2_vl_vision", write_qwen2_vision},
      {"gemma4 gemma4_vision", write_gemma4_vision},
      {"kimi_k25 kimi_k3 kimi_vl moonvit kimi_k25_vision", write_moonvit},
      {"llama4 llama4_vision_model", write_llama4_vision},
      {"glm4v glm4v_moe glm46v glm4v_vision glm4v_moe_vision", write_glm4v},
      {"minimax_m3_vl", write_minimax_vision},
      {"gemma3n", write_gemma3n_vision},
      {"glm_ocr glm5_next", write_glm_ocr_vision},
      {"ernie4_5_vl_moe", write_ernie_vision},
      {"molmo2", write_molmo2_vision},
      {"muse_glimmer muse_spark", write_muse_vision},
      {"dots_ocr", write_dots_vision},
      {"florence2", write_florence_vision},
      {"mllama", write_mllama_vision},
      {"ovis2", write_ovis2_vision, [](std::string_view own) { return own == "ovis2_vision"; }},
      {"internvl intern_vit_6b interns1 interns1_vision qianfan_ocr qianfan_ocr_vision", write_internvl},
      {"pixtral", write_pixtral, [](std::string_view own) { return own == "pixtral"; }},
  };
  return kRows;
}

}  // namespace kvplan
