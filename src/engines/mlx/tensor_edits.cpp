// A model's tensors in mlx-lm's modules: `sanitize` drops towers and MTP layers, `quant_predicate` keeps some layers in
// another type, `cast_predicate` keeps float32. Source, unless a row has its own: the module's own file in
// mlx_lm/models of 0.32.2. What many modules do differently is a trait (modules.h).
#include "engines/tensor_edits.h"

#include <utility>
#include <vector>

#include "engines/mlx/modules.h"

namespace kvplan {

namespace {

// Changes that a row cannot express, as functions.

// A parameter outside the layers, or one in each of `layers`.
TensorGroup parameter(TensorRole role, std::string_view module, std::uint64_t rows, std::uint64_t columns,
                      std::uint64_t layers) {
  TensorGroup out = derived_tensor(module, rows, columns);
  out.role = role;
  out.is_derived = false;
  if (!module.starts_with("model.layers.")) return out;
  out.place = Place::kLayers;
  if (layers > 0) out.layers = {{0, layers, 1}};
  return out;
}

// A file without hidden_size_per_layer_input still has the inputs of each layer.
void add_layer_inputs(EngineTensors& model) {
  constexpr std::uint64_t kWidth = 256, kVocabulary = 262144;
  const TensorGroup* table = find_tensor(model, "model.embed_tokens");
  if (table == nullptr) return;
  const std::uint64_t hidden = table->columns;
  const std::uint64_t wide = checked_mul(model.num_layers, kWidth, "the inputs of the layers");
  const auto add = [&](TensorRole role, std::string_view module, std::uint64_t rows, std::uint64_t columns) {
    model.tensors.push_back(parameter(role, module, rows, columns, model.num_layers));
  };
  add(TensorRole::kEmbedding, "model.embed_tokens_per_layer", kVocabulary, wide);
  model.tensors.back().component = Component::kEmbedding;
  add(TensorRole::kLinear, "model.per_layer_model_projection", wide, hidden);
  add(TensorRole::kPlain, "model.per_layer_projection_norm", kWidth, 1);
  add(TensorRole::kLinear, "model.layers.*.per_layer_input_gate", kWidth, hidden);
  add(TensorRole::kLinear, "model.layers.*.per_layer_projection", hidden, kWidth);
  add(TensorRole::kPlain, "model.layers.*.post_per_layer_input_norm", hidden, 1);
}
void add_layer_scalars(EngineTensors& model) {
  model.tensors.push_back(parameter(TensorRole::kPlain, "model.layers.*.layer_scalar", 1, 1, model.num_layers));
}

// These layers have dense MLPs of width intermediate_size_mlp instead of experts.
void make_dense(EngineTensors& model) {
  const std::uint64_t width = stated_number(model, "intermediate_size_mlp", 0);
  const TensorGroup* table = find_tensor(model, "model.embed_tokens");
  if (width == 0 || table == nullptr) return;
  const std::uint64_t hidden = table->columns;
  std::erase_if(model.tensors, [](const TensorGroup& group) {
    return group.component == Component::kRouter || group.component == Component::kExperts ||
           group.component == Component::kSharedExperts || group.component == Component::kMlp;
  });
  const auto add = [&](std::string_view module, std::uint64_t rows, std::uint64_t columns) {
    model.tensors.push_back(parameter(TensorRole::kLinear, module, rows, columns, model.num_layers));
    model.tensors.back().component = Component::kMlp;
  };
  add("model.layers.*.mlp.gate_proj", width, hidden);
  add("model.layers.*.mlp.up_proj", width, hidden);
  add("model.layers.*.mlp.down_proj", hidden, width);
}

// Experts of the first and the last layer are not quantized.
void keep_outer_experts(EngineTensors& model) {
  if (model.num_layers == 0) return;
  const std::uint64_t last = model.num_layers - 1;
  std::vector<TensorGroup> outer;
  for (TensorGroup& group : model.tensors) {
    if (!group.is_expert) continue;
    TensorGroup at_end = group;
    at_end.kept = Kept::kPlain;
    at_end.layers.clear();
    std::vector<LayerRun> between;
    for (const LayerRun& run : group.layers)
      for (std::uint64_t i = 0; i < run.count; ++i) {
        const std::uint64_t layer = run.first + i * run.step;
        (layer == 0 || layer == last ? at_end.layers : between).push_back({layer, 1, 1});
      }
    group.layers = std::move(between);
    if (!at_end.layers.empty()) outer.push_back(std::move(at_end));
  }
  std::erase_if(model.tensors, [](const TensorGroup& group) { return group.is_expert && group.layers.empty(); });
  model.tensors.insert(model.tensors.end(), outer.begin(), outer.end());
}

// Each gate of the residual stream is computed from it by two factors.
void split_gates(EngineTensors& model) {
  for (TensorGroup& group : model.tensors) {
    if (!selects("post_attention_residual_gate.gate post_feedforward_residual_gate.gate", group)) continue;
    group.copies *= 2;
    group.used = group.copies;
  }
}

// clang-format off
constexpr TensorEdit kEdits[] = {
    {"", DropTensors{"<derived>"}},
    {"", KeepAs{"<all>", Kept::kAsDeclared}},
    {"", InFloat32{"<all>", false}},

    // Which tensors the module creates.
    {"llama4_text", make_dense},
    // Checkpoints store this tensor as a buffer.
    {"lfm2_moe",
     AddBeside{.of = "<routers>", .name = "e_score_correction_bias", .elements = {.rows = 1}, .is_stored = true}, "",
     {.unless = "use_expert_bias=false"}},
    {"ernie4_5_moe", DropTensors{"e_score_correction_bias"}},
    {"deepseek_v32 glm_moe_dsa", PutInEveryLayer{"*.indexer.*"}},
    // Layers that read another layer's cache still have these projections.
    {"gemma3n", PutInEveryLayer{"self_attn.k_proj self_attn.v_proj self_attn.k_norm"}},
    {"gemma3n", SetRole{"modality_router linear_left linear_right altup_projections", TensorRole::kLinear}},
    // Biases on all four projections and on the head, whatever the config says.
    {"phimoe", DropTensors{"q_proj.bias k_proj.bias v_proj.bias o_proj.bias lm_head.bias"}},
    {"phimoe", AddBeside{.of = "self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.o_proj lm_head",
                         .name = "bias", .elements = {.rows = 1}, .is_stored = true}},
    {"gemma4 gemma4_text", add_layer_inputs, "gemma4_text.py", {.unless = "hidden_size_per_layer_input"}},
    {"gemma4 gemma4_text", add_layer_scalars},
    {"apertus", SetRows{"mlp.act_fn", 4}, "activations.py XieLU: alpha_p, alpha_n, beta and eps"},
    {"muse_spark", DropTensors{"audio_tower.*"}},
    {"muse_spark", split_gates},

    // Their types.
    {"granite granitemoe", KeepAs{"self_attn.o_proj mlp.down_proj lm_head", Kept::kEightBit}},
    {"granitemoe", KeepAs{"experts.*.down_proj", Kept::kEightBit}},
    {"rwkv7", KeepAs{"embed_tokens lora.2", Kept::kEightBit}},
    {"qwen3_5 qwen3_5_moe qwen3_next prism_hadamard_qwen35", KeepAs{"shared_expert_gate", Kept::kEightBit}},
    {"bailing_moe_v3 bailing_hybrid", KeepAs{"self_attn.kv_b_proj", Kept::kPlain}},
    {"bailing_moe_v3", KeepAs{"embed_tokens lm_head self_attn.b_proj", Kept::kPlain}},
    {"bailing_moe_v3", KeepAs{"self_attn.q_a_proj self_attn.q_b_proj self_attn.kv_a_proj_with_mqa", Kept::kPlain}},
    {"kimi_k3", KeepAs{"res_proj", Kept::kPlain}},
    {"spark2_5", KeepAs{"self_attn.g_proj", Kept::kPlain}},
    {"nemotron_h qwen3_5 qwen3_5_moe kimi_k3 kimi_linear bailing_moe_v3", InFloat32{"A_log", true}},
    {"kimi_k3 kimi_linear bailing_moe_v3", InFloat32{"dt_bias", true}},
    {"muse_spark", KeepAs{"<all> -<experts>", Kept::kPlain}, "only experts are quantized"},
    {"muse_spark", keep_outer_experts},
    {"muse_spark", InFloat32{"add_attn_alpha add_attn_beta add_ffn_alpha add_ffn_beta", true}},
    {"muse_spark", InFloat32{"post_attention_residual_gate.gate post_feedforward_residual_gate.gate", true}},
    {"bitnet", KeepAs{"<matrices>", Kept::kTwoBit}, "bitlinear_layers.py: four ternary weights to a byte"},
    {"bitnet", AddBeside{.of = "<matrices>", .name = "weight_scale", .elements = {.plus = 1}, .is_stored = true}},
};
// clang-format on

// utils.py load_model
void unpack_fp8(EngineTensors& model) {
  const QuantDeclaration& declared = model.quantization;
  if (declared.dialect != "fp8" || (declared.scheme && declared.scheme->block_rows == 32)) return;
  model.quantization = {};
  model.notes.push_back({NoteLevel::kInfo, "unpacked_weights",
                         "mlx-lm turns this checkpoint's FP8 weights into 16 bit as it loads them"});
}

void keep_one_kv_head(EngineTensors& model) {
  for (TensorGroup& group : model.tensors)
    if (group.units > 0 && selects("self_attn.k_proj self_attn.v_proj", group)) {
      group.rows /= group.units;
      group.units = 1;
    }
}

void narrow_heads(EngineTensors& model) {
  const std::uint64_t width = mlx_head_dim(mlx_module(model.root_type, model.model_type), model.facts);
  for (TensorGroup& group : model.tensors) {
    if (group.units == 0 || width == 0) continue;
    if (selects("self_attn.q_proj self_attn.k_proj self_attn.v_proj", group)) group.rows = group.units * width;
    if (selects("self_attn.o_proj", group)) group.columns = group.units * width;
  }
}

struct TraitEdit {
  MlxTrait trait;
  Change change;
};
constexpr TraitEdit kTraitEdits[] = {
    {kUnpacksFp8, unpack_fp8},
    {kOneKvHead, keep_one_kv_head},
    {kNarrowHeads, narrow_heads},
    {kEightBitRouter, KeepAs{"<routers>", Kept::kEightBit}},
    {kPlainRouter, KeepAs{"<routers>", Kept::kPlain}},
    {kFloat32Bias, InFloat32{"e_score_correction_bias", true}},
    {kOwnHead, SetHead{HeadRule::kOwn}},
    {kNoHead, SetHead{HeadRule::kTied}},
    {kOwnByDefault, SetHead{HeadRule::kOwnByDefault}},
    {kTiedByDefault, SetHead{HeadRule::kTiedByDefault}},
};

}  // namespace

void mlx_tensors(EngineTensors& model) {
  const MlxModule module = mlx_module(model.root_type, model.model_type);
  if (!module.is(kWithTowers)) drop_towers(model);
  edit_tensors(kEdits, module.name, model);
  for (const TraitEdit& row : kTraitEdits)
    if (module.is(row.trait)) edit_tensors(row.change, model);
}

}  // namespace kvplan
