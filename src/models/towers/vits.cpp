// Towers based on SigLIP's or CLIP's plain ViT or on SAM's, and the parts that follow each. Source: transformers'
// modelling code of each, where no other is named.
#include <algorithm>
#include <vector>

#include "kvplan/strings.h"
#include "models/class_defaults.h"
#include "models/towers/tower.h"

namespace kvplan {

void write_two_linears(const Tower& p, std::uint64_t from, std::uint64_t to, bool bias) {
  p.linear("multi_modal_projector.linear_1", to, from, bias, 1, Split::kRows);
  p.linear("multi_modal_projector.linear_2", to, to, bias, 1, Split::kColumns);
}

void write_position_ids(const Tower& t, std::uint64_t positions) {
  t.derived("position_ids", times(2, positions)).is_float32 = true;  // eight bytes each
}

// The head that pools SigLIP's patches into one vector.
static void write_siglip_head(const Tower& t, std::uint64_t h, std::uint64_t inner) {
  t.plain("vision_tower.head.probe", h);
  t.linear("vision_tower.head.attention", times(4, h), h, true);
  t.plain("vision_tower.head.layernorm", times(2, h));
  t.linear("vision_tower.head.fc1", inner, h, true);
  t.linear("vision_tower.head.fc2", h, inner, true);
}

// What varies in a plain ViT.
struct Vit {
  bool is_clip = false;         // has a class token, and a norm before the blocks
  bool has_head = false;        // pooling head
  bool has_ids = false;         // position numbers as a buffer, in serving engines' classes
  std::uint64_t unread = 0;     // last layers whose output is not used
  bool reads_post_norm = true;  // used where all layers are
  std::uint64_t image = 0;      // the class's default size, where it is not the usual one
};

// vision_feature_layer is the last layer used, counted from the end; engines leave out those after it.
static std::uint64_t unread_layers(const TowerWriter& s, double usual) {
  // In a list of layers the last one counts, which is not modelled.
  const double last = s.root.is_number("vision_feature_layer")
                          ? s.root.find_real("vision_feature_layer").value_or(usual)
                      : s.root.has("vision_feature_layer") ? -1
                                                           : usual;
  return last < -1 && last > -64 ? static_cast<std::uint64_t>(-last) - 1 : 0;
}

// SigLIP, or CLIP with its class token.
static void write_vit(const TowerWriter& s, const Vit& form = {}) {
  const bool is_clip = form.is_clip;
  const std::uint64_t h = s.count({"hidden_size", "embed_dim"}, is_clip ? 1024 : 1152);
  const std::uint64_t patch = s.count("patch_size", 14);
  const std::uint64_t inner = s.count("intermediate_size", is_clip ? 4096 : 4304);
  s.t.linear("vision_tower.patch_embedding", h, times(3, square(patch)), !is_clip);
  const std::uint64_t image = form.image > 0 ? form.image : (is_clip ? 336 : 224);
  const std::uint64_t positions = patches_of(s.count("image_size", image), patch) + (is_clip ? 1 : 0);
  s.t.plain("vision_tower.position_embedding", times(positions, h));
  if (form.has_ids) write_position_ids(s.t, positions);
  if (is_clip) s.t.plain("vision_tower.class_embedding", h);
  const std::uint64_t layers = s.count("num_hidden_layers", is_clip ? 24 : 27);
  const std::uint64_t unread = std::min(layers, form.unread);
  s.t.blocks("vision_tower.layers.", {h, inner, layers - unread});
  s.t.blocks("vision_tower.unread_layers.", {h, inner, unread});
  if (is_clip) s.t.plain("vision_tower.pre_layernorm", times(2, h));
  s.t.plain(unread > 0 || !form.reads_post_norm ? "vision_tower.unread_post_layernorm" : "vision_tower.post_layernorm",
            times(2, h));
  if (form.has_head) write_siglip_head(s.t, h, inner);
}

static void write_siglip_with_head(const TowerWriter& s) {
  write_vit(s, {.has_head = true});
}

// Idefics2: 64 latents attend to the image's tokens in three layers, with projections to the decoder's width.
static void write_perceiver(const TowerWriter& s, std::uint64_t from) {
  const std::uint64_t h = s.out;
  const Fields own = s.root.child("perceiver_config").value_or(Fields::empty());
  const std::uint64_t d = own.count_or("resampler_head_dim", 96);
  const std::uint64_t queries = times(own.count_or("resampler_n_heads", 16), d);
  const std::uint64_t keys = times(own.count_or("num_key_value_heads", 4), d);
  const std::uint64_t depth = own.count_or("resampler_depth", 3);
  const std::uint64_t inner = s.t.inventory.text.count_or("intermediate_size", 14336);
  s.p.linear("connector.modality_projection.gate_up_proj", times(2, inner), from, false);
  s.p.linear("connector.modality_projection.down_proj", h, inner, false);
  s.p.plain("connector.perceiver_resampler.latents", times(own.count_or("resampler_n_latents", 64), h));
  s.p.plain("connector.perceiver_resampler.norms", times(checked_add(times(3, depth), 1, "the norms"), h));
  s.p.linear("connector.perceiver_resampler.q_proj", queries, h, false, depth);
  s.p.linear("connector.perceiver_resampler.kv_proj", times(2, keys), h, false, depth);
  s.p.linear("connector.perceiver_resampler.o_proj", h, queries, false, depth);
  s.p.linear("connector.perceiver_resampler.mlp", times(12, h), h, false, depth);
}

void write_clip_large(const Tower& t, std::uint64_t layers, bool has_post_norm, std::uint64_t positions) {
  const std::uint64_t h = 1024;
  t.linear("vision_tower.patch_embedding", h, 588, false);
  t.plain("vision_tower.class_embedding", h);
  t.plain("vision_tower.position_embedding", positions * h);
  t.plain("vision_tower.layernorms", (has_post_norm ? 4 : 2) * h);
  t.blocks("vision_tower.layers.", {h, 4 * h, layers});
}

// LFM2-VL: SigLIP2 with the positions it was trained with, and a projector over merged patches.
static void write_lfm2_vision(const TowerWriter& s) {
  const std::uint64_t h = s.count("hidden_size", 768);
  const std::uint64_t wide = times(square(s.root.count_or("downsample_factor", 2)), h);
  const std::uint64_t inner = s.root.count_or("projector_hidden_size", 2560);
  const bool bias = s.root.flag("projector_bias", true);
  s.patches("vision_tower.patch_embedding", h, 16, true);
  s.t.plain("vision_tower.position_embedding", times(s.count("num_patches", 256), h));
  s.t.blocks("vision_tower.layers.", s.sizes(h, 3072, 12));
  s.t.plain("vision_tower.post_layernorm", times(2, h));
  // The released checkpoints disable the class's head.
  if (s.v.bare().flag("vision_use_head", false)) write_siglip_head(s.t, h, s.count("intermediate_size", 3072));
  if (s.root.flag("projector_use_layernorm", true)) s.p.plain("multi_modal_projector.layer_norm", times(2, wide));
  s.p.linear("multi_modal_projector.linear_1", inner, wide, bias);
  s.p.linear("multi_modal_projector.linear_2", s.out, inner, bias);
}

// Cosmos 3 Edge: SigLIP2 with the positions it was trained with, and a merger of another width.
static void write_cosmos_vision(const TowerWriter& s) {
  const std::uint64_t h = s.count("hidden_size", 1152);
  const std::uint64_t inner = s.root.count_or("projector_hidden_size", 11520);
  s.patches("visual.patch_embedding", h, 16, true);
  s.t.plain("visual.position_embedding", times(s.count("num_patches", 256), h));
  s.t.blocks("visual.layers.", s.sizes(h, 4304, 27));
  s.t.plain("visual.post_layernorm", times(2, h));
  s.p.plain("projector.norm", times(2, h));
  s.p.linear("projector.linear_fc1", inner, times(s.merge(), h), true);
  s.p.linear("projector.linear_fc2", s.out, inner, true);
}

// SAM's ViT, of size B by default: windows with tables of relative positions for rows and columns, longer ones in the
// global layers.
static void write_sam(const TowerWriter& s) {
  const std::uint64_t h = s.count({"hidden_size", "width"}, 768);
  const std::uint64_t layers = s.count({"num_hidden_layers", "layers"}, 12);
  const std::uint64_t heads = std::max<std::uint64_t>(1, s.count({"num_attention_heads", "heads"}, 12));
  const std::uint64_t patch = s.count("patch_size", 16);
  const std::uint64_t side = patch > 0 ? s.count("image_size", 1024) / patch : 0;
  const std::uint64_t window = s.count("window_size", 14);
  const std::uint64_t global = std::min<std::uint64_t>(layers, s.v.list_size("global_attn_indexes").value_or(4));
  const std::uint64_t out = s.count("output_channels", 256);
  s.t.linear("vision_tower.patch_embed", h, times(3, square(patch)), true);
  s.t.plain("vision_tower.pos_embed", times(square(side), h));
  s.t.blocks("vision_tower.layers.", {h, s.count("mlp_dim", times(4, h)), layers});
  const auto relative = [&](std::uint64_t size) { return times(times(4, size) - (size > 0 ? 2 : 0), h / heads); };
  s.t.plain("vision_tower.layers.rel_pos", relative(window), layers - global);
  s.t.plain("vision_tower.layers.rel_pos_global", relative(side), global);
  s.t.linear("vision_tower.neck.conv1", out, h, false);
  s.t.linear("vision_tower.neck.conv2", out, times(9, out), false);
  s.t.plain("vision_tower.neck.norms", times(4, out));
}

// The two convolutions of GOT-OCR and DeepSeek-OCR after SAM, each of which halves the sides, up to 1024 channels.
static void write_sam_nets(const Tower& p) {
  p.linear("vision_tower.net_2", 512, 9 * 256ULL, false);
  p.linear("vision_tower.net_3", 1024, 9 * 512ULL, false);
}

// DeepSeek-OCR: SAM's output runs through CLIP-L, and both outputs together are projected. Source: vLLM
// models/deepseek_ocr.py and deepencoder.py.
void write_deepseek_ocr(const TowerWriter& s) {
  TowerWriter sam = s;
  sam.v = *s.v.child("width")->child("sam_vit_b");
  write_sam(sam);
  write_sam_nets(s.t);
  write_clip_large(s.t, 24, false, 257);
  s.p.linear("projector", s.out, 2048, true);
  s.p.plain("image_newline, view_seperator", times(2, s.out));
}

// The same in transformers' form: CLIP reads only SAM's output, and has no patch embedding.
static void write_unlimited_ocr(const TowerWriter& s) {
  const auto part = [&](std::string_view key) {
    TowerWriter out = s;
    if (const auto own = s.v.child(key)) out.v = with_class(*own, own->find_string("model_type").value_or(""));
    return out;
  };
  write_sam(part("sam_config"));
  write_sam_nets(s.t);
  const TowerWriter clip = part("encoder_config");
  const std::uint64_t h = clip.count("hidden_size", 1024);
  s.t.plain("vision_tower.class_embedding", h);
  s.t.plain("vision_tower.position_embedding",
            times(patches_of(clip.count("image_size", 224), clip.count("patch_size", 14)) + 1, h));
  s.t.plain("vision_tower.pre_layernorm", times(2, h));
  s.t.blocks("vision_tower.layers.", {h, clip.count("intermediate_size", 4096), clip.count("num_hidden_layers", 24)});
  s.p.linear("projector", s.out, times(2, h), true);
  s.p.plain("image_newline, view_seperator", times(2, s.out));
}

static void write_got_ocr(const TowerWriter& s) {
  write_sam(s);
  write_sam_nets(s.p);
  s.p.linear("multi_modal_projector", s.out, 1024, true);
}

// MiniCPM-V: SigLIP at 980 pixels, and queries that attend to its patches once. Source: vLLM models/minicpmv.py.
static void write_minicpmv_vision(const TowerWriter& s) {
  const std::uint64_t from = s.count("hidden_size", 1152);
  write_vit(s);
  s.p.plain("resampler.query", times(s.root.count_or("query_num", 64), s.out));
  if (from != s.out) s.p.linear("resampler.kv_proj", s.out, from, false);
  s.p.linear("resampler.attn.in_proj", times(3, s.out), s.out, true);
  s.p.linear("resampler.attn.out_proj", s.out, s.out, true);
  s.p.plain("resampler.norms", times(6, s.out));
  s.p.linear("resampler.proj", s.out, s.out, false);
}

// Aria: as many queries as the largest image needs; projections before those of the attention itself.
static void write_aria_vision(const TowerWriter& s) {
  const std::uint64_t h = s.count("hidden_size", 1152);
  write_vit(s, {.reads_post_norm = false});
  std::uint64_t queries = 0;
  const auto counts = s.root.child("projector_patch_to_query_dict");
  for (const std::string& patches : counts ? counts->keys() : std::vector<std::string>{})
    queries = std::max(queries, counts->count_or(patches, 0));
  s.p.plain("multi_modal_projector.query", times(queries > 0 ? queries : 256, h));
  s.p.linear("multi_modal_projector.cross_attn.qkv_proj", times(3, h), h, false);
  s.p.linear("multi_modal_projector.cross_attn.in_proj", times(3, h), h, true);
  s.p.linear("multi_modal_projector.cross_attn.out_proj", h, h, true, 2);
  s.p.plain("multi_modal_projector.norms", times(6, h));
  s.p.linear("multi_modal_projector.feed_forward.linear_in", s.out, h, false);
  s.p.linear("multi_modal_projector.feed_forward.linear_out", s.out, s.out, false);
}

// PaddleOCR-VL: SigLIP and a merger of four patches.
static void write_paddleocr_vision(const TowerWriter& s) {
  const std::uint64_t h = s.count("hidden_size", 1152);
  const std::uint64_t wide = times(s.merge(), h);
  write_vit(s, {.has_ids = true});
  if (const std::uint64_t heads = s.count("num_attention_heads", 16); heads > 0)
    s.t.derived("vision_tower.rotary_pos_emb.inv_freq", h / heads / 4).is_float32 = true;
  s.p.plain("projector.pre_norm", times(2, h));
  s.p.linear("projector.linear_1", wide, wide, true);
  s.p.linear("projector.linear_2", s.out, wide, true);
}

// Step 3.7: scaled residuals, a separate table of positions for 728 pixels, and two convolutions that halve each side.
static void write_step_vision(const TowerWriter& s) {
  const std::uint64_t h = s.count("hidden_size", 1536);
  s.patches("vision_tower.patch_embedding", h, 14, false);
  s.t.plain("vision_tower.position_embedding",
            times(patches_of(s.count("image_size", 728), s.count("patch_size", 14)), h));
  s.t.plain("vision_tower.pre_layernorm", times(2, h));
  Blocks blocks = s.sizes(h, 8960, 47);
  blocks.extra = times(2, h);
  s.t.blocks("vision_tower.layers.", blocks);
  s.t.linear("vision_tower.downsampler1", times(2, h), times(9, h), true);
  s.t.linear("vision_tower.downsampler2", times(4, h), times(18, h), true);
  s.p.linear("multi_modal_projector", s.out, times(4, h), s.root.flag("projector_bias", false));
}

// The first MiniCPM-V in transformers' own form: four patches are merged within the tower, and four of the results
// after it.
static void write_minicpmv4_vision(const TowerWriter& s) {
  write_vit(s);
  const std::uint64_t h = s.count("hidden_size", 768);
  const std::uint64_t wide = times(4, h);
  s.t.linear("vision_tower.vit_merger.attention", times(4, h), h, true);
  s.t.plain("vision_tower.vit_merger.norms", checked_add(times(2, h), times(2, wide), "the norms"));
  s.t.linear("vision_tower.vit_merger.linear_1", times(4, s.count("intermediate_size", 3072)), wide, true);
  s.t.linear("vision_tower.vit_merger.linear_2", h, times(4, s.count("intermediate_size", 3072)), true);
  const std::uint64_t stages = s.root.count_or("merger_times", 1);
  s.p.plain("merger.mlp.pre_norm", times(2, wide), stages);
  s.p.linear("merger.mlp.linear_1", wide, wide, true, stages);
  if (stages > 1) s.p.linear("merger.mlp.linear_2", h, wide, true, stages - 1);
  s.p.linear("merger.mlp.linear_2", s.out, wide, true);
}

// VideoLLaMA 3: SigLIP with rotary positions.
static void write_video_llama_vision(const TowerWriter& s) {
  const std::uint64_t h = s.count("hidden_size", 768);
  s.patches("vision_tower.patch_embedding", h, 16, true);
  s.t.blocks("vision_tower.layers.", s.sizes(h, 3072, 12));
  s.t.plain("vision_tower.post_layernorm", times(2, h));
  write_two_linears(s.p, h, s.out, true);
}

// DeepSeek-VL's smaller form: SigLIP only.
static void write_deepseek_vl_vision(const TowerWriter& s) {
  write_vit(s, {.has_head = s.v.flag("vision_use_head", true)});
  write_two_linears(s.p, s.count("hidden_size", 768), s.out, true);
}

// DeepSeek-VL's larger form: also SAM for the image at 1024 pixels, whose outputs at two depths are resized to
// SigLIP's.
static void write_deepseek_vl_hybrid(const TowerWriter& s) {
  write_vit(s, {.has_head = s.v.flag("vision_use_head", true)});
  s.root.touch("high_res_vision_config");
  TowerWriter fine = s;
  fine.v = with_class(s.root.child("high_res_vision_config").value_or(Fields::empty()), "sam_vision_model");
  write_sam(fine);
  const std::uint64_t channels = fine.count("output_channels", 256);
  // The second output is taken after the first windowed layers, and has its own neck.
  s.p.linear("high_res_vision_neck.conv1", channels, fine.count("hidden_size", 768), false);
  s.p.linear("high_res_vision_neck.conv2", channels, times(9, channels), false);
  s.p.plain("high_res_vision_neck.norms", times(4, channels));
  s.p.plain("high_res_vision_alpha", 1);
  s.p.linear("high_res_vision_proj.conv1", times(2, channels), times(9, channels), false);
  s.p.linear("high_res_vision_proj.conv2", times(4, channels), times(18, channels), false);
  s.p.linear("aligner.vision_proj", s.out / 2, s.count("hidden_size", 768), true);
  s.p.linear("aligner.high_res_vision_proj", s.out / 2, times(4, channels), true);
  s.p.linear("aligner.proj", s.out, s.out, true);
}

// Gemma 3, and models whose own switch adds a head.
static bool has_siglip_head(const TowerWriter& s, bool usual = false) {
  return s.v.flag("vision_use_head", usual);
}

void write_gemma3_vision(const TowerWriter& s) {
  write_vit(s, {.has_head = has_siglip_head(s), .has_ids = true});
  const std::uint64_t h = s.count("hidden_size", 1152);
  s.p.plain("multi_modal_projector.mm_input_projection_weight", times(h, s.out));
  s.p.plain("multi_modal_projector.mm_soft_emb_norm", h);
}

// Kosmos: latents of the text's width attend to the tower's output.
static void write_kosmos_queries(const TowerWriter& s, std::uint64_t from) {
  s.p.plain("image_to_text_projection.latent_query", times(s.root.count_or("latent_query_num", 64), s.out));
  s.p.linear("image_to_text_projection.dense", s.out, from, true);
  s.p.linear("image_to_text_projection.x_attn", times(4, s.out), s.out, true);
}

static void write_git_vision(const TowerWriter& s) {
  write_vit(s, {.is_clip = true, .image = 224});
  s.p.linear("visual_projection", s.out, s.count("hidden_size", 768), true);
  s.p.plain("visual_projection.layer_norm", times(2, s.out));
}

static void write_idefics_vision(const TowerWriter& s) {
  write_vit(s, {.is_clip = true, .image = 224});
}

struct BlipSizes {
  std::uint64_t width = 0, inner = 0, layers = 0, image = 0, patch = 0;
};

// BLIP: like CLIP, without the norm before the blocks and with a bias in the patch embedding.
static void write_blip_tower(const TowerWriter& s, const BlipSizes& usual, bool has_bias_switch = false) {
  const std::uint64_t h = s.count("hidden_size", usual.width);
  s.patches("vision_tower.patch_embedding", h, usual.patch, true);
  s.t.plain("vision_tower.class_embedding", h);
  s.t.plain("vision_tower.position_embedding",
            times(patches_of(s.count("image_size", usual.image), s.count("patch_size", usual.patch)) + 1, h));
  Blocks blocks = s.sizes(h, usual.inner, usual.layers);
  blocks.qkv_bias = !has_bias_switch || s.v.flag("qkv_bias", true) ? 3 : 0;
  s.t.blocks("vision_tower.layers.", blocks);
  s.t.plain("vision_tower.post_layernorm", times(2, h));
}

static void write_blip_own_vision(const TowerWriter& s) {
  write_blip_tower(s, {.width = 768, .inner = 3072, .layers = 12, .image = 384, .patch = 16});
}

// RADIO in Nemotron's omni models: patches of images and of pairs of frames, positions for the largest image, scaled
// residuals; four patches are merged into one.
static void write_radio_vision(const TowerWriter& s) {
  const std::uint64_t h = s.count("hidden_size", 1280);
  const std::uint64_t patch = s.count("patch_size", 16);
  const double ratio = s.v.find_real("mlp_ratio").value_or(4);
  const std::uint64_t wide = times(4, h);
  const std::uint64_t inner = s.root.count_or("projector_hidden_size", 4096);
  s.t.plain("vision_tower.position_embedding", times(patches_of(s.count("max_img_size", 2048), patch), h));
  s.t.plain("vision_tower.cls_register_token",
            times(checked_add(s.count("num_cls_tokens", 3), s.count("num_registers", 7), "the tokens of a tower"), h));
  s.t.linear("vision_tower.patch_embedding", h, s.count("patch_dim", times(3, square(patch))), false);
  s.t.linear("vision_tower.video_patch_embedding", h, s.count("video_patch_dim", times(6, square(patch))), false);
  s.t.blocks("vision_tower.layers.", {.width = h,
                                      .inner = whole_width(ratio * static_cast<double>(h), "mlp_ratio"),
                                      .layers = s.count("num_hidden_layers", 32),
                                      .extra = times(2, h)});
  s.t.plain("vision_tower.summary_idxs", s.v.list_size("summary_idxs").value_or(2));  // which tokens summarise it
  s.p.plain("multi_modal_projector.layer_norm", wide);
  s.p.linear("multi_modal_projector.linear_1", inner, wide, false);
  s.p.linear("multi_modal_projector.linear_2", s.out, inner, false);
}

// PP-FormulaNet: SAM as in GOT-OCR, and a projection in two steps.
static void write_formulanet_vision(const TowerWriter& s) {
  write_sam(s);
  write_sam_nets(s.p);
  s.p.linear("multi_modal_projector.linear_1", 1024, 1024, true);
  s.p.linear("multi_modal_projector.linear_2", s.count("decoder_hidden_size", s.out), 1024, true);
}

static void write_kosmos_vision(const TowerWriter& s) {
  write_vit(s, {.is_clip = true, .image = 224});
  write_kosmos_queries(s, s.count("hidden_size", 1024));
}

// Pix2Struct and Kosmos-2.5: patches with their row and column, RMS norms, a gated MLP and no biases.
static void write_pix2struct_vision(const TowerWriter& s) {
  const std::uint64_t h = s.count("hidden_size", 768);
  s.t.linear("vision_tower.patch_projection", h, s.count("patch_embed_hidden_size", 768), true);
  s.t.plain("vision_tower.row_and_column_embedder", times(times(2, s.count({"seq_len", "max_num_patches"}, 4096)), h));
  s.t.blocks("vision_tower.layers.",
             llama_blocks({.width = h,
                           .inner = s.count({"d_ff", "intermediate_size"}, 2048),
                           .layers = s.count("num_hidden_layers", 12),
                           .attention = times(s.count("num_attention_heads", 12), s.count({"d_kv", "head_dim"}, 64))}));
  s.t.plain("vision_tower.layernorm", h);
  if (s.root_type != "pix2struct") write_kosmos_queries(s, h);
}

static void write_paligemma_vision(const TowerWriter& s) {
  write_vit(s, {.has_head = has_siglip_head(s), .has_ids = true});
  s.p.linear("multi_modal_projector.linear", s.out, s.count("hidden_size", 1152), true);
}

static void write_llava_vision(const TowerWriter& s) {
  const bool is_clip = s.own == "clip_vision_model";
  const bool is_onevision = s.root_type == "llava_onevision";
  const Vit form{.is_clip = is_clip,
                 .has_head = !is_clip && has_siglip_head(s, !is_onevision),
                 .has_ids = true,
                 .unread = unread_layers(s, is_onevision ? -1 : -2),
                 .reads_post_norm = false};
  write_vit(s, form);
  if (s.root_type == "video_llava") write_vit(s, {.is_clip = is_clip});  // another one for frames
  const std::uint64_t h = s.count("hidden_size", 1152);
  if (s.root_type == "vipllava") {
    s.p.plain("multi_modal_projector.norm", times(2, times(5, h)));
    s.p.linear("multi_modal_projector.linear_1", s.out, times(5, h), true);
    s.p.linear("multi_modal_projector.linear_2", s.out, s.out, true);
    return;
  }
  write_two_linears(s.p, h, s.out, s.root.flag("multimodal_projector_bias", true));
  if (!has_word("llava video_llava", s.root_type)) s.p.plain("image_newline", s.out);
}

static void write_idefics2_vision(const TowerWriter& s) {
  TowerWriter named = s;
  named.v = with_class(s.v, "idefics2_vision");
  write_vit(named);
  write_perceiver(s, named.count("hidden_size", 768));
}

static void write_idefics3_vision(const TowerWriter& s) {
  write_vit(s);
  const std::uint64_t h = s.count("hidden_size", 1152);
  s.p.linear("connector.modality_projection", s.out, times(square(s.root.count_or("scale_factor", 2)), h), false);
}

static void write_cohere_vision(const TowerWriter& s) {
  write_vit(s, {.has_head = has_siglip_head(s), .has_ids = true});
  const std::uint64_t h = s.count("hidden_size", 1152);
  const std::uint64_t wide = times(square(s.root.count_or("downsample_factor", 2)), h);
  const bool is_aya = s.root_type == "aya_vision";
  const std::uint64_t inner = s.root.count_or("alignment_intermediate_size", is_aya ? s.out : 36864);
  if (is_aya) s.p.plain("multi_modal_projector.layernorm", times(2, wide));
  s.p.linear("multi_modal_projector.linear_1", inner, wide, true);
  s.p.linear("multi_modal_projector.linear_2", s.out, inner / 2, true);
}

// Phi-4 multimodal: SigLIP with its head, followed by two vectors and two projections.
static void write_phi4_vision(const TowerWriter& s) {
  const std::uint64_t h = s.count("hidden_size", 1152);
  write_siglip_with_head(s);
  s.p.plain("image_embed.img_feature_extensors", times(2, h));
  s.p.linear("image_embed.img_projection_up", s.out, h, true);
  s.p.linear("image_embed.img_projection_down", s.out, s.out, true);
}

static void write_blip_vision(const TowerWriter& s) {
  write_blip_tower(s, {.width = 1408, .inner = 6144, .layers = 39, .image = 224, .patch = 14}, true);
  s.root.touch("qformer_config");
  const Fields looking = s.root.child("qformer_config").value_or(Fields::empty());
  write_qformer(s.p, looking, s.root.count_or("num_query_tokens", 32), s.root_type != "blip-2");
  s.p.linear("language_projection", s.out, looking.count_or("hidden_size", 768), true);
}

static bool is_clip_or_siglip(std::string_view own) {
  return own == "clip_vision_model" || (own.starts_with("siglip") && own != "siglip2_vision_model");
}

static bool is_siglip(std::string_view own) {
  return is_clip_or_siglip(own) && own != "clip_vision_model";
}

std::span<const TowerRow> vit_towers() {
  static constexpr TowerRow kRows[] = {
      {"got_ocr2 pp_chart2table", write_got_ocr},
      {"pp_formulanet", write_formulanet_vision},
      {"minicpmv minicpmo", write_minicpmv_vision},
      {"aria", write_aria_vision},
      {"paddleocr_vl", write_paddleocr_vision},
      {"cosmos3_edge", write_cosmos_vision},
      {"lfm2_vl lfm2-vl", write_lfm2_vision},
      {"idefics2", write_idefics2_vision},
      {"blip", write_blip_own_vision},
      {"phi4_multimodal", write_phi4_vision},
      {"git", write_git_vision},
      {"idefics", write_idefics_vision},
      {"kosmos-2", write_kosmos_vision},
      {"pix2struct kosmos-2.5", write_pix2struct_vision},
      {"minicpmv4_6 minicpmv4_7 minicpm_ocr", write_minicpmv4_vision},
      {"video_llama_3", write_video_llama_vision},
      {"step3p7", write_step_vision},
      {"unlimited_ocr", write_unlimited_ocr},
      {"blip-2 instructblip instructblipvideo", write_blip_vision},
      {"deepseek_vl", write_deepseek_vl_vision, is_clip_or_siglip},
      {"deepseek_vl_hybrid", write_deepseek_vl_hybrid, is_clip_or_siglip},
      {"nemotron_h_omni", write_radio_vision, [](std::string_view own) { return own == "radio"; }},
      {"gemma3 shieldgemma2", write_gemma3_vision},
      {"paligemma", write_paligemma_vision},
      {"llava llava_next llava_next_video llava_onevision vipllava video_llava", write_llava_vision, is_clip_or_siglip},
      {"idefics3 smolvlm idefics3_vision smolvlm_vision", write_idefics3_vision},
      {"cohere2_vision aya_vision", write_cohere_vision, is_siglip},
  };
  return kRows;
}

}  // namespace kvplan
