// A model's tensors as SGLang's classes make them: types that its layers fix, tensors that they add to the
// checkpoint's, and what every rank holds whole.
// Source: the classes of SGLang 0.5.8 and 0.5.23 (srt/models, srt/layers), built on the meta device
// (tests/conformance/sglang).
#include "engines/sglang/tensors.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "engines/parallel.h"
#include "engines/sglang/models.h"
#include "kvplan/error.h"
#include "kvplan/gpus.h"
#include "kvplan/numbers.h"
#include "kvplan/strings.h"

namespace kvplan {

namespace {

bool ends_in(std::string_view name, std::string_view ends) {
  const std::vector<std::string_view> words = split(ends);
  return std::any_of(words.begin(), words.end(), [&](std::string_view end) {
    return name.ends_with(end) && (name.size() == end.size() || name[name.size() - end.size() - 1] == '.');
  });
}

// Whether the class that the config names is one of these: SGLang's registry goes by that.
bool is(const EngineTensors& model, std::string_view classes) {
  return has_word(classes, model.architecture);
}

bool is_newer(const EngineTensors& model) {
  return sglang_since(*model.request, kExecuted);
}

constexpr std::string_view kKimi = "KimiLinearForCausalLM KimiK3ForConditionalGeneration";
constexpr std::string_view kNemotronH =
    "NemotronHForCausalLM NemotronH_Omni_Reasoning_V3 Nemotron3_5TranscribeForConditionalGeneration";
constexpr std::string_view kGemma3 = "Gemma3ForConditionalGeneration";
constexpr std::string_view kGemma3n = "Gemma3nForConditionalGeneration Gemma3nForCausalLM";
constexpr std::string_view kGemma4 =
    "Gemma4ForConditionalGeneration Gemma4ForCausalLM Gemma4UnifiedForConditionalGeneration Gemma4UnifiedForCausalLM";
constexpr std::string_view kQwen3p5 =
    "Qwen3_5ForConditionalGeneration Qwen3_5ForCausalLM MiniCPMOcrForConditionalGeneration "
    "MiniCPMV4_6ForConditionalGeneration MiniCPMV4_7ForConditionalGeneration";
constexpr std::string_view kQwen3p5Moe = "Qwen3_5MoeForConditionalGeneration Qwen3_5MoeForCausalLM";
constexpr std::string_view kLfm2 = "Lfm2ForCausalLM Lfm2VlForConditionalGeneration";

// Types that the classes fix, by the ends of module names.
struct TypeRule {
  std::string_view classes;  // "" for all
  std::string_view ends;
  Kept kept;
  std::uint64_t since = 0, until = ~std::uint64_t{0};  // releases from 0.5.since to before 0.5.until
};
constexpr TypeRule kTypes[] = {
    {"", "A_log indexer.k_norm compressor.norm", Kept::kFloat32},
    {"", "indexer.weights_proj compressor.wkv compressor.wgate", Kept::kPlain},
    {"GlmMoeDsaForCausalLM", "indexer.wk",
     Kept::kPlain},  // one matrix together with the heads' weights (wk_weights_proj)
    {kKimi, "conv1d", Kept::kFloat32},
    {"FalconH1ForCausalLM", "lm_head", Kept::kFloat32},
    {kNemotronH, "gate", Kept::kFloat32, 0, 13},
    {"MiniMaxM2ForCausalLM", "gate", Kept::kFloat32},
    {"Glm4MoeForCausalLM", "gate", Kept::kFloat32, 19},
    {"BeamForCausalLM HYV4ForCausalLM", "gate", Kept::kFloat32, kExecuted},
    {"HYV4ForCausalLM", "sinks", Kept::kFloat32},
    {kGemma3n, "altup.correct_output_scale", Kept::kFloat32},
    {kKimi, "fc1_latent_proj fc2_latent_proj", Kept::kPlain},
};
// Classes whose routers have corrections in the model's own type, where others have float32.
constexpr std::string_view kPlainCorrections = "KimiLinearForCausalLM Ernie4_5_MoeForCausalLM";

void settle_types(EngineTensors& model) {
  const bool is_blackwell = model.request->card.capability() / 10 == 10;
  for (TensorGroup& group : model.tensors) {
    group.kept = Kept::kAsDeclared;
    if (model.arch == Arch::kGptOss && is_blackwell && ends_in(group.module, "sinks")) group.kept = Kept::kFloat32;
    for (const TypeRule& rule : kTypes) {
      if (!rule.classes.empty() && !is(model, rule.classes)) continue;
      if (!sglang_since(*model.request, rule.since) || (rule.until < 1000 && sglang_since(*model.request, rule.until)))
        continue;
      if (ends_in(group.module, rule.ends)) group.kept = rule.kept;
    }
    // gpt-oss: biases of experts that are not quantized.
    if (model.arch == Arch::kGptOss && group.is_expert && group.role == TensorRole::kPlain &&
        !is_declared(model.quantization))
      group.is_float32 = true;
    if (ends_in(group.module, "e_score_correction_bias") && is(model, kPlainCorrections)) group.is_float32 = false;
  }
}

// A tensor added to the checkpoint's: a buffer, or a copy in another order.
TensorGroup added_tensor(Component component, std::string module, std::uint64_t elements, bool in_float32 = false) {
  TensorGroup out;
  out.component = component;
  out.role = TensorRole::kPlain;
  out.module = std::move(module);
  out.rows = elements;
  out.place = Place::kFirst;
  out.is_derived = true;
  out.is_float32 = in_float32;
  return out;
}
// The same for each layer of a group, or each of its copies in a tower.
TensorGroup added_tensor(const TensorGroup& group, std::string_view what, std::uint64_t elements,
                         bool in_float32 = false) {
  TensorGroup out = added_tensor(group.component, group.module + "." + std::string(what), elements, in_float32);
  out.layers = group.layers;
  out.place = group.place;
  out.copies = group.copies;
  out.used = group.used;
  return out;
}

void add(EngineTensors& model, std::vector<TensorGroup> more) {
  for (TensorGroup& group : more) model.tensors.push_back(std::move(group));
}

// Decoders whose attention has scales of K and V, which a quantized checkpoint may set (RadixAttention's quant_config);
// latents have them for both ways of attending.
constexpr std::string_view kWithScales =
    "LlamaForCausalLM Qwen2ForCausalLM MiniMaxM2ForCausalLM MiMoV2FlashForCausalLM MixtralForCausalLM "
    "MistralForCausalLM Mistral3ForConditionalGeneration";
std::uint64_t scales_of_attention(const EngineTensors& model, bool has_latents) {
  const std::string& dialect = model.quantization.dialect;
  if (!model.quantization.names_method || (dialect != "fp8" && !dialect.starts_with("modelopt"))) return 0;
  if (model.arch == Arch::kDeepseekV4) return 2;
  if (has_latents) return 4;
  const bool has = is(model, kWithScales) || is(model, kNemotronH) || is(model, "Gemma4ForConditionalGeneration") ||
                   is(model, kQwen3p5) || is(model, kQwen3p5Moe);
  return has ? 2 : 0;
}

void add_scales(EngineTensors& model) {
  std::vector<TensorGroup> more;
  for (const TensorGroup& group : model.tensors) {
    if (group.component == Component::kMtp) continue;
    const bool latent = ends_in(group.module, "kv_a_proj_with_mqa attn.wkv");
    if (!latent && !ends_in(group.module, "self_attn.k_proj")) continue;
    if (const std::uint64_t scales = scales_of_attention(model, latent); scales > 0)
      more.push_back(added_tensor(group, "scales", scales, true));
  }
  add(model, std::move(more));
}

// NVFP4 experts keep a second copy of their block scales in CUTLASS's order, except for Blackwell's TRT-LLM kernels
// (ModelOptNvFp4FusedMoEMethod, blockscale_swizzled).
void add_swizzled_scales(EngineTensors& model) {
  const std::uint32_t major = model.request->card.capability() / 10;
  const auto& scheme = model.quantization.expert_scheme ? model.quantization.expert_scheme : model.quantization.scheme;
  if (major == 10 || model.request->weights || !scheme || scheme->type != "nvfp4") return;
  constexpr std::uint64_t kGroup = 16;
  std::vector<TensorGroup> more;
  // DeepSeek-V3's shared expert becomes one of 257 (determine_num_fused_shared_experts).
  constexpr std::uint64_t kFusedExperts = 256;
  const bool fuses = std::any_of(model.tensors.begin(), model.tensors.end(), [&](const TensorGroup& group) {
    return is(model, "DeepseekV3ForCausalLM") && group.is_expert && group.copies == kFusedExperts;
  });
  for (const TensorGroup& group : model.tensors) {
    const bool is_routed = group.is_expert || (fuses && group.component == Component::kSharedExperts);
    if (!is_routed || group.role != TensorRole::kLinear || group.component == Component::kMtp) continue;
    TensorGroup copy = group;  // a byte for each block, counted as elements of two bytes
    copy.role = TensorRole::kPlain;
    copy.module += ".blockscale_swizzled";
    copy.columns = group.columns / kGroup / 2;
    copy.is_derived = true;
    more.push_back(std::move(copy));
  }
  add(model, std::move(more));
}

// Norms that keep 1 + weight in addition to the weight (GemmaRMSNorm.gemma_weight).
void add_norms(EngineTensors& model) {
  if (!is_newer(model) || !(is(model, kQwen3p5) || is(model, kQwen3p5Moe) || is(model, "Qwen3NextForCausalLM"))) return;
  std::vector<TensorGroup> more;
  for (const TensorGroup& group : model.tensors)
    if (group.component == Component::kNorms && !ends_in(group.module, "linear_attn.norm"))
      more.push_back(added_tensor(group, "gemma_weight", group.rows));
  add(model, std::move(more));
}

// A config value, by the end of its key.
std::uint64_t fact(const EngineTensors& model, std::string_view key, std::uint64_t otherwise) {
  for (const ConfigFact& each : model.facts)
    if (each.key.ends_with(key)) return whole_number(each.value).value_or(otherwise);
  return otherwise;
}

TensorGroup cut_rows(TensorGroup group) {
  group.split = Split::kRows;
  return group;
}

// What some classes do differently in their towers.
void settle_tower(EngineTensors& model, TensorGroup& group, std::vector<TensorGroup>& more) {
  const std::string& name = group.module;
  const bool is_whole = is(model, "KimiK3ForConditionalGeneration") || ends_in(name, "fc1 fc2 fc1.bias");
  constexpr std::string_view kTowersOfKimi =
      "KimiK25ForConditionalGeneration Kimi_K25ForConditionalGeneration KimiK3ForConditionalGeneration "
      "KimiVLForConditionalGeneration";
  if (is(model, kTowersOfKimi) && name.find("vision_tower") != std::string::npos && is_whole)
    group.split = Split::kNone;
  if (is(model, "Qwen2_5_VLForConditionalGeneration")) {
    // The width of its MLP is padded to a multiple of the ranks.
    const std::uint64_t ranks = model.request->parallel.tensor;
    if (ends_in(name, "visual.blocks.fc1 visual.blocks.fc1.bias"))
      group.rows = 2 * round_up(group.rows / 2, ranks, "a tower's width");
    if (ends_in(name, "visual.blocks.fc2")) group.columns = round_up(group.columns, ranks, "a tower's width");
    if (ends_in(name, "visual.patch_embed"))  // inverse frequencies
      more.push_back(
          added_tensor(group, "inv_freq", group.rows / fact(model, "vision_config.num_heads", 16) / 4, true));
  }
  // SigLIP's positions are an embedding, padded like a vocabulary; their numbers are a 64-bit buffer.
  if (is(model, kGemma3) && ends_in(name, "vision_tower.position_embedding")) {
    constexpr std::uint64_t kUsualWidth = 768;
    const std::uint64_t width = fact(model, "vision_config.hidden_size", kUsualWidth), places = group.rows / width;
    more.push_back(added_tensor(group, "position_ids", 2 * places, true));
    group.rows = round_up(places, 64, "a tower's places") * width;
  }
  if (is(model, "Mistral3ForConditionalGeneration") && ends_in(name, "patch_conv")) {
    // Frequencies, twice; in earlier releases the angles of all positions.
    const std::uint64_t side =
        fact(model, "vision_config.image_size", 1540) / fact(model, "vision_config.patch_size", 14);
    const std::uint64_t width = fact(model, "vision_config.head_dim", 64);
    more.push_back(added_tensor(group, "frequencies", is_newer(model) ? width : side * side * width, true));
  }
  if (model.arch == Arch::kMllama) {
    if (ends_in(name, "vision_model.patch_embedding")) group.split = Split::kRows;
    if (ends_in(name, "transformer.qkv global_transformer.qkv"))
      more.push_back(cut_rows(added_tensor(group, "bias", group.rows)));
    if (ends_in(name, "transformer.proj global_transformer.proj"))
      more.push_back(added_tensor(group, "bias", group.rows));
  }
}

void settle_towers(EngineTensors& model) {
  const auto drop = [&](auto& parts) {
    std::erase_if(parts, [](const auto& part) { return is_tower(part.component); });
  };
  // Images need --enable-multimodal: without it the class makes no tower.
  if (is(model, "Llama4ForConditionalGeneration")) {
    drop(model.tensors);
    drop(model.unknown);
  }
  // The head that pools SigLIP's output.
  if (is(model, kGemma3))
    std::erase_if(model.tensors, [](const TensorGroup& group) {
      return group.component == Component::kVision && group.module.find("vision_tower.head.") != std::string::npos;
    });
  std::vector<TensorGroup> more;
  for (TensorGroup& group : model.tensors) {
    if (!is_tower(group.component)) continue;
    settle_tower(model, group, more);
    if (ends_in(group.module, "visual.pos_embed")) group.split = Split::kRows;  // VocabParallelEmbedding
    if (ends_in(group.module, "rotary_pos_emb")) group.is_float32 = true;
  }
  add(model, std::move(more));
}

// Decoders whose own section of the config decides whether the head is tied, and those that always have a head.
void settle_heads(EngineTensors& model) {
  constexpr std::string_view kByText = "Mistral3ForConditionalGeneration GlmAsrForConditionalGeneration";
  constexpr std::string_view kOwn = "Lfm2MoeForCausalLM WhisperForConditionalGeneration";
  for (TensorGroup& group : model.tensors) {
    if (group.role != TensorRole::kHead) continue;
    if (is(model, kByText)) group.is_tied = model.ties_head.value_or(false);
    if (is_newer(model) && (is(model, kOwn) || is(model, kLfm2))) group.is_tied = false;
    // ModelOpt's FP8 applies to the head too, where its list does not exclude it. (DeepSeek-V4 has DeepSeek's own FP8
    // with ModelOpt's experts.)
    if (!group.is_tied && model.arch != Arch::kDeepseekV4 && model.quantization.dialect.starts_with("modelopt") &&
        model.quantization.scheme && model.quantization.scheme->type.starts_with("fp8"))
      group.role = TensorRole::kLinear;
  }
}

// For FlashInfer's TRT-LLM kernels a rank's part of an expert is whole blocks (fused_moe_triton/layer.py).
void pad_experts(EngineTensors& model) {
  constexpr std::string_view kPads = "Qwen3MoeForCausalLM Qwen3NextForCausalLM";
  constexpr std::uint64_t kBlock = 128;
  const Request& request = *model.request;
  if (request.card.capability() / 10 != 10 || !is_newer(model) ||
      !(is(model, kPads) || is(model, kQwen3p5Moe) || is(model, kNemotronH)) || request.parallel.expert)
    return;
  const bool is_nvfp4 = model.quantization.scheme && model.quantization.scheme->type == "nvfp4";
  if (is_nvfp4) return;
  const std::uint64_t ranks = request.parallel.tensor;
  for (TensorGroup& group : model.tensors) {
    if (!group.is_expert || group.component == Component::kMtp) continue;
    std::uint64_t& width = group.split == Split::kColumns ? group.columns : group.rows;
    width = checked_mul(round_up(ceil_div(width, ranks), kBlock, "an expert's width"), ranks, "an expert's width");
  }
}

// What some decoders add to the checkpoint's tensors.
void settle_decoders(EngineTensors& model) {
  std::vector<TensorGroup> more;
  const bool is_blackwell = model.request->card.capability() / 10 == 10;
  bool first = true;
  for (TensorGroup& group : model.tensors) {
    const std::string& name = group.module;
    if (group.component == Component::kMtp || is_tower(group.component)) continue;
    const bool keys = ends_in(name, "self_attn.k_proj") && group.units > 0;
    if (is(model, "FalconH1ForCausalLM") && keys)
      more.push_back(added_tensor(group, "qk_norm", 2 * (group.rows / group.units)));
    // Three of four layers rotate and normalise queries and keys.
    if (is(model, "Llama4ForConditionalGeneration Llama4ForCausalLM") && !is_newer(model) && keys &&
        std::exchange(first, false)) {
      more.push_back(added_tensor(group, "qk_norm", group.rows / group.units));
      more.back().layers = {{0, model.num_layers / 4 * 3, 1}};
    }
    // The fused projection of all three has a bias for the keys as well.
    if (is(model, "WhisperForConditionalGeneration") && ends_in(name, "k_proj"))
      more.push_back(cut_rows(added_tensor(group, "bias", group.rows)));
    if (is_newer(model) && is(model, "Lfm2MoeForCausalLM") && group.component == Component::kRouter &&
        group.role == TensorRole::kLinear)
      more.push_back(added_tensor(group, "expert_bias", group.rows, true));
    if (is(model, "ApertusForCausalLM") && ends_in(name, "mlp.act_fn"))
      more.push_back(added_tensor(group, "beta_eps", 2));
    if (is(model, "MambaForCausalLM FalconMambaForCausalLM") && ends_in(name, "D"))
      more.push_back(cut_rows(added_tensor(group, "dt_bias_zero", group.rows)));
    // Buffers for states between steps, for 256 requests.
    if (is_newer(model) && (is(model, kLfm2) || is(model, "Lfm2MoeForCausalLM")) && ends_in(name, "conv.in_proj"))
      more.push_back(added_tensor(group, "intermediate_state_indices", 256, true));
    // MXFP4 experts have biases even if the model has none.
    const bool is_mxfp4 = model.quantization.expert_scheme
                              ? model.quantization.expert_scheme->type == "mxfp4"
                              : model.quantization.scheme && model.quantization.scheme->type == "mxfp4";
    if (is(model, "KimiK3ForConditionalGeneration") && group.is_expert && is_declared(model.quantization) &&
        group.role == TensorRole::kLinear) {
      TensorGroup bias = added_tensor(group, "bias", group.rows);
      bias.is_expert = true;
      if (group.split == Split::kRows) bias.split = Split::kRows;
      more.push_back(std::move(bias));
    }
    // Float32 scales in place of a byte for each block.
    if (model.arch == Arch::kDeepseekV4 && is_blackwell && group.is_expert && is_mxfp4) {
      TensorGroup wider = group;
      wider.role = TensorRole::kPlain;
      wider.module += ".scales_in_float32";
      wider.columns = group.columns / 32 * 3 / 2;
      wider.is_derived = true;
      more.push_back(std::move(wider));
    }
    if (model.arch == Arch::kMllama && name == "model.embed_tokens")
      for (const TensorGroup& other : model.tensors)
        if (other.module == "model.embed_tokens.image") group.rows += other.rows / group.columns;
  }
  if (model.arch == Arch::kMllama)
    std::erase_if(model.tensors, [](const TensorGroup& group) { return group.module == "model.embed_tokens.image"; });
  add(model, std::move(more));
}

// Layers that read another layer's cache still have projections of keys and values.
void settle_gemma3n(EngineTensors& model) {
  if (!is(model, kGemma3n)) return;
  std::vector<TensorGroup> more;
  std::vector<std::string> done;
  std::erase_if(model.tensors, [&](TensorGroup& group) {
    if (!ends_in(group.module, "self_attn.k_proj self_attn.v_proj self_attn.k_norm")) return false;
    if (std::find(done.begin(), done.end(), group.module) != done.end()) return true;
    done.push_back(group.module);
    group.layers = {{0, model.num_layers, 1}};
    if (ends_in(group.module, "self_attn.k_norm")) more.push_back(added_tensor(group, "v_norm", group.rows));
    if (ends_in(group.module, "self_attn.k_proj")) {
      more.push_back(added_tensor(group, "target_sparsity", 1, true));
      more.push_back(added_tensor(group, "router_input_scale", 1));
    }
    return false;
  });
  more.push_back(added_tensor(Component::kOther, "model.per_layer_scales", 2));
  add(model, std::move(more));
}

void settle_gemma4(EngineTensors& model) {
  if (!is(model, kGemma4)) return;
  std::vector<TensorGroup> more;
  for (TensorGroup& group : model.tensors) {
    const std::string& name = group.module;
    if (name == "model.embed_tokens" || ends_in(name, "embed_tokens_per_layer")) group.split = Split::kNone;
    if (ends_in(name, "self_attn.k_proj") && group.units > 0)
      more.push_back(added_tensor(group, "v_norm", group.rows / group.units));
    if (ends_in(name, "input_layernorm")) {
      more.push_back(added_tensor(group, "layer_scalar", 1));
      more.back().copies = more.back().used = 1;
    }
    if (group.component == Component::kRouter && group.role == TensorRole::kLinear)
      more.push_back(added_tensor(group, "root_size_and_norm", group.columns + 1));
    if (!is_tower(group.component)) continue;
    if (ends_in(name, "qkv fc1")) group.split = Split::kRows;
    if (ends_in(name, "proj fc2")) group.split = Split::kColumns;
    constexpr std::uint64_t kBounds = 22;  // minimum and maximum of the inputs and outputs of each layer
    if (ends_in(name, "vision_tower.layers.extra"))
      more.push_back(added_tensor(group, "v_norm_and_bounds", group.rows / 2 + 1 + kBounds));
    if (ends_in(name, "input_proj")) more.push_back(added_tensor(group, "std", 2 * group.rows));
    if (ends_in(name, "embedding_projection")) more.push_back(added_tensor(group, "norm", group.columns));
  }
  add(model, std::move(more));
}

// Packed experts on AMD: Triton's format keeps the indices and the order of their groups, which Marlin's empties
// (CompressedTensorsWNA16TritonMoE). Kimi-K2.5 on eight MI35x: 73.58 GiB as printed, 71.95 without.
void keep_group_indices(EngineTensors& model) {
  if (!model.request->card.is_amd() || model.quantization.dialect != "compressed-tensors" ||
      !model.quantization.scheme || !model.quantization.scheme->type.ends_with("int4"))
    return;
  std::vector<TensorGroup> more;
  for (const TensorGroup& group : model.tensors) {
    if (!group.is_expert || group.role != TensorRole::kLinear ||
        !ends_in(group.module, "up_proj gate_up_proj down_proj"))
      continue;
    TensorGroup indices = added_tensor(group, "g_idx", checked_mul(2, group.columns, "the indices of groups"), true);
    indices.copies = group.copies;
    indices.is_expert = true;
    if (group.split == Split::kColumns) indices.split = Split::kRows;
    more.push_back(std::move(indices));
  }
  add(model, std::move(more));
}

void settle_deepseek_v4(EngineTensors& model) {
  if (model.arch != Arch::kDeepseekV4) return;
  for (TensorGroup& group : model.tensors)
    if (ends_in(group.module, "attn_sink")) group.split = Split::kNone;
}

// HunYuan normalises queries and keys where the file says so; transformers' class always does.
void settle_hunyuan(EngineTensors& model) {
  if (!is(model, "HunYuanDenseV1ForCausalLM HunYuanMoEV1ForCausalLM")) return;
  const bool is_named = std::any_of(model.facts.begin(), model.facts.end(),
                                    [](const ConfigFact& fact) { return fact.key.ends_with("use_qk_norm"); });
  if (is_named) return;
  std::erase_if(model.tensors, [](const TensorGroup& group) { return ends_in(group.module, "q_norm k_norm"); });
}

// Drops the tensors that src/models derives for serving engines, except those that SGLang has as well.
void drop_derived(EngineTensors& model) {
  // Qwen2.5-VL's tower has inverse frequencies in place of a table of angles.
  const std::string_view has = is(model, "Qwen2_5_VLForConditionalGeneration")
                                   ? "v_proj mup_vector time_weight"
                                   : "v_proj mup_vector rotary_pos_emb time_weight";
  std::erase_if(model.tensors,
                [&](const TensorGroup& group) { return group.is_derived && !ends_in(group.module, has); });
}

}  // namespace

void sglang_tensors(EngineTensors& model) {
  drop_derived(model);
  settle_types(model);
  settle_towers(model);
  add_scales(model);
  add_swizzled_scales(model);
  add_norms(model);
  settle_gemma4(model);
  settle_gemma3n(model);
  settle_deepseek_v4(model);
  settle_hunyuan(model);
  settle_heads(model);
  settle_decoders(model);
  keep_group_indices(model);
  pad_experts(model);
}

std::string sglang_makes_by(const Request& request) {
  const auto& parallel = request.parallel;
  const bool is_amd = request.card.is_amd();
  return request.engine_version + (is_amd ? " amd " : " ") + std::to_string(request.card.capability() / 10) + " " +
         std::to_string(parallel.tensor) + " " + std::to_string(parallel.data) + (parallel.expert ? " e" : "") +
         (parallel.dp_attention ? " d " : " ") + request.weights.value_or("");
}

}  // namespace kvplan
