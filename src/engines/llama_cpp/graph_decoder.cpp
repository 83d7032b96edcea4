// Layers of a decoder, and the whole graph.
//
// Source: src/models/*.cpp of v0.5.0 and v0.6.0.
#include <algorithm>
#include <stdexcept>

#include "engines/llama_cpp/graph_builder.h"
#include "kvplan/strings.h"

namespace kvplan {

constexpr std::uint64_t kTensorsOfLayer = 64;  // a rough limit: most layers have 40 to 60

GraphBuilder::GraphBuilder(const GraphQuestion& question, const GraphWeights& weights)
    : question_(question), input_(*question.input), model_(input_.model), weights_(weights) {
  // Every sequence of the batch has the same number of tokens.
  const std::uint64_t seqs = std::max<std::uint64_t>(1, question.context.num_seqs);
  tokens_ = (question.context.n_ubatch + seqs - 1) / seqs * seqs;
  graph_.reserve(kTensorsOfLayer * model_.num_layers);
}

bool GraphBuilder::covers() const {
  return weights_.find("token_embd") != nullptr && weights_.find("output") != nullptr;
}

// Whether rows without logits are kept until after the last layer, because a draft may need all hidden states.
bool GraphBuilder::chooses_late() const {
  return question_.rules.chooses_late && (model_.graph.chooses_late || question_.of_class.chooses_late);
}

bool GraphBuilder::build() {
  try {
    return build_all();
  } catch (const NotCovered&) {
    return false;
  } catch (const std::out_of_range&) {  // the layer lacks a tensor
    return false;
  }
}

bool GraphBuilder::build_all() {
  if (!covers() || !read_states() || !read_caches()) return false;
  const bool embeds_layers = weights_.any("inp_gate");
  TensorId of_layers = kNoTensor;
  if (embeds_layers && question_.rules.looks_up_layers_first) graph_.expand(of_layers = look_up_layers());
  TensorId x = embed();
  if (embeds_layers) embed_layers(x, of_layers != kNoTensor ? of_layers : look_up_layers());
  for (layer_ = 0; layer_ < model_.num_layers; ++layer_) {
    last_ = layer_ + 1 == model_.num_layers && !chooses_late();
    x = layer(x);
    if (x == kNoTensor) return false;
  }
  graph_.expand(head(x));
  return weights_.all_used(
      [this](std::string_view name) { return made_.find(name) != made_.end() || is_replaced(name); });
}

// Tensors that some files have but the graph does not read: in old files of Qwen3-Next, and of a dense MLP next to
// experts.
bool GraphBuilder::is_replaced(std::string_view name) const {
  if (name.starts_with("ssm_in")) return question_.of_class.fuses_gates && weights_.any("attn_gate");
  constexpr std::string_view kDense = "ffn_up ffn_gate ffn_down ffn_up.scale ffn_gate.scale ffn_down.scale";
  return has_word(kDense, name) && !made_.contains("ffn_up") && weights_.any("ffn_gate_inp");
}

// Returns nothing if the layer has none of these mixers.
TensorId GraphBuilder::mixer(TensorId x) {
  if (has("shortconv.in_proj")) return short_convolution(x);
  if (has("ssm_in") && has("ssm_x")) return mamba(x);
  if (has("ssm_conv1d") && has("attn_gate")) return delta_net(x);
  if (has("ssm_in") && has("ssm_conv1d") && !has("ssm_ba")) return mamba2(x);
  if (caches_[layer_].heads == 0) return kNoTensor;
  if (has("attn_kv_a_mqa")) return latent_attention(x);
  return attention(x);
}

TensorId GraphBuilder::mlp_or_experts(TensorId x) {
  if (!has("ffn_gate_inp")) return mlp(x);
  const TensorId out = experts(x);
  return has("ffn_up_shexp") ? graph_.add(out, shared_expert(x)) : out;
}

TensorId GraphBuilder::layer(TensorId x) {
  const bool has_mlp = has("ffn_up") || has("ffn_gate_inp");
  const bool has_mixer = has("attn_output") || has("ssm_out") || has("shortconv.out_proj");
  if (has("attn_output") && has("ssm_in")) return parallel_mixer_layer(x);
  if (!has_mlp && !has_mixer) return kNoTensor;
  const bool has_second_norm = has("ffn_norm") || has("post_attention_norm") || has("attn_output_norm");
  if (has_mlp && has_mixer && !has_second_norm) return parallel_layer(x);
  TensorId residual = x;
  TensorId out = has("attn_norm") ? norm(x, "attn_norm") : x;
  if (has("ssm_conv1d") && has("attn_qkv")) graph_.expand(out);
  if (has_mixer) out = mixer(out);
  if (out == kNoTensor) return kNoTensor;
  if (!has_mixer && has_mlp) out = mlp_or_experts(out);
  if (last_) {
    out = chosen(out);
    residual = chosen(residual);
  }
  if (!has_mixer || !has_mlp) return graph_.add(out, residual);
  const bool is_second_norm = !has("ffn_norm") && !has("post_ffw_norm");  // it is the norm before the MLP
  if (has("post_attention_norm") && !is_second_norm) out = norm(out, "post_attention_norm");
  const LlamaClass& is = question_.of_class;
  const TensorId middle = is.adds_to_residual ? graph_.add(residual, out) : graph_.add(out, residual);
  out = middle;
  for (const std::string_view name : {"ffn_norm", "post_attention_norm", "attn_output_norm"}) {
    if (!has(name) || (name == "post_attention_norm" && !is_second_norm)) continue;
    out = norm(out, name);
    break;
  }
  out = mlp_or_experts(out);
  if (has("post_ffw_norm")) out = norm(out, "post_ffw_norm");
  if (has("inp_gate")) {
    const TensorId whole = graph_.add(out, middle);
    return graph_.add(whole, layer_input(whole));
  }
  return is.adds_to_residual || is.adds_to_last_residual ? graph_.add(middle, out) : graph_.add(out, middle);
}

// Attention and Mamba-2 in parallel (Falcon-H1).
TensorId GraphBuilder::parallel_mixer_layer(TensorId x) {
  const TensorId attended = attention(norm(x, "attn_norm"));
  const TensorId scanned = mamba2(norm(x, "attn_norm"));
  TensorId middle = graph_.add(graph_.add(attended, scanned), x);
  if (last_) middle = chosen(middle);
  return graph_.add(mlp(norm(middle, "ffn_norm")), middle);
}

// Attention and MLP read the same input.
TensorId GraphBuilder::parallel_layer(TensorId x) {
  TensorId normed = norm(x, "attn_norm");
  TensorId out = mixer(has("attn_norm_2") ? norm(x, "attn_norm_2") : normed);
  if (out == kNoTensor) return kNoTensor;
  if (last_) {
    out = chosen(out);
    x = chosen(x);
    normed = chosen(normed);
  }
  const TensorId attended = out;
  out = mlp_or_experts(normed);
  if (question_.of_class.adds_residual_first) return graph_.add(graph_.add(out, x), attended);
  return graph_.add(graph_.add(out, attended), x);
}

}  // namespace kvplan
