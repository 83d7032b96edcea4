// A model's tensors in SGLang's classes: types that a class fixes, tensors that it adds to the checkpoint's, and
// tensors that every rank stores whole. Source, unless a row has its own: the classes of SGLang 0.5.8 and 0.5.23
// (srt/models, srt/layers), built on the meta device (tests/conformance/sglang).
#include "engines/tensor_edits.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "engines/sglang/sglang.h"

namespace kvplan {

// When a row applies.

static bool on_blackwell(const EngineTensors& model) {
  return sglang_on_blackwell(*model.request);
}
static std::string_view expert_type(const EngineTensors& model) {
  const auto& scheme = model.quantization.expert_scheme ? model.quantization.expert_scheme : model.quantization.scheme;
  return scheme ? std::string_view(scheme->type) : "";
}
static bool is_quantized(const EngineTensors& model) {
  return is_declared(model.quantization);
}
static bool is_in_16_bit(const EngineTensors& model) {
  return !is_declared(model.quantization);
}
// A quantized checkpoint may set the scales of K and V (RadixAttention's quant_config).
static bool sets_scales(const EngineTensors& model) {
  const std::string& dialect = model.quantization.dialect;
  return model.quantization.names_method && (dialect == "fp8" || dialect.starts_with("modelopt"));
}
// Blackwell's TRT-LLM kernels do not.
static bool swizzles_scales(const EngineTensors& model) {
  return !on_blackwell(model) && !model.request->weights && expert_type(model) == "nvfp4";
}
static bool fuses_shared_expert(const EngineTensors& model) {
  constexpr std::uint64_t kFusedExperts = 256;  // the shared expert is added to the 256 routed ones
  return swizzles_scales(model) &&
         std::any_of(model.tensors.begin(), model.tensors.end(),
                     [](const TensorGroup& group) { return group.is_expert && group.copies == kFusedExperts; });
}
static bool has_wide_scales(const EngineTensors& model) {
  return on_blackwell(model) && expert_type(model) == "mxfp4";
}
static bool pads_experts(const EngineTensors& model) {
  const auto& scheme = model.quantization.scheme;
  return on_blackwell(model) && !model.request->parallel.expert && !(scheme && scheme->type == "nvfp4");
}
// On other GPUs Marlin's format has no indices.
static bool keeps_group_indices(const EngineTensors& model) {
  return model.request->card.is_amd() && model.quantization.dialect == "compressed-tensors" &&
         model.quantization.scheme && model.quantization.scheme->type.ends_with("int4");
}
static bool has_fp8_head(const EngineTensors& model) {
  const auto& scheme = model.quantization.scheme;
  return model.quantization.dialect.starts_with("modelopt") && scheme && scheme->type.starts_with("fp8");
}

// Changes that a row cannot express, as functions.

// The width of the tower's MLPs is padded to a multiple of 8 (models/qwen2_5_vl.py), and of the ranks.
static void pad_qwen_tower(EngineTensors& model) {
  const std::uint64_t multiple = std::max<std::uint64_t>(8, model.request->parallel.tensor);
  for (TensorGroup& group : model.tensors) {
    if (selects("visual.blocks.fc1 visual.blocks.fc1.bias", group))
      group.rows = 2 * round_up(group.rows / 2, multiple, "a tower's width");
    if (selects("visual.blocks.fc2", group)) group.columns = round_up(group.columns, multiple, "a tower's width");
  }
}

static void add_qwen_frequencies(EngineTensors& model) {
  const TensorGroup* patches = find_tensor(model, "visual.patch_embed");
  if (patches == nullptr) return;
  const std::uint64_t heads = stated_number(model, "vision_config.num_heads", 16);
  model.tensors.push_back(derived_beside(*patches, "inv_freq", patches->rows / heads / 4, true));
}

// SigLIP's position table is an embedding, padded like a vocabulary. The position numbers are a 64-bit buffer.
static void pad_siglip_positions(EngineTensors& model) {
  TensorGroup* table = find_tensor(model, "vision_tower.position_embedding");
  if (table == nullptr) return;
  const std::uint64_t width = stated_number(model, "vision_config.hidden_size", 768), places = table->rows / width;
  table->rows = round_up(places, 64, "a tower's places") * width;
  model.tensors.push_back(derived_beside(*table, "position_ids", 2 * places, true));
}

static void add_pixtral_angles(EngineTensors& model, bool of_all_positions) {
  const TensorGroup* patches = find_tensor(model, "vision_tower.patch_conv");
  if (patches == nullptr) return;
  const std::uint64_t side =
      stated_number(model, "vision_config.image_size", 1540) / stated_number(model, "vision_config.patch_size", 14);
  const std::uint64_t width = stated_number(model, "vision_config.head_dim", 64);
  model.tensors.push_back(
      derived_beside(*patches, "frequencies", of_all_positions ? side * side * width : width, true));
}
static void add_pixtral_positions(EngineTensors& model) {
  add_pixtral_angles(model, true);
}
static void add_pixtral_frequencies(EngineTensors& model) {
  add_pixtral_angles(model, false);
}

// Three of four layers rotate and normalize queries and keys.
static void add_llama4_norms(EngineTensors& model) {
  const TensorGroup* keys = find_tensor(model, "model.layers.*.self_attn.k_proj");
  if (keys == nullptr || keys->units == 0) return;
  model.tensors.push_back(derived_beside(*keys, "qk_norm", keys->rows / keys->units));
  model.tensors.back().layers = {{0, model.num_layers / 4 * 3, 1}};
}

// One table has rows for words and for images.
static void join_image_rows(EngineTensors& model) {
  TensorGroup* table = find_tensor(model, "model.embed_tokens");
  const TensorGroup* images = find_tensor(model, "model.embed_tokens.image");
  if (table != nullptr && images != nullptr) table->rows += images->rows / table->columns;
  drop_tensors(model, "model.embed_tokens.image");
}

// ModelOpt's FP8 applies to the head too, unless its list excludes the head.
static void quantize_head(EngineTensors& model) {
  for (TensorGroup& group : model.tensors)
    if (group.role == TensorRole::kHead && !group.is_tied) group.role = TensorRole::kLinear;
}

constexpr std::string_view kKimi = "KimiLinearForCausalLM KimiK3ForConditionalGeneration";
constexpr std::string_view kKimiK3 = "KimiK3ForConditionalGeneration";
constexpr std::string_view kKimiVl =
    "KimiK25ForConditionalGeneration Kimi_K25ForConditionalGeneration KimiVLForConditionalGeneration";
constexpr std::string_view kNemotronH =
    "NemotronHForCausalLM NemotronH_Omni_Reasoning_V3 Nemotron3_5TranscribeForConditionalGeneration";
constexpr std::string_view kGemma3 = "Gemma3ForConditionalGeneration";
constexpr std::string_view kGemma3n = "Gemma3nForConditionalGeneration Gemma3nForCausalLM";
constexpr std::string_view kGemma4 =
    "Gemma4ForConditionalGeneration Gemma4ForCausalLM Gemma4UnifiedForConditionalGeneration Gemma4UnifiedForCausalLM";
constexpr std::string_view kQwen2p5 = "Qwen2_5_VLForConditionalGeneration";
constexpr std::string_view kQwen3p5 =
    "Qwen3_5ForConditionalGeneration Qwen3_5ForCausalLM MiniCPMOcrForConditionalGeneration "
    "MiniCPMV4_6ForConditionalGeneration MiniCPMV4_7ForConditionalGeneration "
    "Qwen3_5MoeForConditionalGeneration Qwen3_5MoeForCausalLM";
constexpr std::string_view kLfm2 = "Lfm2ForCausalLM Lfm2VlForConditionalGeneration Lfm2MoeForCausalLM";
constexpr std::string_view kLfm2Moe = "Lfm2MoeForCausalLM";
constexpr std::string_view kLlama4 = "Llama4ForConditionalGeneration Llama4ForCausalLM";
constexpr std::string_view kMistral3 = "Mistral3ForConditionalGeneration";
constexpr std::string_view kWhisper = "WhisperForConditionalGeneration";
constexpr std::string_view kWithScales =
    "LlamaForCausalLM Qwen2ForCausalLM MiniMaxM2ForCausalLM MiMoV2FlashForCausalLM MixtralForCausalLM "
    "MistralForCausalLM Mistral3ForConditionalGeneration Gemma4ForConditionalGeneration";
constexpr Archs kDeepseekV4{Arch::kDeepseekV4};
constexpr Archs kGptOss{Arch::kGptOss};
constexpr Archs kMllama{Arch::kMllama};
constexpr std::string_view kPadding =
    "fused_moe_triton/layer.py: experts are padded to 128 for TRT-LLM's kernels on Blackwell";

// clang-format off
constexpr TensorEdit kEdits[] = {
    // The tensors that src/models derives for serving engines. Qwen2.5-VL's tower has inverse frequencies instead of
    // angles.
    {"", DropTensors{"<derived> -v_proj -mup_vector -rotary_pos_emb -time_weight"}},
    {kQwen2p5, DropTensors{"rotary_pos_emb"}},

    // Types.
    {"", KeepAs{"<all>", Kept::kAsDeclared}},
    {"", KeepAs{"A_log indexer.k_norm compressor.norm", Kept::kFloat32}},
    {"", KeepAs{"indexer.weights_proj compressor.wkv compressor.wgate", Kept::kPlain}},
    {"GlmMoeDsaForCausalLM", KeepAs{"indexer.wk", Kept::kPlain}, "wk_weights_proj: one matrix with the heads' weights"},
    {"GlmMoeDsaForCausalLM",
     PutInEveryLayer{"indexer.wq_b indexer.wk indexer.k_norm indexer.k_norm.bias indexer.weights_proj"},
     "deepseek_v2.py of 0.5.17 and 0.5.18: Layers that use another layer's indexer have an indexer too.",
     {.until = {0, 5, 18}}},
    {kKimi, KeepAs{"conv1d", Kept::kFloat32}},
    {"FalconH1ForCausalLM", KeepAs{"lm_head", Kept::kFloat32}},
    {kNemotronH, KeepAs{"gate", Kept::kFloat32}, "Nemotron-H's routers are in float32.", {.until = {0, 5, 13}}},
    {"MiniMaxM2ForCausalLM", KeepAs{"gate", Kept::kFloat32}},
    {"Glm4MoeForCausalLM", KeepAs{"gate", Kept::kFloat32}, "GLM-4.5's routers are in float32.", {.since = {0, 5, 19}}},
    {"BeamForCausalLM HYV4ForCausalLM", KeepAs{"gate", Kept::kFloat32}},
    {"HYV4ForCausalLM", KeepAs{"sinks", Kept::kFloat32}},
    {kGemma3n, KeepAs{"altup.correct_output_scale", Kept::kFloat32}},
    {kKimi, KeepAs{"fc1_latent_proj fc2_latent_proj", Kept::kPlain}},
    {"", KeepAs{"<all>", Kept::kAsDeclared}, "No types of tensors are known.", {.until = {0, 5}}},
    {kGptOss, KeepAs{"sinks", Kept::kFloat32}, "", {.holds = on_blackwell}},
    {kGptOss, InFloat32{"<expert-biases>", true}, "", {.holds = is_in_16_bit}},
    {"KimiLinearForCausalLM Ernie4_5_MoeForCausalLM", InFloat32{"e_score_correction_bias", false}},

    // Towers. Llama 4 has none without --enable-multimodal, and Gemma 3's has no pooling head.
    {"Llama4ForConditionalGeneration", DropTowers{}},
    {kGemma3, DropTensors{"*vision_tower.head.*"}},
    {kKimiK3, SplitBy{"*vision_tower*", Split::kNone}},
    {kKimiVl, SplitBy{"vision_tower.blocks.fc1 vision_tower.blocks.fc2 vision_tower.blocks.fc1.bias", Split::kNone}},
    {kQwen2p5, pad_qwen_tower},
    {kQwen2p5, add_qwen_frequencies},
    {kGemma3, pad_siglip_positions},
    {kMistral3, add_pixtral_positions, "Pixtral's tower keeps the angles of all positions.", {.until = {0, 5, 22}}},
    {kMistral3, add_pixtral_frequencies, "Pixtral's tower keeps the frequencies only, twice.", {.since = {0, 5, 22}}},
    {kMllama, SplitBy{"vision_model.patch_embedding", Split::kRows}},
    {kMllama, AddBeside{"transformer.qkv global_transformer.qkv", "bias", {.rows = 1}, false, SplitLike::kRows}},
    {kMllama, AddBeside{"transformer.proj global_transformer.proj", "bias", {.rows = 1}}},
    {"", SplitBy{"visual.pos_embed", Split::kRows}, "VocabParallelEmbedding"},
    {"", InFloat32{"rotary_pos_emb", true}},

    // Scales of K and V. Latents have them for both forms of attention.
    {"", AddBeside{"kv_a_proj_with_mqa", "scales", {.plus = 4}, true}, "", {.holds = sets_scales}},
    {kDeepseekV4, AddBeside{"attn.wkv", "scales", {.plus = 2}, true}, "", {.holds = sets_scales}},
    {kWithScales, AddBeside{"self_attn.k_proj", "scales", {.plus = 2}, true}, "", {.holds = sets_scales}},
    {kNemotronH, AddBeside{"self_attn.k_proj", "scales", {.plus = 2}, true}, "", {.holds = sets_scales}},
    {kQwen3p5, AddBeside{"self_attn.k_proj", "scales", {.plus = 2}, true}, "", {.holds = sets_scales}},
    // A second copy of NVFP4's scales in CUTLASS's order: a byte for each block of 16, counted as elements of two
    // bytes.
    {"", AddCopy{"<experts>", "blockscale_swizzled", 1, 32}, "ModelOptNvFp4FusedMoEMethod", {.holds = swizzles_scales}},
    {"DeepseekV3ForCausalLM", AddCopy{"<shared-experts>", "blockscale_swizzled", 1, 32},
     "determine_num_fused_shared_experts", {.holds = fuses_shared_expert}},
    // A buffer of 1 + weight, in addition to the weight.
    {kQwen3p5, AddBeside{"<norms> -linear_attn.norm", "gemma_weight", {.rows = 1}},
     "GemmaRMSNorm.gemma_weight: Norms of Qwen3.5 and Qwen3-Next keep 1 + weight, too.", {.since = {0, 5, 11}}},
    {"Gemma2ForCausalLM", AddBeside{"<norms>", "gemma_weight", {.rows = 1}}, "layernorm.py", {.since = {0, 5, 11}}},
    {"Qwen3NextForCausalLM", AddBeside{"<norms> -linear_attn.norm", "gemma_weight", {.rows = 1}},
     "GemmaRMSNorm.gemma_weight: Norms of Qwen3.5 and Qwen3-Next keep 1 + weight, too.", {.since = {0, 5, 11}}},

    {kGemma4, SplitBy{"model.embed_tokens embed_tokens_per_layer", Split::kNone}},
    {kGemma4, AddBeside{"self_attn.k_proj", "v_norm", {.rows = 1, .per_head = true}}},
    {kGemma4, AddBeside{"self_attn.q_norm", "layer_scalar", {.plus = 1}}},
    {kGemma4, AddBeside{"<routers>", "root_size_and_norm", {.columns = 1, .plus = 1}}},
    {kGemma4, SplitBy{"qkv fc1", Split::kRows}},
    {kGemma4, SplitBy{"proj fc2", Split::kColumns}},
    // 22 numbers per layer: the minimum and maximum of its inputs and outputs.
    {kGemma4, AddBeside{"vision_tower.layers.extra", "v_norm_and_bounds", {.rows = 1, .plus = 1 + 22, .over = 2}}},
    {kGemma4, AddBeside{"input_proj", "std", {.rows = 2}}},
    {kGemma4, AddBeside{"embedding_projection", "norm", {.columns = 1}}},
    // Layers that read another layer's cache still have projections of keys and values.
    {kGemma3n, PutInEveryLayer{"self_attn.k_proj self_attn.v_proj self_attn.k_norm"}},
    {kGemma3n, AddBeside{"self_attn.k_norm", "v_norm", {.rows = 1}}},
    {kGemma3n, AddBeside{"self_attn.k_proj", "target_sparsity", {.plus = 1}, true}},
    {kGemma3n, AddBeside{"self_attn.k_proj", "router_input_scale", {.plus = 1}}},
    {kGemma3n, AddBuffer{"model.per_layer_scales", 2}},
    {kDeepseekV4, SplitBy{"attn_sink", Split::kNone}},
    // transformers' class always normalizes queries and keys.
    {"HunYuanDenseV1ForCausalLM HunYuanMoEV1ForCausalLM", DropTensors{"q_norm k_norm"}, "", {.unless = "use_qk_norm"}},
    // LlamaMLP has no biases.
    {"LlamaForCausalLM", DropTensors{"mlp.gate_proj.bias mlp.up_proj.bias mlp.down_proj.bias"}, "models/llama.py"},
    {"LagunaForCausalLM", KeepAs{"<routers>", Kept::kFloat32}, "models/laguna.py"},
    {"BertModel XLMRobertaModel", DropTensors{"pooler.dense pooler.dense.bias"}, "models/bert.py, roberta.py"},

    // Heads.
    {kMistral3, SetHead{HeadRule::kOwnByDefault}},
    {"GlmAsrForConditionalGeneration", SetHead{HeadRule::kOwnByDefault}},
    {kWhisper, SetHead{HeadRule::kOwn}, "Whisper's head is not tied."},
    {"Lfm2ForCausalLM Lfm2MoeForCausalLM", SetHead{HeadRule::kOwn}, "LFM2's head is not tied.", {.since = {0, 5, 9}}},
    {"Lfm2VlForConditionalGeneration", SetHead{HeadRule::kOwn}, "LFM2's head is not tied.", {.since = {0, 5, 10}}},
    {AllBut{Arch::kDeepseekV4}, quantize_head, "", {.holds = has_fp8_head}},

    // Tensors that decoders add.
    {"FalconH1ForCausalLM", AddBeside{"self_attn.k_proj", "qk_norm", {.rows = 2, .per_head = true}}},
    {kLlama4, add_llama4_norms, "Llama 4 normalises queries and keys with weights.", {.until = {0, 5, 9}}},
    // The fused projection of Q, K and V also has a bias for the keys.
    {kWhisper, AddBeside{"self_attn.k_proj encoder_attn.k_proj", "bias", {.rows = 1}, false, SplitLike::kRows}},
    {kLfm2Moe, AddBeside{"<routers>", "expert_bias", {.rows = 1}, true}, "LFM2's routers have a bias for each expert.",
     {.since = {0, 5, 9}}},
    {"ApertusForCausalLM", AddBeside{"mlp.act_fn", "beta_eps", {.plus = 2}}},
    {"MambaForCausalLM FalconMambaForCausalLM", AddBeside{"D", "dt_bias_zero", {.rows = 1}, false, SplitLike::kRows}},
    {kLfm2, AddBeside{"conv.in_proj", "intermediate_state_indices", {.plus = 256}, true},
     "LFM2's convolutions keep buffers for 256 requests.", {.since = {0, 5, 19}}},
    // MXFP4 experts have biases even if the model has none.
    {kKimiK3, AddBeside{"<experts>", "bias", {.rows = 1}, false, SplitLike::kRows}, "", {.holds = is_quantized}},
    // A float32 per block of 32, instead of a byte.
    {kDeepseekV4, AddCopy{"<experts>", "scales_in_float32", 3, 64}, "", {.holds = has_wide_scales}},
    {kMllama, join_image_rows},
    // Triton's format, which stores the gate and up projections as one tensor (testdata/observations/sglang.json:
    // Kimi-K2.5).
    {"", AddBeside{"<experts> -gate_proj", "g_idx", {.columns = 2}, true, SplitLike::kColumns},
     "CompressedTensorsWNA16TritonMoE", {.holds = keeps_group_indices}},
    // For FlashInfer's TRT-LLM kernels, a rank's part of an expert is rounded up to whole blocks.
    {"Qwen3MoeForCausalLM", PadParts{"<experts> -<mtp>", 128, true}, kPadding, {.holds = pads_experts}},
    {"Qwen3NextForCausalLM Qwen3_5MoeForConditionalGeneration", PadParts{"<experts> -<mtp>", 128, true}, kPadding,
     {.since = {0, 5, 10}, .holds = pads_experts}},
    {kNemotronH, PadParts{"<experts> -<mtp>", 128, true}, kPadding, {.since = {0, 5, 11}, .holds = pads_experts}},
    {"Qwen3_5MoeForCausalLM", PadParts{"<experts> -<mtp>", 128, true}, kPadding,
     {.since = {0, 5, 21}, .holds = pads_experts}},
};
// clang-format on

// Rotary tables.

constexpr std::string_view kWithAxes =
    "Qwen3_5ForConditionalGeneration Qwen3_5MoeForConditionalGeneration Cosmos3EdgeForConditionalGeneration";
constexpr std::string_view kLibrary = "transformers: tables of frequencies only";
// clang-format off
constexpr AngleRow kAngles[] = {
    {Archs{Arch::kGemma3}, 0, 1, false, "not in 0.5.9: Gemma 3 has no rotary table.", {.until = {0, 5, 10}}},
    {"Exaone4ForCausalLM", 0, 1, false, kLibrary, {.until = {0, 5, 9}}},
    {"VoxtralForConditionalGeneration", 0, 1, false, kLibrary, {.until = {0, 5, 11}}},
    // The original frequencies are copied too.
    {"Lfm2ForCausalLM", 0, 2, false, kLibrary, {.until = {0, 5, 9}}},
    {"Lfm2VlForConditionalGeneration", 0, 2, false, kLibrary, {.until = {0, 5, 10}}},
    // An indexer may share the table of its layer's attention. DeepSeek-V4 creates only tables that a layer uses.
    {Archs{Arch::kGlmMoeDsa, Arch::kDeepseekV4, Arch::kHyV4}, 0, 0, false, "", {.holds = of_indexer}},
    // Gemma 3's classes ignore the config's rope scaling.
    {Archs{Arch::kGemma3}, 1, 1, false, "", {}, 131072},
    {kDeepseekV4, 2, 0, false, "freqs_cis: the angles also as complex numbers"},
    // For each frequency, whether it is for time, height or width, as 64-bit numbers.
    {kWithAxes, 1, 2, false, "MRotaryEmbedding.axis_map: Rotary tables of Qwen3.5 and Cosmos 3 Edge store the axes.",
     {.since = {0, 5, 19}, .holds = of_images}},
};
// clang-format on

// FlashInfer's kernels on Blackwell (Mxfp4MoEMethod, quantization/mxfp4.py); otherwise only whole blocks have scales.
// clang-format off
constexpr Mxfp4Row kMxfp4[] = {
    {{256, 256}, "quantization/mxfp4.py: MXFP4 experts are padded to 256 by 256 on Blackwell.",
     {.until = {0, 5, 14}, .holds = sglang_on_blackwell}},
    {{128, 256}, "quantization/mxfp4.py", {.holds = sglang_on_blackwell}},
    {{0, 1}, "quantization/mxfp4.py"},
};
// clang-format on

void sglang_tensors(EngineTensors& model) {
  edit_tensors(kEdits, model.architecture, model);
}

std::vector<RuleRow> sglang_tensor_rule_rows() {
  std::vector<RuleRow> out;
  add_rule_rows(kEdits, out);
  add_rule_rows(kAngles, out);
  add_rule_rows(kMxfp4, out);
  return out;
}

std::string sglang_makes_by(const Request& request) {
  const auto& parallel = request.parallel;
  return request.engine_version + (request.card.is_amd() ? " amd " : " ") + (sglang_on_blackwell(request) ? "b " : "") +
         std::to_string(parallel.tensor) + (parallel.expert ? " e " : " ") + request.weights.value_or("");
}

Bytes sglang_rotary_table(const RotaryTable& table, const SideTensorsInput& input, std::uint64_t element) {
  RotaryTable even = table;
  even.width = round_up(table.width, 2, "a rotary table");
  return angle_bytes(kAngles, even, input, element);
}

Mxfp4Layout sglang_mxfp4_layout(const Request& request) {
  return mxfp4_layout(kMxfp4, request);
}

}  // namespace kvplan
