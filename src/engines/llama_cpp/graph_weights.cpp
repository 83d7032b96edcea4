#include "engines/llama_cpp/graph_weights.h"

#include <array>

#include "kvplan/ggml_types.h"

namespace kvplan {

namespace {

// Modules of a config's layers, and their names in llama.cpp's converter.
struct Module {
  std::string_view end, name;
};
constexpr std::array kModules{
    Module{"self_attn.q_proj", "attn_q"},
    Module{"self_attn.k_proj", "attn_k"},
    Module{"self_attn.v_proj", "attn_v"},
    Module{"self_attn.qkv_proj", "attn_qkv"},
    Module{"self_attn.o_proj", "attn_output"},
    Module{"self_attn.q_norm", "attn_q_norm"},
    Module{"self_attn.k_norm", "attn_k_norm"},
    Module{"self_attn.sinks", "attn_sinks"},
    Module{"self_attn.q_a_proj", "attn_q_a"},
    Module{"self_attn.q_a_layernorm", "attn_q_a_norm"},
    Module{"self_attn.q_b_proj", "attn_q_b"},
    Module{"self_attn.kv_a_proj_with_mqa", "attn_kv_a_mqa"},
    Module{"self_attn.kv_a_layernorm", "attn_kv_a_norm"},
    Module{"mlp.gate_proj", "ffn_gate"},
    Module{"mlp.up_proj", "ffn_up"},
    Module{"mlp.gate_up_proj", "ffn_up"},
    Module{"mlp.down_proj", "ffn_down"},
    Module{"experts.*.gate_proj", "ffn_gate_exps"},
    Module{"experts.*.up_proj", "ffn_up_exps"},
    Module{"experts.*.down_proj", "ffn_down_exps"},
    Module{"mlp.gate", "ffn_gate_inp"},
    Module{"block_sparse_moe.gate", "ffn_gate_inp"},
    Module{"mlp.router", "ffn_gate_inp"},
    Module{"gate.e_score_correction_bias", "exp_probs_b.bias"},
    Module{"shared_experts.gate_proj", "ffn_gate_shexp"},
    Module{"shared_experts.up_proj", "ffn_up_shexp"},
    Module{"shared_experts.down_proj", "ffn_down_shexp"},
    Module{"shared_expert.gate_proj", "ffn_gate_shexp"},
    Module{"shared_expert.up_proj", "ffn_up_shexp"},
    Module{"shared_expert.down_proj", "ffn_down_shexp"},
    Module{"mlp.shared_expert_gate", "ffn_gate_inp_shexp"},
    Module{"self_attn.indexer.wk", "indexer.attn_k"},
    Module{"self_attn.indexer.wq_b", "indexer.attn_q_b"},
    Module{"self_attn.indexer.weights_proj", "indexer.proj"},
    Module{"linear_attn.in_proj_qkv", "attn_qkv"},
    Module{"linear_attn.in_proj_z", "attn_gate"},
    Module{"linear_attn.in_proj_ba", "ssm_ba"},
    Module{"linear_attn.conv1d", "ssm_conv1d"},
    Module{"linear_attn.A_log", "ssm_a"},
    Module{"linear_attn.dt_bias", "ssm_dt.bias"},
    Module{"linear_attn.norm", "ssm_norm"},
    Module{"linear_attn.out_proj", "ssm_out"},
    Module{"conv.in_proj", "shortconv.in_proj"},
    Module{"conv.conv", "shortconv.conv"},
    Module{"conv.out_proj", "shortconv.out_proj"},
    Module{"per_layer_input_gate", "inp_gate"},
    Module{"per_layer_projection", "proj"},
    Module{"post_per_layer_input_norm", "post_norm"},
};
// Modules outside of the layers.
constexpr std::array kOutside{
    Module{"model.embed_tokens_per_layer", "per_layer_token_embd"},
    Module{"model.per_layer_model_projection", "per_layer_model_proj"},
    Module{"model.per_layer_projection_norm", "per_layer_proj_norm"},
    Module{"model.norm", "output_norm"},
    Module{"lm_head", "output"},
};

}  // namespace

GraphWeights::GraphWeights(const ModelShape& model, double weight_bits) : weight_bits_(weight_bits) {
  for (const TensorGroup& group : model.tensors) {
    if (is_tower(group.component) || group.component == Component::kMtp) continue;
    model.is_gguf ? add(model, group) : add_module(model, group);
  }
}

bool GraphWeights::is_beside(std::string_view name) {
  return name.ends_with("input_scale") || name.starts_with("rope_f") || name.starts_with("nextn.") ||
         name == "exp_probs_b_vl.bias";  // for image tokens
}

void GraphWeights::add(const ModelShape& model, const TensorGroup& group) {
  std::string_view name = group.module;
  if (name.ends_with(".weight")) name.remove_suffix(7);
  ElementType type = kElementF16;
  if (const auto stored = find_ggml_type(group.stored_type)) type = {stored->id, stored->block, stored->bytes};
  const GraphWeight weight{type, {group.columns, group.rows, group.copies, 1}};
  constexpr std::string_view kLayer = "blk.*.";
  if (!name.starts_with(kLayer)) {
    outside_[std::string(name)] = weight;
    return;
  }
  put(model, name.substr(kLayer.size()), group, weight);
}

void GraphWeights::put(const ModelShape& model, std::string_view name, const TensorGroup& group,
                       const GraphWeight& weight) {
  const std::uint64_t layers = model.num_layers + model.num_nextn_layers;
  std::vector<GraphWeight>& all = in_layers_[std::string(name)];
  all.resize(layers, GraphWeight{kElementF32, {0, 0, 0, 0}});
  for (const LayerRun& run : group.layers) {
    for (std::uint64_t i = 0; i < run.count; ++i) {
      const std::uint64_t layer = run.first + i * run.step;
      if (layer >= layers) continue;
      // Parts of one fused matrix are separate groups.
      const bool joins = all[layer].ne[0] == weight.ne[0] && !group.is_expert && !model.is_gguf;
      const std::uint64_t before = joins ? all[layer].ne[1] : 0;
      all[layer] = weight;
      all[layer].ne[1] += before;
    }
  }
}

void GraphWeights::add_module(const ModelShape& model, const TensorGroup& group) {
  const std::string_view module = group.module;
  const auto bits = static_cast<std::uint32_t>(weight_bits_ * 4);
  const ElementType packed{1, 32, std::max<std::uint32_t>(1, bits)};
  const bool is_vector = group.role == TensorRole::kPlain;
  const Dims of_vector = group.columns > 1 ? Dims{group.columns, group.rows, 1, 1} : Dims{group.rows, 1, 1, 1};
  const GraphWeight weight = is_vector ? GraphWeight{kElementF32, of_vector}
                                       : GraphWeight{packed, {group.columns, group.rows, group.copies, 1}};
  if (module == "model.embed_tokens") outside_["token_embd"] = {kElementF16, weight.ne};
  for (const Module& known : kOutside)
    if (module == known.end) outside_[std::string(known.name)] = weight;
  if (group.layers.empty()) return;
  if (module.ends_with(".input_layernorm")) {
    // A layer's norms are one group, including their biases.
    const std::uint64_t copies = model.graph.norms_have_bias ? group.copies / 2 : group.copies;
    constexpr std::array<std::string_view, 4> kNorms{"attn_norm", "ffn_norm", "post_attention_norm", "post_ffw_norm"};
    if (copies == 0 || copies == 3 || copies > kNorms.size()) has_unknown_ = true;
    for (std::size_t i = 0; i < std::min<std::size_t>(copies, kNorms.size()); ++i) put(model, kNorms[i], group, weight);
    return;
  }
  std::string_view end = module;
  const bool is_bias = end.ends_with(".bias");
  if (is_bias) end.remove_suffix(5);
  if (end.ends_with("self_attn.kv_b_proj")) {
    put(model, "attn_k_b", group, weight);
    put(model, "attn_v_b", group, weight);
    return;
  }
  // Scale and bias are one group.
  if (end.ends_with("self_attn.indexer.k_norm")) {
    put(model, "indexer.k_norm", group, {kElementF32, {group.rows / 2, 1, 1, 1}});
    put(model, "indexer.k_norm.bias", group, {kElementF32, {group.rows / 2, 1, 1, 1}});
    return;
  }
  if (end.ends_with("linear_attn.in_proj_ba") && model.arch != Arch::kQwen3Next) {
    GraphWeight half = weight;
    half.ne[1] /= 2;
    put(model, "ssm_alpha", group, half);
    put(model, "ssm_beta", group, half);
    return;
  }
  for (const Module& known : kModules) {
    if (!end.ends_with(known.end)) continue;
    put(model, is_bias ? std::string(known.name) + ".bias" : std::string(known.name), group, weight);
    return;
  }
  has_unknown_ = true;
}

const GraphWeight* GraphWeights::find(std::string_view name, std::uint64_t layer) const {
  const auto found = in_layers_.find(name);
  if (found == in_layers_.end() || layer >= found->second.size()) return nullptr;
  const GraphWeight& weight = found->second[layer];
  return weight.ne[0] == 0 ? nullptr : &weight;
}

const GraphWeight* GraphWeights::find(std::string_view name) const {
  const auto found = outside_.find(name);
  return found == outside_.end() ? nullptr : &found->second;
}

}  // namespace kvplan
