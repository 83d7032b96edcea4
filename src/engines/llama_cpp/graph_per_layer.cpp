// Embeddings of every layer (Gemma 3n and 4), and the residual streams of Gemma 3n (AltUp).
//
// Source: src/models/gemma4.cpp, gemma3n.cpp of v0.5.0.
#include "engines/llama_cpp/graph_builder.h"

namespace kvplan {

// The rows of one layer out of {width, tokens, layers}.
TensorId GraphBuilder::slice(TensorId x) {
  const Dims ne = graph_.at(x).ne;
  return graph_.view(x, {ne[0], ne[1], 1, 1}, graph_.at(x).nb);
}

// Builds after v0.6.0 look up Gemma 4's rows first of all, and scale them where they are added.
bool GraphBuilder::looks_up_layers_first() const {
  return question_.is_0_6 && is_one_of(model_.arch, {Arch::kGemma4, Arch::kGemma4Unified});
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
  if (!looks_up_layers_first()) graph_.expand(looked_up);
  TensorId projected = graph_.unary(graph_.matrix(weight("per_layer_model_proj"), x));
  projected = norm(graph_.reshape(projected, by_layer), "per_layer_proj_norm");
  projected = graph_.unary(graph_.add(projected, looked_up));
  layer_inputs_ = graph_.cont(graph_.permute(projected, {0, 2, 1, 3}));
  is_outside_ = false;
}

// The contribution of the layer's own embedding.
TensorId GraphBuilder::layer_input(TensorId x) {
  const TensorId gated = graph_.unary(linear("inp_gate", x));
  TensorId own = slice(layer_inputs_);
  if (last_ && graph_.at(gated).ne[1] != tokens()) own = chosen(own);
  return norm(linear("proj", graph_.mul(gated, own)), "post_norm");
}

TensorId GraphBuilder::magnitude(TensorId x) {
  return graph_.unary(graph_.sum_rows(graph_.unary(x)));
}

// Makes further streams from the first: {hidden, tokens, streams}.
TensorId GraphBuilder::make_streams(TensorId x) {
  is_outside_ = true;
  const std::uint64_t others = streams() - 1, width = model_.hidden_size;
  const TensorId target = magnitude(x);
  const TensorId repeated = graph_.make(Op::kOther, kElementF32, {width, tokens(), others, 1}, {x});
  TensorId added = graph_.matrix(weight_as("altup_proj", {width, width, others, 1}), repeated);
  const TensorId now = magnitude(added);
  added = graph_.add(graph_.mul(added, target), now);
  is_outside_ = false;
  return graph_.concat(x, added, 2);
}

TensorId GraphBuilder::merge_streams(TensorId x) {
  is_outside_ = true;
  const std::uint64_t others = streams() - 1, width = model_.hidden_size;
  const TensorId target = magnitude(slice(x));
  const TensorId rest = graph_.view(x, {width, tokens(), others, 1}, graph_.at(x).nb);
  TensorId back = graph_.matrix(weight_as("altup_unembd_proj", {width, width, others, 1}), rest);
  const TensorId now = magnitude(back);
  back = graph_.add(graph_.mul(back, target), now);
  TensorId out = slice(x);
  for (std::uint64_t i = 0; i < others; ++i) out = graph_.add(out, slice(back));
  is_outside_ = false;
  return chosen(graph_.unary(out));
}

TensorId GraphBuilder::modalities(TensorId x) {
  const TensorId normed = graph_.unary(norm(x, "altup_router_norm"));
  return graph_.unary(graph_.matrix(weight("altup_router"), normed));
}

TensorId GraphBuilder::altup_layer(TensorId x) {
  const std::uint64_t count = streams(), width = model_.hidden_size;
  const TensorId chances = modalities(slice(x));
  const TensorId predict = graph_.reshape(linear("altup_predict_coef", chances), {count, count, tokens(), 1});
  TensorId predictions = graph_.matrix(graph_.cont(graph_.permute(x, {1, 2, 0, 3})), predict);
  predictions = graph_.add(graph_.cont(graph_.permute(predictions, {0, 2, 1, 3})), x);
  const TensorId active = slice(predictions);

  const TensorId normed = norm(active, "attn_norm");
  const TensorId laurel = graph_.add(norm(linear("laurel_r", linear("laurel_l", normed)), "laurel_post_norm"), normed);
  TensorId out = norm(mixer(normed), "post_attention_norm");
  out = graph_.add(out, active);
  const TensorId middle = graph_.unary(graph_.add(out, laurel));
  out = norm(middle, "ffn_norm");
  const TensorId up = linear("ffn_up", out);
  TensorId gate = linear("ffn_gate", out);
  constexpr std::uint64_t kSparseLayers = 10;
  if (layer_ < kSparseLayers) {
    // Keeps only the largest values, by mean and deviation.
    const TensorId mean = graph_.sum_rows(gate);
    const TensorId deviation = graph_.unary(graph_.unary(graph_.sum_rows(graph_.unary(graph_.add(gate, mean)))));
    const TensorId cut = graph_.add(mean, graph_.unary(deviation));
    gate = graph_.unary(graph_.add(gate, cut));
  }
  out = linear("ffn_down", graph_.mul(up, graph_.unary(gate)));
  const TensorId activated = graph_.add(norm(out, "post_ffw_norm"), middle);

  const TensorId chances_after = modalities(activated);
  TensorId innovation = graph_.add(activated, slice(predictions));
  TensorId correct = graph_.unary(linear("altup_correct_coef", chances_after));
  correct = graph_.cont(graph_.transpose(correct), {1, tokens(), count, 1});
  innovation = graph_.make(Op::kOther, kElementF32, {width, tokens(), count, 1}, {innovation});
  const TensorId corrected = graph_.add(graph_.mul(innovation, correct), predictions);
  const TensorId first = layer_input(graph_.mul(slice(corrected), weight("altup_correct_scale")));
  const TensorId rest = graph_.view(corrected, {width, tokens(), count - 1, 1}, graph_.at(corrected).nb);
  return graph_.concat(slice(corrected), graph_.add(rest, first), 2);
}

std::uint64_t GraphBuilder::streams() const {
  const GraphWeight* router = weights_.find("altup_router", 0);
  if (router == nullptr) throw NotCovered();
  return router->ne[1];
}

}  // namespace kvplan
