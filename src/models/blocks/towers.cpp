// Vision towers, audio encoders and their projectors, as far as a config determines them. A tower that no rule knows
// is an estimate with a range, never a silent zero.
#include <algorithm>
#include <optional>

#include "kvplan/error.h"
#include "kvplan/strings.h"
#include "models/blocks/inventory.h"
#include "models/blocks/tower.h"
#include "models/class_defaults.h"

namespace kvplan {

namespace {

// Qwen3-VL, Qwen3.5 and their kin: a merger, and one more for each deepstack level.
void write_qwen3_vision(const Tower& t, const Tower& p, const Fields& v, std::uint64_t out_width) {
  const std::uint64_t h = count_of(v, {"hidden_size"}, 1152);
  const std::uint64_t patch = count_of(v, {"patch_size"}, 16);
  const std::uint64_t merge = square(count_of(v, {"spatial_merge_size"}, 2));
  const std::uint64_t out = count_of(v, {"out_hidden_size"}, out_width);
  t.linear("visual.patch_embed", h, times_in_tower(3 * count_of(v, {"temporal_patch_size"}, 2), square(patch)), true);
  t.plain("visual.pos_embed", times_in_tower(count_of(v, {"num_position_embeddings"}, 2304), h));
  t.blocks("visual.blocks.",
           {h, count_of(v, {"intermediate_size"}, 4304), count_of(v, {"depth", "num_hidden_layers"}, 27)});
  // Qwen3-VL's class has three levels where the file names none; Qwen3.5 has none.
  const std::uint64_t usual = has_word("qwen3_vl_text qwen3_vl_moe_text", t.inventory.text.class_name()) ? 3 : 0;
  const std::uint64_t levels = v.list_size("deepstack_visual_indexes").value_or(usual);
  const std::uint64_t wide = times_in_tower(merge, h);
  p.plain("visual.merger.norm", times_in_tower(2, h));
  p.up("visual.merger.linear_fc1", wide, wide, 1 + levels);
  p.down("visual.merger.linear_fc2", out, wide, 1 + levels);
  if (levels > 0) p.plain("visual.deepstack_merger_list.norm", times_in_tower(2, wide), levels);
}

void write_qwen2_vision(const Tower& t, const Tower& p, const Fields& v, std::uint64_t out_width) {
  const std::uint64_t e = count_of(v, {"embed_dim"}, 1280);
  const std::uint64_t merge = square(count_of(v, {"spatial_merge_size"}, 2));
  t.linear("visual.patch_embed", e,
           times_in_tower(3 * count_of(v, {"temporal_patch_size"}, 2), square(count_of(v, {"patch_size"}, 14))), false);
  t.blocks("visual.blocks.", {e, times_in_tower(count_of(v, {"mlp_ratio"}, 4), e), count_of(v, {"depth"}, 32)});
  p.plain("visual.merger.ln_q", times_in_tower(2, e));
  p.up("visual.merger.mlp.0", times_in_tower(merge, e), times_in_tower(merge, e));
  p.down("visual.merger.mlp.2", count_of(v, {"hidden_size"}, out_width), times_in_tower(merge, e));
}

void write_qwen2_5_vision(const Tower& t, const Tower& p, const Fields& v, std::uint64_t out_width) {
  const std::uint64_t h = count_of(v, {"hidden_size"}, 1280);
  const std::uint64_t merge = square(count_of(v, {"spatial_merge_size"}, 2));
  t.linear("visual.patch_embed", h,
           times_in_tower(3 * count_of(v, {"temporal_patch_size"}, 2), square(count_of(v, {"patch_size"}, 14))), false);
  Blocks blocks{h, count_of(v, {"intermediate_size"}, 3420), count_of(v, {"depth"}, 32)};
  blocks.gated = true;
  blocks.layer_norm = false;
  // EXAONE 4.5's towers share keys among heads.
  if (const std::uint64_t heads = count_of(v, {"num_heads"}, 16), kv = v.count_or("num_key_value_heads", heads);
      heads > 0 && kv < heads)
    blocks.keys = times_in_tower(h / heads, kv);
  t.blocks("visual.blocks.", blocks);
  p.plain("visual.merger.ln_q", h);
  p.up("visual.merger.mlp.0", times_in_tower(merge, h), times_in_tower(merge, h));
  p.down("visual.merger.mlp.2", count_of(v, {"out_hidden_size"}, out_width), times_in_tower(merge, h));
}

void write_pixtral(const Tower& t, const Fields& v) {
  const std::uint64_t h = count_of(v, {"hidden_size"}, 1024);
  t.linear("vision_tower.patch_conv", h, times_in_tower(3, square(count_of(v, {"patch_size"}, 16))), false);
  t.plain("vision_tower.ln_pre", h);
  Blocks blocks{h, count_of(v, {"intermediate_size"}, 4096), count_of(v, {"num_hidden_layers"}, 24)};
  blocks.qkv_bias = 0;
  blocks.out_bias = blocks.mlp_bias = blocks.layer_norm = false;
  blocks.gated = true;
  t.blocks("vision_tower.layers.", blocks);
}

void write_internvl(const Tower& t, const Tower& p, const Fields& v, std::uint64_t out_width, double ratio) {
  const std::uint64_t h = count_of(v, {"hidden_size"}, 1024);
  const auto sizes = v.counts("image_size");
  const auto patches = v.counts("patch_size");
  const std::uint64_t image = sizes && !sizes->empty() ? sizes->front() : count_of(v, {"image_size"}, 448);
  const std::uint64_t patch = patches && !patches->empty() ? patches->front() : count_of(v, {"patch_size"}, 14);
  t.linear("vision_tower.patch_embeddings", h, times_in_tower(3, square(patch)), true);
  t.plain("vision_tower.cls_token", h);
  t.plain("vision_tower.position_embeddings", times_in_tower(patches_of(image, patch) + 1, h));
  Blocks blocks{h, count_of(v, {"intermediate_size"}, 4096), count_of(v, {"num_hidden_layers"}, 24)};
  blocks.qkv_bias = v.flag("attention_bias", v.flag("qkv_bias", false)) ? 3 : 0;
  blocks.layer_norm = v.find_string("norm_type").value_or("layer_norm") == "layer_norm";
  blocks.extra =
      times_in_tower(2 + (v.flag("use_qk_norm", v.flag("qk_normalization", false)) ? 2 : 0), h);  // layer scales
  t.blocks("vision_tower.layers.", blocks);
  const std::uint64_t merged = ratio > 0 && ratio <= 1
                                   ? times_in_tower(h, static_cast<std::uint64_t>(1 / (ratio * ratio) + 0.5))
                                   : times_in_tower(4, h);
  p.plain("multi_modal_projector.layer_norm", times_in_tower(2, merged));
  p.linear("multi_modal_projector.linear_1", out_width, merged, true);
  p.linear("multi_modal_projector.linear_2", out_width, out_width, true);
}

void write_gemma4_vision(const Tower& t, const Tower& p, const Fields& v, std::uint64_t out_width) {
  const std::uint64_t h = count_of(v, {"hidden_size"}, 768);
  const std::uint64_t d = count_of(v, {"head_dim"}, 64);
  t.linear("vision_tower.patch_embedder.input_proj", h, times_in_tower(3, square(count_of(v, {"patch_size"}, 16))),
           false);
  t.plain("vision_tower.patch_embedder.position_embedding_table",
          times_in_tower(2 * count_of(v, {"position_embedding_size"}, 10240), h));
  Blocks blocks{h, count_of(v, {"intermediate_size"}, 3072), count_of(v, {"num_hidden_layers"}, 16)};
  blocks.qkv_bias = 0;
  blocks.out_bias = blocks.mlp_bias = blocks.layer_norm = false;
  blocks.gated = true;
  blocks.norms = 4;
  blocks.extra = times_in_tower(2, d);
  t.blocks("vision_tower.layers.", blocks);
  p.linear("embed_vision.embedding_projection", out_width, h, false);
}

// MoonViT of Kimi-VL and Kimi-K2.5.
void write_moonvit(const Tower& t, const Tower& p, const Fields& v, std::uint64_t out_width) {
  const std::uint64_t h = count_of(v, {"hidden_size", "vt_hidden_size"}, 1152);
  t.linear("vision_tower.patch_embed", h, times_in_tower(3, square(count_of(v, {"patch_size"}, 14))), true);
  t.plain("vision_tower.pos_emb",
          times_in_tower(times_in_tower(count_of(v, {"pos_emb_height", "init_pos_emb_height"}, 64),
                                        count_of(v, {"pos_emb_width", "init_pos_emb_width"}, 64)),
                         h));
  t.blocks("vision_tower.blocks.", {h, count_of(v, {"intermediate_size", "vt_intermediate_size"}, 4304),
                                    count_of(v, {"num_hidden_layers", "vt_num_hidden_layers"}, 27)});
  t.plain("vision_tower.final_layernorm", times_in_tower(2, h));
  p.plain("mm_projector.pre_norm", times_in_tower(2, h));
  p.linear("mm_projector.linear_1", times_in_tower(4, h), times_in_tower(4, h), true);
  p.linear("mm_projector.linear_2", out_width, times_in_tower(4, h), true);
}

void write_llama4_vision(const Tower& t, const Tower& p, const Fields& v, std::uint64_t out_width) {
  const std::uint64_t h = count_of(v, {"hidden_size"}, 1408);
  const std::uint64_t inner = count_of(v, {"intermediate_size"}, 5632);
  const std::uint64_t patch = count_of(v, {"patch_size"}, 14);
  const std::uint64_t wide = count_of(v, {"projector_input_dim"}, 4096);
  const std::uint64_t out = count_of(v, {"projector_output_dim"}, 4096);
  t.linear("vision_model.patch_embedding", h, times_in_tower(3, square(patch)), false);
  t.plain("vision_model.class_embedding", h);
  t.plain("vision_model.positional_embedding",
          times_in_tower(patches_of(count_of(v, {"image_size"}, 336), patch) + 1, h));
  t.blocks("vision_model.layers.", {h, inner, count_of(v, {"num_hidden_layers"}, 34)});
  t.plain("vision_model.layernorm", times_in_tower(4, h));
  t.linear("vision_model.vision_adapter.fc1", wide, inner, false);
  t.linear("vision_model.vision_adapter.fc2", out, wide, false);
  p.linear("multi_modal_projector.linear_1", out_width, count_of(v, {"vision_output_dim"}, out), false);
}

void write_glm4v(const Tower& t, const Tower& p, const Fields& v, std::uint64_t out_width) {
  const std::uint64_t h = count_of(v, {"hidden_size"}, 1536);
  const std::uint64_t out = count_of(v, {"out_hidden_size"}, out_width);
  const std::uint64_t patch = count_of(v, {"patch_size"}, 14);
  const std::uint64_t merge = square(count_of(v, {"spatial_merge_size"}, 2));
  const std::uint64_t context = count_of(v, {"intermediate_size"}, 13696);
  t.linear("visual.patch_embed", h, times_in_tower(3 * count_of(v, {"temporal_patch_size"}, 2), square(patch)), true);
  t.plain("visual.embeddings", times_in_tower(patches_of(count_of(v, {"image_size"}, 336), patch), h));
  t.plain("visual.layernorms", times_in_tower(2, h));
  Blocks blocks{h, out, count_of(v, {"depth"}, 24)};
  blocks.gated = true;
  blocks.qkv_bias = v.flag("attention_bias", false) ? 3 : 0;
  blocks.out_bias = v.flag("attention_bias", false);
  blocks.mlp_bias = blocks.layer_norm = false;
  t.blocks("visual.blocks.", blocks);
  p.linear("visual.downsample", out, times_in_tower(merge, h), true);
  p.linear("visual.merger.proj", out, out, false);
  p.plain("visual.merger.norm", times_in_tower(2, out));
  p.linear("visual.merger.gate_up_proj", times_in_tower(2, context), out, false);
  p.linear("visual.merger.down_proj", out, context, false);
}

void write_minimax_vision(const Tower& t, const Tower& p, const Fields& v, std::uint64_t out_width) {
  const std::uint64_t h = count_of(v, {"hidden_size"}, 1280);
  t.linear("vision_tower.patch_embed", h,
           times_in_tower(3 * count_of(v, {"temporal_patch_size"}, 2), square(count_of(v, {"patch_size"}, 14))), false);
  t.plain("vision_tower.pre_layernorm", times_in_tower(2, h));
  t.blocks("vision_tower.blocks.",
           {h, count_of(v, {"intermediate_size"}, 5120), count_of(v, {"num_hidden_layers"}, 32)});
  p.linear("multi_modal_projector.linear_1", out_width, h, true);
  p.linear("multi_modal_projector.linear_2", out_width, out_width, true);
  p.linear("patch_merge.linear_1", out_width, times_in_tower(square(count_of(v, {"spatial_merge_size"}, 2)), out_width),
           true);
  p.linear("patch_merge.linear_2", out_width, out_width, true);
}

void write_mllama_vision(const Tower& t, const Tower& p, const Fields& v, std::uint64_t out_width) {
  const std::uint64_t h = count_of(v, {"hidden_size"}, 1280);
  const std::uint64_t inner = count_of(v, {"intermediate_size"}, 5120);
  const std::uint64_t patch = count_of(v, {"patch_size"}, 14);
  const std::uint64_t tiles = count_of(v, {"max_num_tiles"}, 4);
  const auto ratios = v.list_size("supported_aspect_ratios").value_or(8);
  const std::uint64_t positions = patches_of(count_of(v, {"image_size"}, 448), patch) + 1;
  t.linear("vision_model.patch_embedding", h, times_in_tower(3, square(patch)), false);
  t.plain("vision_model.class_embedding", h);
  t.plain("vision_model.gated_positional_embedding", times_in_tower(positions, h) + 1);
  t.plain("vision_model.tile_embedding",
          times_in_tower(times_in_tower(ratios + 1, tiles), times_in_tower(positions, h)));
  t.plain("vision_model.tile_positional_embedding", times_in_tower(times_in_tower(ratios + 1, tiles), h) + 1, 2);
  t.plain("vision_model.layernorms", times_in_tower(4, h));
  Blocks blocks{h, inner, count_of(v, {"num_hidden_layers"}, 32)};
  blocks.qkv_bias = 0;
  blocks.out_bias = false;
  t.blocks("vision_model.transformer.", blocks);
  blocks.layers = count_of(v, {"num_global_layers"}, 8);
  blocks.extra = 2;
  t.blocks("vision_model.global_transformer.", blocks);
  p.linear("multi_modal_projector", out_width, count_of(v, {"vision_output_dim"}, 7680), true);
}

// Whisper's encoder, as Qwen2-Audio, Qwen2.5-Omni (whose positions are no tensor) and Voxtral have it.
void write_whisper_encoder(const Tower& t, const Fields& a, bool has_positions = true) {
  const std::uint64_t h = count_of(a, {"d_model", "hidden_size"}, 1280);
  t.linear("audio_tower.conv1", h, times_in_tower(3, count_of(a, {"num_mel_bins"}, 128)), true);
  t.linear("audio_tower.conv2", h, times_in_tower(3, h), true);
  if (has_positions)
    t.plain("audio_tower.embed_positions", times_in_tower(count_of(a, {"max_source_positions"}, 1500), h));
  Blocks blocks{h, count_of(a, {"encoder_ffn_dim", "intermediate_size"}, 5120),
                count_of(a, {"encoder_layers", "num_hidden_layers"}, 32)};
  blocks.qkv_bias = 2;
  t.blocks("audio_tower.layers.", blocks);
  t.plain("audio_tower.layer_norm", times_in_tower(2, h));
}

// Voxtral Realtime: rotary positions, RMS norms, a gated MLP with a bias behind it alone.
void write_realtime_encoder(const Tower& t, const Fields& a) {
  const std::uint64_t h = count_of(a, {"hidden_size"}, 1280);
  t.linear("audio_tower.conv1", h, times_in_tower(3, count_of(a, {"num_mel_bins"}, 128)), true);
  t.linear("audio_tower.conv2", h, times_in_tower(3, h), true);
  Blocks blocks{h, count_of(a, {"intermediate_size"}, 5120), count_of(a, {"num_hidden_layers"}, 32)};
  blocks.attention = times_in_tower(count_of(a, {"num_attention_heads"}, 32), count_of(a, {"head_dim"}, 64));
  blocks.qkv_bias = 2;
  blocks.gated = true;
  blocks.layer_norm = blocks.mlp_bias = false;
  blocks.extra = h;
  t.blocks("audio_tower.layers.", blocks);
  t.plain("audio_tower.norm", h);
}

void two_linears(const Tower& p, std::uint64_t from, std::uint64_t to, bool bias) {
  p.linear("multi_modal_projector.linear_1", to, from, bias, 1, Split::kRows);
  p.linear("multi_modal_projector.linear_2", to, to, bias, 1, Split::kColumns);
}

// What nobody knows: a ViT of the size that the config gives, with a wide range; a billion where it gives none.
void guess_tower(Inventory& inventory, const Fields& side, Component component, const std::string& what) {
  const std::uint64_t h = count_of(side, {"hidden_size", "embed_dim", "d_model", "width", "hidden_dim"}, 0);
  const std::uint64_t layers =
      count_of(side, {"num_hidden_layers", "depth", "encoder_layers", "layers", "n_layers", "num_layers"}, 0);
  const std::uint64_t inner = count_of(side, {"intermediate_size", "encoder_ffn_dim", "mlp_dim"}, times_in_tower(4, h));
  UnknownTensors unknown;
  unknown.component = component;
  unknown.what = what;
  if (h > 0 && layers > 0 && layers < 10000) {
    const std::uint64_t estimate =
        times_in_tower(layers, checked_add(times_in_tower(4, square(h)), times_in_tower(2, times_in_tower(h, inner)),
                                           "a vision tower")) +
        times_in_tower(inventory.hidden, times_in_tower(4, h));
    unknown.low = Elements(estimate / 5 * 4);
    unknown.estimate = Elements(estimate);
    unknown.high = Elements(estimate) * 2;
  } else {
    unknown.low = Elements(50'000'000);
    unknown.estimate = Elements(500'000'000);
    unknown.high = Elements(2'000'000'000);
  }
  inventory.reader.model.unknown_tensors.push_back(unknown);
}

// Gemma 3n's towers come in one size (MobileNet-V5 of 300 million, and a conformer of twelve blocks): what both
// published checkpoints hold beside their decoder.
constexpr std::uint64_t kGemma3nVision = 298'744'640;
constexpr std::uint64_t kGemma3nAudio = 684'536'864;

bool write_vision(Inventory& inventory, const Fields& root, const Fields& v, const std::string& root_type,
                  const std::string& own) {
  const Tower t{inventory, Component::kVision};
  const Tower p{inventory, Component::kProjector};
  const std::uint64_t out = inventory.hidden;
  // Asked for where a rule takes it: Florence's tower lists a width for each stage.
  const auto h = [&] { return count_of(v, {"hidden_size"}, 1152); };
  const auto is = [&](std::string_view words) { return has_word(words, root_type) || has_word(words, own); };
  if (is("qwen3_vl qwen3_vl_moe qwen3_5 qwen3_5_moe qwen4_exp qwen3_8_flash_next cosmos3_omni cohere_compass_vision "
         "qwen3_vl_vision"))
    return write_qwen3_vision(t, p, v, out), true;
  if (is("qwen2_5_vl qwen2_5_vl_vision exaone4_5 exaone4_5_vision qwen2_5_omni_vision_encoder")) {
    write_qwen2_5_vision(t, p, v, out);
    if (root_type == "hyperclovax_vision_v2") p.linear("projector", out, count_of(v, {"out_hidden_size"}, out), true);
    return true;
  }
  if (is("qwen2_vl qwen2_vl_vision")) return write_qwen2_vision(t, p, v, out), true;
  if (is("gemma4 gemma4_vision")) {
    const Tower whole{inventory, Component::kVision, false};
    return write_gemma4_vision(whole, p, v, out), true;
  }
  if (is("kimi_k25 kimi_vl moonvit kimi_k25_vision")) return write_moonvit(t, p, v, out), true;
  if (is("llama4 llama4_vision_model")) return write_llama4_vision(t, p, v, out), true;
  if (is("glm4v glm4v_moe glm46v glm4v_vision glm4v_moe_vision")) return write_glm4v(t, p, v, out), true;
  if (is("minimax_m3_vl")) return write_minimax_vision(t, p, v, out), true;
  if (is("gemma3n")) return t.plain("vision_tower", kGemma3nVision), true;
  if (write_odd_vision(inventory, root, v)) return true;
  if (is("mllama")) return write_mllama_vision(t, p, v, out), true;
  if (is("internvl intern_vit_6b interns1 interns1_vision qianfan_ocr qianfan_ocr_vision"))
    return write_internvl(t, p, v, out, root.find_real("downsample_ratio").value_or(0.5)), true;
  const bool is_clip = own == "clip_vision_model";
  const bool is_siglip = own.starts_with("siglip") && own != "siglip2_vision_model";
  if (own == "pixtral") {
    write_pixtral(t, v);
    if (root_type == "mistral3" || root_type == "mistral_large4" || root_type == "lighton_ocr") {
      p.plain("multi_modal_projector.norm", h());
      p.linear("multi_modal_projector.patch_merger", h(),
               times_in_tower(square(root.count_or("spatial_merge_size", 2)), h()), false);
      two_linears(p, h(), out, root.flag("multimodal_projector_bias", false));
    } else {
      two_linears(p, h(), out, root.flag("multimodal_projector_bias", true));
    }
    return true;
  }
  if (is("gemma3 shieldgemma2")) {
    write_vit(t, v, false, v.flag("vision_use_head", false));
    p.plain("multi_modal_projector.mm_input_projection_weight", times_in_tower(h(), out));
    p.plain("multi_modal_projector.mm_soft_emb_norm", h());
    return true;
  }
  if (is("paligemma")) {
    write_vit(t, v, false, v.flag("vision_use_head", false));
    p.linear("multi_modal_projector.linear", out, h(), true);
    return true;
  }
  if (is("llava llava_next llava_next_video llava_onevision vipllava video_llava") && (is_clip || is_siglip)) {
    write_vit(t, v, is_clip, is_siglip && v.flag("vision_use_head", root_type != "llava_onevision"));
    if (root_type == "vipllava") {
      p.plain("multi_modal_projector.norm", times_in_tower(2, times_in_tower(5, h())));
      p.linear("multi_modal_projector.linear_1", out, times_in_tower(5, h()), true);
      p.linear("multi_modal_projector.linear_2", out, out, true);
      return true;
    }
    if (root_type == "video_llava") return false;
    two_linears(p, h(), out, root.flag("multimodal_projector_bias", true));
    if (root_type != "llava") p.plain("image_newline", out);
    return true;
  }
  if (is("idefics3 smolvlm idefics3_vision smolvlm_vision")) {
    write_vit(t, v, false, false);
    p.linear("connector.modality_projection", out, times_in_tower(square(root.count_or("scale_factor", 2)), h()),
             false);
    return true;
  }
  if (is("cohere2_vision aya_vision") && is_siglip) {
    write_vit(t, v, false, v.flag("vision_use_head", false));
    const std::uint64_t wide = times_in_tower(square(root.count_or("downsample_factor", 2)), h());
    const std::uint64_t inner = root.count_or("alignment_intermediate_size", 36864);
    if (root_type == "aya_vision") p.plain("multi_modal_projector.layernorm", times_in_tower(2, wide));
    p.linear("multi_modal_projector.linear_1", inner, wide, true);
    p.linear("multi_modal_projector.linear_2", out, inner / 2, true);
    return true;
  }
  return false;
}

bool write_audio(Inventory& inventory, const Fields& a, const std::string& root_type) {
  const Tower t{inventory, Component::kAudio, false};
  const Tower p{inventory, Component::kProjector};
  const std::uint64_t h = count_of(a, {"d_model", "hidden_size"}, 1280);
  if (root_type == "qwen2_audio") {
    write_whisper_encoder(t, a);
    p.linear("multi_modal_projector.linear", inventory.hidden, h, true);
    return true;
  }
  if (root_type == "gemma3n") return t.plain("audio_tower", kGemma3nAudio), true;
  if (a.class_name() == "qwen2_5_omni_audio_encoder") {
    const std::uint64_t out = count_of(a, {"output_dim"}, 3584);
    write_whisper_encoder(t, a, false);
    t.plain("audio_tower.audio_bos_eos_token", times_in_tower(2, out));
    p.linear("audio_tower.proj", out, h, true);
    return true;
  }
  if (root_type == "voxtral_realtime") {
    write_realtime_encoder(t, a);
    p.linear("multi_modal_projector.linear_1", inventory.hidden,
             times_in_tower(h, inventory.reader.root.count_or("downsample_factor", 4)), false);
    p.linear("multi_modal_projector.linear_2", inventory.hidden, inventory.hidden, false);
    return true;
  }
  if (root_type == "voxtral") {
    write_whisper_encoder(t, a);
    p.linear("multi_modal_projector.linear_1", inventory.hidden, count_of(a, {"intermediate_size"}, 5120), false);
    p.linear("multi_modal_projector.linear_2", inventory.hidden, inventory.hidden, false);
    return true;
  }
  return false;
}

// A part that no rule read and that has a width of its own is a guess where it counts its layers, and a note elsewhere:
// nothing is passed over in silence.
void guess_unread_parts(Inventory& inventory, const Fields& root) {
  for (const std::string& key : root.unread()) {
    const bool is_text = inventory.text.path().starts_with(root.path() + key + ".");
    if (is_text || !key.ends_with("_config") || key.starts_with("quantization") || !root.is_object(key)) continue;
    const Fields side = root.child(key)->quietly();
    const auto says = [&](std::initializer_list<std::string_view> keys) {
      return std::any_of(keys.begin(), keys.end(), [&](std::string_view k) { return side.is_number(k); });
    };
    if (!says({"hidden_size", "embed_dim", "d_model", "width", "hidden_dim"})) continue;
    const bool counts_layers =
        says({"num_hidden_layers", "depth", "encoder_layers", "layers", "n_layers", "num_layers"}) ||
        side.is_list("depths");
    if (counts_layers)
      guess_tower(inventory, side, Component::kVision, "what " + one_line(key, 60) + " configures");
    else
      inventory.reader.inform("uncounted_part", "what " + one_line(key, 60) + " configures is not counted");
  }
}

// What stands beside a thinker speaks, and is not loaded where the thinker is served.
void note_speakers(Inventory& inventory, const Fields& root) {
  for (const std::string_view key : {"talker_config", "token2wav_config", "code2wav_config"})
    if (root.is_object(key))
      inventory.reader.inform("uncounted_part", "what " + std::string(key) + " configures is not counted");
}

// Composites whose class brings a tower where the file names none.
void note_absent_towers(Inventory& inventory, const Fields& root, const std::string& root_type, bool seen_vision,
                        bool seen_audio) {
  constexpr std::string_view kLooking =
      "gemma3 shieldgemma2 paligemma llava llava_next llava_next_video llava_onevision vipllava video_llava mistral3 "
      "idefics2 idefics3 aya_vision cohere2_vision";
  if (inventory.text.path() == root.path() || inventory.reader.model.architecture.ends_with("ForCausalLM")) return;
  const bool looks =
      has_word(kLooking, root_type) || has_class(root_type + "_vision") || has_class(root_type + "_vision_model");
  const auto absent = [&](const char* key, const char* what) {
    inventory.reader.inform("absent_tower", "the config names no " + std::string(key) + ": no " + what +
                                                " is counted, though the class of " + one_line(root_type, 60) +
                                                " has one");
  };
  if (looks && !seen_vision) absent("vision_config", "vision tower");
  if (has_class(root_type + "_encoder") && !seen_audio) absent("audio_config", "audio encoder");
}

}  // namespace

void write_towers(Inventory& inventory) {
  Fields root = inventory.reader.root;
  const std::string root_type = root.find_string("model_type").value_or("");
  if (const auto thinker = root.child("thinker_config")) {
    note_speakers(inventory, root);
    root = *thinker;
  }
  inventory.out.outside(Place::kFirst);
  const auto bare = root.bare();
  bool seen_vision = false;
  write_unnamed_towers(inventory, root_type);
  for (const std::string_view key :
       {"vision_config", "visual", "vision_tower_config", "vit_config", "vision_encoder", "visual_tokenizer_config"}) {
    auto side = bare.child(key);
    if (!side || seen_vision) continue;
    if (const auto backbone = side->child("backbone_config")) side = backbone;  // Ovis
    seen_vision = true;
    root.touch(key);
    const std::string own = side->find_string("model_type").value_or("");
    const Fields v = with_class(*side, own.empty() ? root_type + "_vision" : own);
    if (!write_vision(inventory, bare, v, root_type, own))
      guess_tower(inventory, *side, Component::kVision, "the vision tower (" + (own.empty() ? root_type : own) + ")");
  }
  // The first LLaVAs name their tower by a repository alone.
  if (!seen_vision && bare.is_string("mm_vision_tower"))
    guess_tower(inventory, Fields::empty(), Component::kVision, "the vision tower of mm_vision_tower");
  bool seen_audio = false;
  for (const std::string_view key : {"audio_config", "audio_encoder_config", "encoder_config"}) {
    const auto side = bare.child(key);
    if (!side || (key == "encoder_config" && !root_type.starts_with("granite_speech"))) continue;
    root.touch(key);
    seen_audio = true;
    const std::string own = side->find_string("model_type").value_or("");
    if (!write_audio(inventory, with_class(*side, own), root_type))
      guess_tower(inventory, *side, Component::kAudio, "the audio encoder (" + (own.empty() ? root_type : own) + ")");
  }
  if (const auto encoder = bare.child("encoder"); encoder && bare.child("decoder")) {
    root.touch("encoder");
    if (!write_pair_encoder(inventory, *encoder))
      guess_tower(inventory, *encoder, Component::kEncoder,
                  "the encoder (" + one_line(encoder->find_string("model_type").value_or("of no name"), 60) + ")");
  }
  guess_unread_parts(inventory, bare);
  note_absent_towers(inventory, bare, root_type, seen_vision, seen_audio);
}

}  // namespace kvplan
