// Embeddings of every layer (Gemma 4).
//
// Source: src/models/gemma4.cpp of v0.5.0.
#include "engines/llama_cpp/graph_builder.h"

namespace kvplan {

// Selects one layer's rows from {width, tokens, layers}.
TensorId GraphBuilder::slice(TensorId x) {
  const Dims ne = graph_.at(x).ne;
  return graph_.view(x, {ne[0], ne[1], 1, 1}, graph_.at(x).nb);
}

TensorId GraphBuilder::look_up_layers() {
  is_outside_ = true;
  const TensorId out = graph_.rows(weight("per_layer_token_embd"), graph_.input(kElementI32, {tokens(), 1, 1, 1}));
  is_outside_ = false;
  return out;
}

void GraphBuilder::embed_layers(TensorId x, TensorId looked_up) {
  is_outside_ = true;
  const std::uint64_t layers = model_.num_layers, width = need("per_layer_token_embd").ne[0] / layers;
  const Dims by_layer{width, layers, tokens(), 1};
  looked_up = graph_.unary(graph_.reshape(looked_up, by_layer));
  if (!question_.rules.looks_up_layers_first) graph_.expand(looked_up);
  TensorId projected = graph_.unary(graph_.matrix(weight("per_layer_model_proj"), x));
  projected = norm(graph_.reshape(projected, by_layer), "per_layer_proj_norm");
  projected = graph_.unary(graph_.add(projected, looked_up));
  layer_inputs_ = graph_.cont(graph_.permute(projected, {0, 2, 1, 3}));
  is_outside_ = false;
}

// Adds the contribution of the layer's own embedding.
TensorId GraphBuilder::layer_input(TensorId x) {
  const TensorId gated = graph_.unary(linear("inp_gate", x));
  TensorId own = slice(layer_inputs_);
  if (last_ && graph_.at(gated).ne[1] != tokens()) own = chosen(own);
  return norm(linear("proj", graph_.mul(gated, own)), "post_norm");
}

}  // namespace kvplan
