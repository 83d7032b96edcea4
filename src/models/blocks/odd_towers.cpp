// Towers with a shape of their own: SigLIP's and CLIP's plain ViT, Idefics2's perceiver, and the towers of models whose
// config names none (Phi-3-V, Molmo).
// Source: transformers' modelling code of each, where no other is named.
#include <algorithm>
#include <vector>

#include "models/blocks/tower.h"
#include "models/class_defaults.h"

namespace kvplan {

namespace {
// What pools SigLIP's patches into one vector.
void write_siglip_head(const Tower& t, std::uint64_t h, std::uint64_t inner) {
  t.plain("vision_tower.head.probe", h);
  t.linear("vision_tower.head.attention", times_in_tower(4, h), h, true);
  t.plain("vision_tower.head.layernorm", times_in_tower(2, h));
  t.linear("vision_tower.head.fc1", inner, h, true);
  t.linear("vision_tower.head.fc2", h, inner, true);
}
}  // namespace

// SigLIP, and CLIP with its class token: a plain ViT.
void write_vit(const Tower& t, const Fields& v, bool is_clip, bool has_head) {
  const std::uint64_t h = count_of(v, {"hidden_size"}, is_clip ? 1024 : 1152);
  const std::uint64_t patch = count_of(v, {"patch_size"}, 14);
  const std::uint64_t inner = count_of(v, {"intermediate_size"}, is_clip ? 4096 : 4304);
  t.linear("vision_tower.patch_embedding", h, times_in_tower(3, square(patch)), !is_clip);
  t.plain("vision_tower.position_embedding",
          times_in_tower(patches_of(count_of(v, {"image_size"}, is_clip ? 336 : 224), patch) + (is_clip ? 1 : 0), h));
  if (is_clip) t.plain("vision_tower.class_embedding", h);
  t.blocks("vision_tower.layers.", {h, inner, count_of(v, {"num_hidden_layers"}, is_clip ? 24 : 27)});
  t.plain("vision_tower.post_layernorm", times_in_tower(is_clip ? 4 : 2, h));
  if (has_head) write_siglip_head(t, h, inner);
}

namespace {

// Idefics2: 64 latents look at the image's tokens in three layers, between two widths of the text's own.
void write_perceiver(Inventory& inventory, const Fields& root, std::uint64_t from) {
  const Tower p{inventory, Component::kProjector};
  const std::uint64_t h = inventory.hidden;
  const Fields own = root.child("perceiver_config").value_or(Fields::empty());
  const std::uint64_t d = own.count_or("resampler_head_dim", 96);
  const std::uint64_t queries = times_in_tower(own.count_or("resampler_n_heads", 16), d);
  const std::uint64_t keys = times_in_tower(own.count_or("num_key_value_heads", 4), d);
  const std::uint64_t depth = own.count_or("resampler_depth", 3);
  const std::uint64_t inner = inventory.text.count_or("intermediate_size", 14336);
  p.linear("connector.modality_projection.gate_up_proj", times_in_tower(2, inner), from, false);
  p.linear("connector.modality_projection.down_proj", h, inner, false);
  p.plain("connector.perceiver_resampler.latents", times_in_tower(own.count_or("resampler_n_latents", 64), h));
  p.plain("connector.perceiver_resampler.norms",
          times_in_tower(checked_add(times_in_tower(3, depth), 1, "the norms"), h));
  p.linear("connector.perceiver_resampler.q_proj", queries, h, false, depth);
  p.linear("connector.perceiver_resampler.kv_proj", times_in_tower(2, keys), h, false, depth);
  p.linear("connector.perceiver_resampler.o_proj", h, queries, false, depth);
  p.linear("connector.perceiver_resampler.mlp", times_in_tower(12, h), h, false, depth);
}

// CLIP ViT-L/14, at 336 pixels where nothing else is said; `layers` of its 24 are stored.
void write_clip_large(const Tower& t, std::uint64_t layers, bool has_post_norm, std::uint64_t positions = 577) {
  const std::uint64_t h = 1024;
  t.linear("vision_tower.patch_embedding", h, 588, false);
  t.plain("vision_tower.class_embedding", h);
  t.plain("vision_tower.position_embedding", positions * h);
  t.plain("vision_tower.layernorms", (has_post_norm ? 4 : 2) * h);
  t.blocks("vision_tower.layers.", {h, 4 * h, layers});
}

}  // namespace

namespace {

// dots.ocr: RMS norms, a gated MLP, no biases in the blocks; four tokens merge into one.
void write_dots_vision(const Tower& t, const Tower& p, const Fields& v, std::uint64_t out_width) {
  const std::uint64_t h = count_of(v, {"embed_dim"}, 1536);
  const std::uint64_t wide = times_in_tower(square(count_of(v, {"spatial_merge_size"}, 2)), h);
  const bool bias = v.flag("use_bias", false);
  t.linear("vision_tower.patch_embed", h,
           times_in_tower(times_in_tower(3, count_of(v, {"temporal_patch_size"}, 1)),
                          square(count_of(v, {"patch_size"}, 14))),
           true);
  t.plain("vision_tower.norms", times_in_tower(v.flag("post_norm", true) ? 2 : 1, h));
  Blocks blocks{h, count_of(v, {"intermediate_size"}, 4224), count_of(v, {"num_hidden_layers"}, 42)};
  blocks.qkv_bias = bias ? 3 : 0;
  blocks.out_bias = blocks.mlp_bias = bias;
  blocks.gated = true;
  blocks.layer_norm = false;
  t.blocks("vision_tower.blocks.", blocks);
  p.plain("vision_tower.merger.ln_q", times_in_tower(2, h));
  p.linear("vision_tower.merger.mlp.0", wide, wide, true);
  p.linear("vision_tower.merger.mlp.2", out_width, wide, true);
}

// LFM2-VL: SigLIP2 with as many positions as it was trained with, and a projector over merged patches.
void write_lfm2_vision(const Tower& t, const Tower& p, const Fields& root, const Fields& v, std::uint64_t out_width) {
  const std::uint64_t h = count_of(v, {"hidden_size"}, 768);
  const std::uint64_t wide = times_in_tower(square(root.count_or("downsample_factor", 2)), h);
  const std::uint64_t inner = root.count_or("projector_hidden_size", 2560);
  const bool bias = root.flag("projector_bias", true);
  t.linear("vision_tower.patch_embedding", h, times_in_tower(3, square(count_of(v, {"patch_size"}, 16))), true);
  t.plain("vision_tower.position_embedding", times_in_tower(count_of(v, {"num_patches"}, 256), h));
  t.blocks("vision_tower.layers.",
           {h, count_of(v, {"intermediate_size"}, 3072), count_of(v, {"num_hidden_layers"}, 12)});
  t.plain("vision_tower.post_layernorm", times_in_tower(2, h));
  // The released checkpoints switch off the head that the class has.
  if (v.bare().flag("vision_use_head", false)) write_siglip_head(t, h, count_of(v, {"intermediate_size"}, 3072));
  if (root.flag("projector_use_layernorm", true)) p.plain("multi_modal_projector.layer_norm", times_in_tower(2, wide));
  p.linear("multi_modal_projector.linear_1", inner, wide, bias);
  p.linear("multi_modal_projector.linear_2", out_width, inner, bias);
}

// SAM's ViT, of size B where the config says nothing: windows with tables of relative positions for rows and columns,
// and as long ones in the global layers.
void write_sam(const Tower& t, const Fields& v) {
  const std::uint64_t h = count_of(v, {"hidden_size", "width"}, 768);
  const std::uint64_t layers = count_of(v, {"num_hidden_layers", "layers"}, 12);
  const std::uint64_t heads = std::max<std::uint64_t>(1, count_of(v, {"num_attention_heads", "heads"}, 12));
  const std::uint64_t patch = count_of(v, {"patch_size"}, 16);
  const std::uint64_t side = patch > 0 ? count_of(v, {"image_size"}, 1024) / patch : 0;
  const std::uint64_t window = count_of(v, {"window_size"}, 14);
  const std::uint64_t global = std::min<std::uint64_t>(layers, v.list_size("global_attn_indexes").value_or(4));
  const std::uint64_t out = count_of(v, {"output_channels"}, 256);
  t.linear("vision_tower.patch_embed", h, times_in_tower(3, square(patch)), true);
  t.plain("vision_tower.pos_embed", times_in_tower(square(side), h));
  t.blocks("vision_tower.layers.", {h, count_of(v, {"mlp_dim"}, times_in_tower(4, h)), layers});
  const auto relative = [&](std::uint64_t size) {
    return times_in_tower(times_in_tower(4, size) - (size > 0 ? 2 : 0), h / heads);
  };
  t.plain("vision_tower.layers.rel_pos", relative(window), layers - global);
  t.plain("vision_tower.layers.rel_pos_global", relative(side), global);
  t.linear("vision_tower.neck.conv1", out, h, false);
  t.linear("vision_tower.neck.conv2", out, times_in_tower(9, out), false);
  t.plain("vision_tower.neck.norms", times_in_tower(4, out));
}

// What GOT-OCR and DeepSeek-OCR make of SAM's map: two convolutions that halve each side, up to 1024 channels.
void write_sam_nets(const Tower& p) {
  p.linear("vision_tower.net_2", 512, 9 * 256ULL, false);
  p.linear("vision_tower.net_3", 1024, 9 * 512ULL, false);
}

// DeepSeek-OCR: SAM's map runs on through CLIP-L, and both side by side are projected.
// Source: vLLM models/deepseek_ocr.py and deepencoder.py.
void write_deepseek_ocr(const Tower& t, const Tower& p, const Fields& sam, std::uint64_t out_width) {
  write_sam(t, sam);
  write_sam_nets(t);
  write_clip_large(t, 24, false, 257);
  p.linear("projector", out_width, 2048, true);
  p.plain("image_newline, view_seperator", times_in_tower(2, out_width));
}

void write_got_ocr(const Tower& t, const Tower& p, const Fields& v, std::uint64_t out_width) {
  write_sam(t, v);
  write_sam_nets(p);
  p.linear("multi_modal_projector", out_width, 1024, true);
}

// MiniCPM-V: SigLIP at 980 pixels, and queries that look at its patches once. Source: vLLM models/minicpmv.py.
void write_minicpmv_vision(const Tower& t, const Tower& p, const Fields& root, const Fields& v, std::uint64_t out) {
  const std::uint64_t from = count_of(v, {"hidden_size"}, 1152);
  write_vit(t, v, false, false);
  p.plain("resampler.query", times_in_tower(root.count_or("query_num", 64), out));
  if (from != out) p.linear("resampler.kv_proj", out, from, false);
  p.linear("resampler.attn.in_proj", times_in_tower(3, out), out, true);
  p.linear("resampler.attn.out_proj", out, out, true);
  p.plain("resampler.norms", times_in_tower(6, out));
  p.linear("resampler.proj", out, out, false);
}

// Aria: as many queries as the largest picture needs; projections before those of the attention itself.
void write_aria_vision(const Tower& t, const Tower& p, const Fields& root, const Fields& v, std::uint64_t out) {
  const std::uint64_t h = count_of(v, {"hidden_size"}, 1152);
  write_vit(t, v, false, false);
  std::uint64_t queries = 0;
  const auto counts = root.child("projector_patch_to_query_dict");
  for (const std::string& patches : counts ? counts->keys() : std::vector<std::string>{})
    queries = std::max(queries, counts->count_or(patches, 0));
  p.plain("multi_modal_projector.query", times_in_tower(queries > 0 ? queries : 256, h));
  p.linear("multi_modal_projector.cross_attn.qkv_proj", times_in_tower(3, h), h, false);
  p.linear("multi_modal_projector.cross_attn.in_proj", times_in_tower(3, h), h, true);
  p.linear("multi_modal_projector.cross_attn.out_proj", h, h, true, 2);
  p.plain("multi_modal_projector.norms", times_in_tower(6, h));
  p.linear("multi_modal_projector.feed_forward.linear_in", out, h, false);
  p.linear("multi_modal_projector.feed_forward.linear_out", out, out, false);
}

// PaddleOCR-VL: SigLIP and a merger of four patches.
void write_paddleocr_vision(const Tower& t, const Tower& p, const Fields& v, std::uint64_t out) {
  const std::uint64_t h = count_of(v, {"hidden_size"}, 1152);
  const std::uint64_t wide = times_in_tower(square(count_of(v, {"spatial_merge_size"}, 2)), h);
  write_vit(t, v, false, false);
  p.plain("projector.pre_norm", times_in_tower(2, h));
  p.linear("projector.linear_1", wide, wide, true);
  p.linear("projector.linear_2", out, wide, true);
}

// GLM-OCR: GLM-4V's merger behind blocks with biases, norms of queries and keys, and no table of positions.
void write_glm_ocr_vision(const Tower& t, const Tower& p, const Fields& v, std::uint64_t out_width) {
  const std::uint64_t h = count_of(v, {"hidden_size"}, 1024);
  const std::uint64_t heads = std::max<std::uint64_t>(1, count_of(v, {"num_heads"}, 16));
  const std::uint64_t out = count_of(v, {"out_hidden_size"}, out_width);
  const std::uint64_t channels = count_of(v, {"in_channels"}, 3);
  const bool bias = v.flag("attention_bias", true);
  t.linear("visual.patch_embed", h,
           times_in_tower(times_in_tower(channels, count_of(v, {"temporal_patch_size"}, 2)),
                          square(count_of(v, {"patch_size"}, 14))),
           true);
  Blocks blocks{h, count_of(v, {"intermediate_size"}, 4096), count_of(v, {"depth"}, 24)};
  blocks.gated = true;
  blocks.layer_norm = false;
  blocks.qkv_bias = bias ? 3 : 0;
  blocks.out_bias = blocks.mlp_bias = bias;
  blocks.extra = times_in_tower(2, h / heads);
  t.blocks("visual.blocks.", blocks);
  t.plain("visual.post_layernorm", h);
  const std::uint64_t context = times_in_tower(out, channels);
  p.linear("visual.downsample", out, times_in_tower(square(count_of(v, {"spatial_merge_size"}, 2)), h), true);
  p.linear("visual.merger.proj", out, out, false);
  p.plain("visual.merger.norm", times_in_tower(2, out));
  p.linear("visual.merger.gate_up_proj", times_in_tower(2, context), out, false);
  p.linear("visual.merger.down_proj", out, context, false);
}

// Cosmos 3 Edge: SigLIP2 with as many positions as it was trained with, and a merger of its own width.
void write_cosmos_vision(const Tower& t, const Tower& p, const Fields& root, const Fields& v, std::uint64_t out) {
  const std::uint64_t h = count_of(v, {"hidden_size"}, 1152);
  const std::uint64_t inner = root.count_or("projector_hidden_size", 11520);
  t.linear("visual.patch_embedding", h, times_in_tower(3, square(count_of(v, {"patch_size"}, 16))), true);
  t.plain("visual.position_embedding", times_in_tower(count_of(v, {"num_patches"}, 256), h));
  t.blocks("visual.layers.", {h, count_of(v, {"intermediate_size"}, 4304), count_of(v, {"num_hidden_layers"}, 27)});
  t.plain("visual.post_layernorm", times_in_tower(2, h));
  p.plain("projector.norm", times_in_tower(2, h));
  p.linear("projector.linear_fc1", inner, times_in_tower(square(count_of(v, {"spatial_merge_size"}, 2)), h), true);
  p.linear("projector.linear_fc2", out, inner, true);
}

void write_muse_vision(const Tower& t, const Tower& p, const Fields& root, const Fields& v, std::uint64_t out) {
  const std::uint64_t h = count_of(v, {"hidden_size"}, 1536);
  const std::uint64_t inner = root.count_or("projector_hidden_size", 4096);
  t.linear("vision_tower.patch_embed", h,
           times_in_tower(3 * count_of(v, {"patch_temporal"}, 2), square(count_of(v, {"patch_size"}, 14))), false);
  t.plain("vision_tower.position_embedding",
          times_in_tower(times_in_tower(count_of(v, {"pos_emb_height"}, 32), count_of(v, {"pos_emb_width"}, 32)), h));
  t.plain("vision_tower.layernorms", times_in_tower(4, h));
  t.blocks("vision_tower.layers.",
           {h, count_of(v, {"intermediate_size"}, 8960), count_of(v, {"num_hidden_layers"}, 50)});
  p.linear("vision_adapter.fc1", inner, times_in_tower(square(count_of(v, {"merge_size"}, 2)), h), false);
  p.linear("vision_adapter.fc2", inner, inner, false);
  p.linear("vision_projection", out, inner, false);
}

}  // namespace

bool write_odd_vision(Inventory& inventory, const Fields& root, const Fields& v) {
  const std::string type = root.find_string("model_type").value_or("");
  const Tower t{inventory, Component::kVision};
  const Tower p{inventory, Component::kProjector};
  const std::uint64_t out = inventory.hidden;
  if (v.is_object("width") && v.child("width")->is_object("sam_vit_b"))
    return write_deepseek_ocr(t, p, *v.child("width")->child("sam_vit_b"), out), true;
  if (type == "got_ocr2") return write_got_ocr(t, p, v, out), true;
  if (type == "minicpmv" || type == "minicpmo") return write_minicpmv_vision(t, p, root, v, out), true;
  if (type == "aria") return write_aria_vision(t, p, root, v, out), true;
  if (type == "paddleocr_vl") return write_paddleocr_vision(t, p, v, out), true;
  if (type == "glm_ocr") return write_glm_ocr_vision(t, p, v, out), true;
  if (type == "cosmos3_edge") return write_cosmos_vision(t, p, root, v, out), true;
  if (type == "muse_glimmer") return write_muse_vision(t, p, root, v, out), true;
  if (type == "dots_ocr") return write_dots_vision(t, p, v, out), true;
  if (type == "lfm2_vl" || type == "lfm2-vl") return write_lfm2_vision(t, p, root, v, inventory.hidden), true;
  if (type != "idefics2") return false;
  const Fields vision = with_class(v, "idefics2_vision");
  write_vit({inventory, Component::kVision}, vision, false, false);
  write_perceiver(inventory, root, count_of(vision, {"hidden_size"}, 768));
  return true;
}

namespace {

// Phi-4-multimodal: two LoRAs over every linear layer of the decoder, which stay apart (one for each sense), and the
// encoders of image and sound with their projectors as large as the published checkpoint leaves for them.
void write_phi4_senses(Inventory& inventory) {
  const Tower other{inventory, Component::kOther};
  const Fields& text = inventory.text;
  const std::uint64_t h = inventory.hidden;
  const std::uint64_t layers = inventory.reader.model.layers.size();
  const std::uint64_t inner = text.count_or("intermediate_size", 8192);
  const std::uint64_t heads = text.count_or("num_attention_heads", 24);
  const std::uint64_t d = heads > 0 ? h / heads : 0;
  const std::uint64_t qkv =
      times_in_tower(checked_add(heads, 2 * text.count_or("num_key_value_heads", 8), "the heads"), d);
  for (const std::string_view key : {"vision_lora", "speech_lora"}) {
    const auto lora = text.child(key);
    const std::uint64_t rank = lora ? lora->count_or("r", 0) : 0;
    if (rank == 0) continue;
    const auto pair = [&](std::string_view module, std::uint64_t to, std::uint64_t from) {
      other.plain(std::string(key) + "." + std::string(module), times_in_tower(rank, checked_add(to, from, "a LoRA")),
                  layers);
    };
    pair("qkv_proj", qkv, h);
    pair("o_proj", h, times_in_tower(heads, d));
    pair("gate_up_proj", times_in_tower(2, inner), h);
    pair("down_proj", h, inner);
  }
  Tower{inventory, Component::kVision}.plain("embed_tokens_extend", 907'966'432);
}

}  // namespace

void write_unnamed_towers(Inventory& inventory, const std::string& root_type) {
  const Tower t{inventory, Component::kVision};
  const Tower p{inventory, Component::kProjector};
  const std::uint64_t h = inventory.hidden;
  if (root_type == "phi3_v") {
    // Four tokens of the tower side by side, and two separators as wide.
    write_clip_large(t, 24, true);
    p.linear("img_projection.0", h, 4096, true);
    p.linear("img_projection.2", h, h, true);
    p.plain("separators", 2 * 4096);
  }
  if (root_type == "phi4mm" && inventory.reader.root.child("embd_layer")) write_phi4_senses(inventory);
  if (root_type == "molmo") {
    // The last block of the tower is left out; two of its layers together are pooled by attention, and projected by a
    // gated MLP as wide as the decoder's.
    const std::uint64_t inner = inventory.text.count_or("intermediate_size", 0) / 2;
    write_clip_large(t, 23, false);
    p.linear("image_pooling_2d.wqkv", 3 * 1024, 2048, true);
    p.linear("image_pooling_2d.wo", 1024, 1024, true);
    p.linear("image_projector.w13", times_in_tower(2, inner), 1024, false);
    p.linear("image_projector.w2", h, inner, false);
    p.plain("pad_embed", 2 * 2048);
    // Rows for the image's own tokens.
    p.plain("new_embedding", times_in_tower(inventory.text.count_or("additional_vocab_size", 128), h));
  }
  if (root_type == "fuyu" && inventory.text.class_name() != "fuyu") {
    const Fields& root = inventory.reader.root;
    const std::uint64_t patch = root.count_or("patch_size", 30);
    p.linear("vision_embed_tokens", h, times_in_tower(root.count_or("num_channels", 3), square(patch)), true);
  }
}

}  // namespace kvplan
