// A model's tensors in vLLM's classes: which ones they leave out, pad, store in another type or add, and what vLLM
// stores in addition. Tensors that depend on neither release nor GPU are derived in src/models
// (TensorGroup::is_derived).
#include "engines/tensor_edits.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engines/vllm/class_table.h"
#include "engines/vllm/rules.h"
#include "engines/vllm/vllm.h"

namespace kvplan {

namespace {

// When a row applies.

bool pads_experts(const EngineTensors& model) {
  return vllm_is_data_blackwell(*model.request) && !is_declared(model.quantization);
}
bool lacks_router_kernel(const EngineTensors& model) {
  const unsigned card = model.request->card.capability();
  return card != 0 && card != 90 && card / 10 != 10;
}
bool is_older_than_hopper(const EngineTensors& model) {
  return model.request->card.capability() != 0 && model.request->card.capability() < 90;
}
bool indexes_every_layer(const EngineTensors& model) {
  return vllm_indexes_every_layer(model.arch, model.facts, vllm_rules(*model.request));
}
bool pads_shared_experts(const EngineTensors& model) {
  return vllm_pads_shared_experts(model.arch, *model.request, vllm_rules(*model.request)) &&
         is_declared(model.quantization);
}
bool is_modelopt(const EngineTensors& model) {
  return model.quantization.dialect.starts_with("modelopt");
}
bool has_draft(const EngineTensors& model) {
  return model.request->mtp;
}
bool keeps_tables_on_host(const EngineTensors& model) {
  return !model.request->vllm.engram_on_gpu;
}
bool takes_images(const EngineTensors& model) {
  return model.architecture.ends_with("ForConditionalGeneration");
}
bool builds_no_indexer(const EngineTensors& model) {
  return vllm_builds_no_indexer(model.arch, vllm_rules(*model.request));
}
bool has_no_experts(const EngineTensors& model) {
  return std::none_of(model.tensors.begin(), model.tensors.end(),
                      [](const TensorGroup& group) { return group.is_expert; });
}

// Changes that a row cannot express, as functions.

std::uint64_t batch_of(const EngineTensors& model) {
  EngineInput asked;
  asked.model.arch = model.arch;
  asked.request = *model.request;
  return vllm_batched_tokens(asked, vllm_rules(*model.request));
}

void pack_unlisted_head(EngineTensors& model) {
  QuantDeclaration& declared = model.quantization;
  if (is_modelopt(model) && declared.scheme && !declared.expert_scheme && !declared.head_scheme &&
      declared.rules.empty())
    declared.head_scheme = declared.scheme;
}

void narrow_block_scales(EngineTensors& model) {
  const auto narrow = [](std::optional<WeightScheme>& scheme) {
    if (scheme && scheme->type == "fp8-block") scheme->type = "fp8-block-e8m0";
  };
  narrow(model.quantization.scheme);
  narrow(model.quantization.expert_scheme);
  for (SchemeRule& rule : model.quantization.rules) narrow(rule.scheme);
}

void add_chosen_tokens(EngineTensors& model) {
  const std::uint64_t chosen = stated_number(model, "index_topk", 0);
  if (chosen == 0) return;
  model.tensors.push_back(derived_tensor("model.topk_indices_buffer", batch_of(model), chosen));
  model.tensors.back().is_float32 = true;  // int32
}

void add_draft_buffer(EngineTensors& model) {
  const TensorGroup* table = find_tensor(model, "model.embed_tokens");
  if (table == nullptr) return;
  const std::uint64_t width = checked_mul(table->columns, stated_number(model, "hc_mult", 4), "hidden states");
  model.tensors.push_back(derived_tensor("model._mtp_hidden_buffer", batch_of(model), width));
}

void add_layer_embeddings(EngineTensors& model) {
  const TensorGroup* table = find_tensor(model, "model.embed_tokens_per_layer");
  if (table == nullptr) return;
  const std::uint64_t width = table->columns;
  model.tensors.push_back(derived_tensor("per_layer_embeddings", batch_of(model), width));
}

// Index queries have as many heads as the cache, and ranks share them in the same way.
void split_index_queries(EngineTensors& model) {
  std::uint64_t width = 0;
  for (const TensorGroup& keys : model.tensors)
    if (selects("self_attn.index_k_proj", keys)) width = keys.rows;
  for (TensorGroup& queries : model.tensors) {
    if (width == 0 || !selects("self_attn.index_q_proj", queries)) continue;
    queries.split = Split::kRows;
    queries.units = queries.rows / width;
  }
}

// The fused matrix has one row of beta per head. Its other rows are multiples of a head's width.
void pad_kda(EngineTensors& model) {
  constexpr std::uint64_t kMultiple = 16;
  const std::uint64_t ranks = std::max<std::uint64_t>(1, model.request->parallel.tensor);
  const TensorGroup* table = find_tensor(model, "model.embed_tokens");
  if (table == nullptr) return;
  const std::uint64_t width = table->columns;
  std::vector<TensorGroup> more;
  for (const TensorGroup& rates : model.tensors) {
    if (!selects("self_attn.A_log", rates) || rates.rows % ranks != 0) continue;
    const std::uint64_t heads = rates.rows / ranks;
    TensorGroup padding = derived_beside(rates, "padding", round_up(heads, kMultiple, "rows") - heads);
    padding.columns = width;
    if (padding.rows > 0) more.push_back(std::move(padding));
  }
  model.tensors.insert(model.tensors.end(), more.begin(), more.end());
}

// The merger's inner width is that of the tower's MLPs.
void size_merger(EngineTensors& model) {
  const TensorGroup* mlp = find_tensor(model, "visual.blocks.fc2");
  if (mlp == nullptr) return;
  const std::uint64_t width = mlp->columns;
  for (TensorGroup& group : model.tensors) {
    if (group.module == "visual.merger.gate_up_proj") group.rows = 2 * width;
    if (group.module == "visual.merger.down_proj") group.columns = width;
  }
}

constexpr Archs kGemmas{Arch::kGemma, Arch::kGemma2, Arch::kGemma3};
constexpr Archs kGemmasByLayer{Arch::kGemma3n, Arch::kGemma4, Arch::kGemma4Unified};
constexpr Archs kDeepseeks{Arch::kDeepseekV3, Arch::kDeepseekV32, Arch::kGlmMoeDsa};
constexpr Archs kDeepseekV4{Arch::kDeepseekV4};
constexpr std::string_view kEncoders =
    "BertModel BertForSequenceClassification RobertaModel RobertaForSequenceClassification XLMRobertaModel "
    "XLMRobertaForSequenceClassification";
constexpr std::string_view kMoss = "MossTranscribeDiarizeForConditionalGeneration";
constexpr Archs kKimi{Arch::kKimiLinear, Arch::kKimiK3};

// clang-format off
constexpr TensorEdit kEdits[] = {
    // Only the layers whose output is used are loaded.
    {"", DropTensors{"vision_tower.unread_* vision_tower.head.*"}, "models/llava.py init_vision_tower_for_llava"},
    // The head is quantized like other layers, unless the list of excluded modules names it.
    {"", pack_unlisted_head, "quantization/modelopt.py get_quant_method"},
    {"", KeepAs{"lm_head", Kept::kPlain},
     "ParallelLMHead in quantization/modelopt.py; not in 0.22: The head of a ModelOpt checkpoint is in 16 bits.",
     {.until = {0, 23}, .holds = is_modelopt}},
    {AllBut{Arch::kGemma4, Arch::kGemma4Unified, Arch::kGptOss}, PadParts{"<experts>", 128},
     "fused_moe/oracle/unquantized.py; not in 0.30: Experts that are not quantized are padded to 128 on data centre "
     "Blackwell, except with activations that FlashInfer's kernel lacks.",
     {.since = {0, 31}, .holds = pads_experts}},
    // The scales of FP8 blocks are powers of two, one byte each.
    {kDeepseekV4, narrow_block_scales, "models/deepseek_v4"},
    {kDeepseekV4, PadParts{"<shared-experts>", 128}, "models/deepseek_v4", {.holds = pads_shared_experts}},
    {kDeepseekV4, add_chosen_tokens, "models/deepseek_v4"},
    {kDeepseekV4, add_draft_buffer, "models/deepseek_v4: DeepSeek-V4 has the draft's buffer even without a draft.",
     {.until = {0, 27}}},
    {kDeepseekV4, add_draft_buffer,
     "models/deepseek_v4; not in 0.26: DeepSeek-V4 has the draft's buffer only with a draft.",
     {.since = {0, 27}, .holds = has_draft}},
    {kDeepseekV4, DropTensors{"e_score_correction_bias"}, "models/deepseek_v4", {.unless = "topk_method=\"noaux_tc\""}},
    {kDeepseeks, DropTensors{"e_score_correction_bias"}, "models/deepseek_v2.py",
     {.unless = "topk_method=\"noaux_tc\""}},
    {kDeepseeks, PutInEveryLayer{"indexer.wq_b indexer.wk indexer.k_norm indexer.k_norm.bias indexer.weights_proj"},
     "models/deepseek_v2.py", {.holds = indexes_every_layer}},
    {Archs{Arch::kNemotronH}, KeepAs{"<routers>", Kept::kFloat32}, "fused_moe/router/gate_linear.py",
     {.holds = lacks_router_kernel}},
    {"BeamForCausalLM", KeepAs{"<routers>", Kept::kFloat32}, "models/beam"},
    {"Glm4MoeForCausalLM", KeepAs{"<routers>", Kept::kFloat32}, "models/glm4_moe.py"},
    {"Glm4vMoeForConditionalGeneration", KeepAs{"<routers>", Kept::kFloat32}, "models/glm4_moe.py"},
    {"SarvamMLAForCausalLM", KeepAs{"<routers>", Kept::kFloat32}, "models/sarvam.py: Sarvam's routers are in float32.",
     {.until = {0, 31}, .unless = "router_dtype=\"bf16\""}},
    // Copies for FlashKDA, if the GPU runs it.
    {kKimi, DropTensors{"decode_conv1d decode_norm"}, "models/kimi_k3/nvidia/kda.py", {.holds = is_older_than_hopper}},
    {kKimi, pad_kda, "models/kimi_k3/nvidia/kda.py"},
    {Archs{Arch::kMinimaxM3}, split_index_queries, "models/minimax_m3/nvidia/model.py"},
    {Archs{Arch::kGemma3n}, PutInEveryLayer{"self_attn.k_proj self_attn.v_proj self_attn.k_norm self_attn.v_norm"},
     "models/gemma3n.py: Layers of Gemma 3n that read another layer's cache have K and V projections.",
     {.until = {0, 30}}},
    // The embeddings of a batch for each layer.
    {kGemmasByLayer, add_layer_embeddings, "models/gemma3n_mm.py, gemma4_mm.py", {.holds = takes_images}},
    {Archs{Arch::kLlama4}, SplitBy{"patch_embedding vision_adapter.fc1 multi_modal_projector.linear_1", Split::kRows},
     "models/mllama4.py"},
    {Archs{Arch::kLlama4}, SplitBy{"vision_adapter.fc2", Split::kColumns}, "models/mllama4.py"},
    {Archs{Arch::kMllama}, DropTensors{"model.embed_tokens.image"}, "transformers' class, which runs it"},
    // The scaling factor of the embedding.
    {kGemmas, AddBuffer{"model.normalizer", 1}, "models/gemma.py"},
    {"VaultGemmaForCausalLM", AddBuffer{"model.normalizer", 1}, "models/gemma.py"},
    // Checkpoints store this tensor as a buffer.
    {"Lfm2MoeForCausalLM", AddBeside{"<routers>", "e_score_correction_bias", {.rows = 1}, true}, "models/lfm2_moe.py",
     {.unless = "use_expert_bias=false"}},
    {"GlmOcrForConditionalGeneration", size_merger, "models/glm_ocr.py"},
    // Whisper's encoder. Its MLPs have the usual width if the config has no encoder_ffn_dim.
    {kMoss, SetRows{"audio_tower.layers.fc1*", 1536}, "models/moss_transcribe_diarize.py",
     {.unless = "encoder_ffn_dim"}},
    {kMoss, SetColumns{"audio_tower.layers.fc2", 1536}, "models/moss_transcribe_diarize.py",
     {.unless = "encoder_ffn_dim"}},
    {"LlavaNextVideoForConditionalGeneration", DropTensors{"image_newline"}, "models/llava_next_video.py"},
    {Archs{Arch::kQwen4Exp}, DropTensors{"ple.ngram_embedding"}, "models/qwen4_exp: in the host's memory",
     {.holds = keeps_tables_on_host}},
    {Archs{Arch::kDeepseekV41}, DropTensors{"engram.embed engram.embed.scale"},
     "config/engram.py: cpu_offload is the default", {.holds = keeps_tables_on_host}},
    {"HYV4ForCausalLM", DropTensors{"*.indexer.*"}, "hy_v4/nvidia/attention.py", {.holds = builds_no_indexer}},
    {"HYV4ForCausalLM", KeepAs{"self_attn.sinks", Kept::kAsDeclared}, "hy_v4/nvidia/attention.py",
     {.holds = builds_no_indexer}},
    {"DiffusionGemmaForBlockDiffusion",
     DropTensors{"router.scale router.per_expert_scale router.norm router.root_size moe_norms"},
     "models/diffusion_gemma.py", {.holds = has_no_experts}},
    {"OlmoHybridForCausalLM", KeepAs{"A_log", Kept::kAsDeclared}, "models/olmo_hybrid.py"},
    // vLLM runs this model with GLM-4's class.
    {"Glm4vForConditionalGeneration", DropTensors{"self_attn.q_proj.bias self_attn.k_proj.bias self_attn.v_proj.bias"},
     "models/glm4.py", {.unless = "attention_bias=true"}},
    // Files store a copy of the head.
    {"FalconForCausalLM", SetHead{HeadRule::kTiedByDefault}, "models/falcon.py"},
    {"BertModel RobertaModel XLMRobertaModel", DropTensors{"pooler.dense pooler.dense.bias"}, "models/bert.py"},
    {"RobertaForSequenceClassification XLMRobertaForSequenceClassification",
     InFloat32{"pooler.dense pooler.dense.bias classifier classifier.bias", true}, "models/roberta.py: head_dtype"},
    {kEncoders, AddBeside{"embeddings.position_embeddings", "position_ids", {.rows = 2}, true}, "models/bert.py: int64"},
    {kEncoders, PadParts{"embeddings.position_embeddings embeddings.token_type_embeddings", 64}, "models/bert.py"},
    {"HunYuanDenseV1ForCausalLM", SplitBy{"<vocabulary>", Split::kRows},
     "HunYuanDenseV1ForCausalLM: HunYuan's vocabulary is not padded.", {.until = {0, 29}}},
};
// clang-format on

// What is stored in addition to tensors: scales and rotary tables; and how MXFP4 experts are padded.

// Each attention layer has scales of Q, K, V and the probabilities, copies of the K and V scales for the host, and
// ranges of Q, K and V (set_default_quant_scales).
constexpr std::uint64_t kScales = 16, kCopies = 8, kRanges = 12;
// Parameters for the scales of K and V, if the checkpoint's method may set these (BaseKVCacheMethod).
constexpr std::uint64_t kLoadedScales = 8;

// Classes that vLLM runs with transformers' own code.
struct LibraryClasses {
  Models models;
  When<> when;
  std::string_view source = "registry.py, _TRANSFORMERS_SUPPORTED_MODELS: classes that run with transformers' code";
};
constexpr LibraryClasses kLibraryClasses[] = {
    {"MllamaForConditionalGeneration SmolLM3ForCausalLM", {.since = {0, 11}}},
    {"GPTBigCodeForCausalLM Starcoder2ForCausalLM", {.since = {0, 25}}},
    {"OlmoForCausalLM Olmo2ForCausalLM", {.since = {0, 26}}},
    {"VaultGemmaForCausalLM", {.since = {0, 27}}},
    {"FlexOlmoForCausalLM HunYuanDenseV1ForCausalLM HunYuanMoEV1ForCausalLM Olmo3ForCausalLM", {.since = {0, 29}}},
    {"NanbeigeForCausalLM", {.since = {0, 30}}},
    {"ArceeForCausalLM CwmForCausalLM GlmForCausalLM GPTNeoXForCausalLM Jais2ForCausalLM MellumForCausalLM "
     "PhiForCausalLM SeedOssForCausalLM",
     {.since = {0, 32}}},
    {"Kolibri1ForCausalLM", {.since = {0, 33}}},
};
bool runs_library_class(const SideTensorsInput& input) {
  return std::any_of(std::begin(kLibraryClasses), std::end(kLibraryClasses), [&](const LibraryClasses& row) {
    return is_for(row.models, input.architecture, input.arch) && holds(row.when, *input.request);
  });
}

bool in_library(const RotaryTable&, const SideTensorsInput& input) {
  return runs_library_class(input);
}
bool scales_latents(const RotaryTable& table, const SideTensorsInput& input) {
  return table.is_yarn && vllm_uses_mla(input.arch);
}
bool scales_latents_eagerly(const RotaryTable& table, const SideTensorsInput& input) {
  return scales_latents(table, input) && input.request->enforce_eager;
}

constexpr std::string_view kLibraryTable = "transformers: the angles are computed when they are needed";
constexpr std::string_view kShortTable =
    "qwen3_vl.py mrope_positions_factor; not in 0.31: Rotary tables of Qwen3-VL and Qwen3.5 are as long as the "
    "context.";
constexpr std::string_view kSharedTable = "indexers use the table of the attention beside them";
// clang-format off
constexpr AngleRow kAngles[] = {
    // Window layers have a second table.
    {"Olmo3ForCausalLM", 0, 4, true, kLibraryTable, {.holds = in_library}},
    {"", 0, 2, true, kLibraryTable, {.holds = in_library}},
    {Archs{Arch::kGlmMoeDsa, Arch::kDeepseekV4, Arch::kHyV4}, 0, 0, false, kSharedTable, {.holds = of_indexer}},
    {"Cosmos3EdgeForConditionalGeneration", 4, 0, false, "cosmos3_edge.py", {.holds = of_images}},
    {"Qwen3VLForConditionalGeneration Qwen3VLMoeForConditionalGeneration Qwen3OmniMoeForConditionalGeneration", 1, 0, false,
     kShortTable, {.since = {0, 32}, .holds = of_images}},
    {Archs{Arch::kQwen3p5, Arch::kQwen4Exp}, 1, 0, false, kShortTable, {.since = {0, 32}, .holds = of_images}},
    {"", 4, 0, false, "MRotaryEmbedding: Rotary tables of multimodal models are four times as long as the context.",
     {.holds = of_images}},
    {Archs{Arch::kDeepseekV32}, 1, 0, true,
     "DEFAULT_BREAKABLE_CUDAGRAPH_ARCHITECTURES, which run vLLM's own operators: YaRN's table is in float32.",
     {.since = {0, 29}, .holds = scales_latents}},
    {"", 1, 0, true,
     "DeepseekScalingRotaryEmbedding.use_flashinfer: YaRN's table is in float32 where nothing is compiled.",
     {.since = {0, 14}, .holds = scales_latents_eagerly}},
    {Archs{Arch::kGptOss, Arch::kDeepseekV4}, 1, 0, true, "models/gpt_oss.py, deepseek_v4"},
};
// clang-format on

// MXFP4 kernels are Marlin (quantization/mxfp4.py), FlashInfer on data centre Blackwell, and Triton on Hopper. Their
// padding shows in logs of gpt-oss (testdata/observations/weights.json).
bool on_no_card(const Request& request) {
  return request.card.capability() == 0;
}
// clang-format off
constexpr Mxfp4Row kMxfp4[] = {
    {{}, "", {.holds = on_no_card}},
    {{}, "before Mxfp4Backend.TRITON; a log of 0.11.0: MXFP4 experts have no special layout on Hopper.",
     {.until = {0, 11}, .holds = vllm_is_hopper}},
    {{64, 1, 256},
     "HopperMXScaleLayout, 2 x 8 warps x 2 x 8 rows: Triton keeps a checkpoint's MXFP4 scales beside its own.",
     {.until = {0, 25}, .holds = vllm_is_hopper}},
    {{64, 1, 0}, "vllm-project/vllm#46549", {.holds = vllm_is_hopper}},
    {{256, 256}, "quantization/mxfp4.py; not in 0.27: MXFP4 experts are padded to 256 by 256 on data centre Blackwell.",
     {.until = {0, 27}, .holds = vllm_is_data_blackwell}},
    {{128, 256}, "quantization/mxfp4.py"},
};
// clang-format on

bool loads_scales(const SideTensorsInput& input) {
  if (!input.quantization->names_method) return false;
  const std::string& method = input.quantization->dialect;
  if (method.starts_with("modelopt")) return true;
  return !vllm_uses_mla(input.arch) && (method == "fp8" || method == "compressed-tensors");
}

}  // namespace

std::string vllm_makes_by(const Request& request) {
  // The default batch depends on the GPU's memory.
  const Bytes named = request.card.gpu ? request.card.gpu->budget() : Bytes(0);
  std::string key = request.engine_version + " ";
  for (const std::uint64_t part : {std::uint64_t{request.card.capability()}, request.parallel.tensor,
                                   request.max_num_batched_tokens.value_or(Tokens(0)).count(),
                                   request.card.memory.value_or(named).count(), std::uint64_t{request.mtp}})
    key += std::to_string(part) + " ";
  return key;
}

void vllm_make_tensors(EngineTensors& model) {
  edit_tensors(kEdits, model.architecture, model);
  if (model.quantization.scheme && vllm_rules(*model.request).unpacks_bnb_scales)
    model.quantization.scheme->double_quantized = false;  // no other type of vLLM's has two levels of scales
}

Bytes vllm_rotary_table(const RotaryTable& table, const SideTensorsInput& input, std::uint64_t element) {
  return angle_bytes(kAngles, table, input, element);
}

std::vector<LedgerLine> vllm_side_tensors(const SideTensorsInput& input) {
  std::vector<LedgerLine> out;
  const VllmRules rules = vllm_rules(*input.request);
  const std::uint64_t scales = kScales + (rules.copies_scales ? kCopies : 0) + (rules.fewer_scales ? 0 : kRanges) +
                               (loads_scales(input) ? kLoadedScales : 0);
  // Earlier the library's classes kept their attention layers outside of the model. DeepSeek-V4's layer has no scales.
  const bool has_scales = input.arch != Arch::kDeepseekV4 && (rules.library_scales || !runs_library_class(input));
  if (input.attention_layers > 0 && has_scales)
    out.push_back(of_kind(
        LineId::kOther,
        exact_line(Section::kWeights, "scales of attention", Bytes(scales) * input.attention_layers,
                   {"{num_layers} layers x {scales} B", {{"num_layers", input.attention_layers}, {"scales", scales}}},
                   "vLLM model_executor/layers/attention/attention.py")));
  if (input.index_topk != 0) {
    EngineInput asked;
    asked.model.arch = input.arch;
    asked.request = *input.request;
    const std::uint64_t tokens = vllm_batched_tokens(asked, rules);
    out.push_back(of_kind(
        LineId::kOther,
        exact_line(
            Section::kWeights, "tokens that the indexer chooses",
            Bytes(checked_mul(tokens, input.index_topk, "the tokens that an indexer chooses")) * 4,
            {"{tokens} tokens of a batch x {index_topk} x 4 B", {{"tokens", tokens}, {"index_topk", input.index_topk}}},
            "vLLM models/deepseek_v2.py topk_indices_buffer")));
  }
  return out;
}

std::vector<RuleRow> vllm_tensor_rule_rows() {
  std::vector<RuleRow> out;
  add_rule_rows(kEdits, out);
  add_rule_rows(kLibraryClasses, out);
  add_rule_rows(kAngles, out);
  add_rule_rows(kMxfp4, out);
  return out;
}

Mxfp4Layout vllm_mxfp4_layout(const Request& request) {
  return mxfp4_layout(kMxfp4, request);
}

}  // namespace kvplan
