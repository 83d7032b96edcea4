// Embedding, norms, linear layers, MLPs, experts and the head.
//
// Source: src/llama-graph.cpp (build_inp_embd, build_norm, build_ffn, build_moe_ffn) of v0.5.0 and v0.6.0.
#include <algorithm>

#include "engines/llama_cpp/graph_builder.h"
#include "kvplan/strings.h"

namespace kvplan {

const GraphWeight* GraphBuilder::find(std::string_view name) const {
  return is_outside_ ? weights_.find(name) : weights_.find(name, layer_);
}

const GraphWeight& GraphBuilder::need(std::string_view name) const {
  const GraphWeight* found = find(name);
  if (found == nullptr) throw NotCovered();
  return *found;
}

int GraphBuilder::device_of_layer() const {
  return device_of(is_outside_ ? model_.num_layers + model_.num_nextn_layers : layer_);
}

int GraphBuilder::device_of(std::uint64_t unit) const {
  const LlamaPlacement& placement = question_.placement;
  return placement.on_host(unit) ? static_cast<int>(placement.gpus) : static_cast<int>(placement.gpu_of(unit));
}

TensorId GraphBuilder::weight(std::string_view name) {
  const GraphWeight* found = find(name);
  if (found == nullptr) return kNoTensor;
  const std::uint64_t layers = model_.num_layers + model_.num_nextn_layers;
  auto known = made_.find(name);
  if (known == made_.end()) known = made_.emplace(name, std::vector<TensorId>(layers + 1, kNoTensor)).first;
  TensorId& made = known->second[is_outside_ ? layers : layer_];
  if (made != kNoTensor) return made;
  const auto host = static_cast<int>(question_.placement.gpus);
  int device = device_of_layer();
  const bool is_expert = name.find("_exps") != std::string_view::npos || name.find("_chexps") != std::string_view::npos;
  if (!is_outside_ && is_expert && layer_ < input_.request.llama_cpp.cpu_moe_layers.value_or(0)) device = host;
  constexpr std::string_view kOfHost = "token_embd per_layer_token_embd position_embd token_types";
  constexpr std::string_view kOfFirst = "token_embd_norm token_embd_norm.bias per_layer_model_proj per_layer_proj_norm";
  if (is_outside_ && has_word(kOfHost, name)) device = host;
  if (is_outside_ && has_word(kOfFirst, name) && has("output_norm")) device = device_of(0);
  made = graph_.weight(found->type, found->ne, device);
  return made;
}

TensorId GraphBuilder::weight_as(std::string_view name, Dims ne) {
  const TensorId id = weight(name);
  GraphTensor& tensor = graph_.at(id);
  tensor.ne = ne;
  tensor.nb = contiguous(tensor.type, ne);
  return id;
}

TensorId GraphBuilder::embed() {
  is_outside_ = true;
  const std::uint64_t width = model_.hidden_size;
  token_ids_ = graph_.input(kElementI32, {tokens(), 1, 1, 1});
  TensorId x = graph_.rows(weight("token_embd"), token_ids_);
  graph_.expand(x);
  if (question_.rules.selects_inputs) graph_.expand(graph_.input(kElementF32, {width, tokens(), 1, 1}));
  if (question_.rules.mixes_batches && model_.graph.mixes_batches) {
    // The rows of the tokens are written into a copy of the embeddings.
    const TensorId ids = graph_.input(kElementI32, {tokens(), 1, 1, 1});
    const TensorId slots = graph_.input(kElementI64, {tokens(), 1, 1, 1});
    const TensorId given = graph_.input(kElementF32, {width, tokens(), 1, 1});
    const TensorId copy = graph_.like(Op::kOther, given);
    graph_.expand(graph_.write_rows(copy, graph_.rows(weight("token_embd"), ids), slots));
  }
  if (model_.graph.scales_embedding || (model_.graph.scales_tokens && !question_.rules.mixes_batches))
    x = graph_.unary(x);
  if (model_.graph.scales_tokens && question_.rules.mixes_batches)
    x = graph_.mul(x, graph_.input(kElementF32, {1, tokens(), 1, 1}));
  graph_.expand(x);
  if (has("position_embd")) x = graph_.add(x, graph_.rows(weight("position_embd"), position_ids()));
  if (has("token_embd_norm") && has("output_norm")) x = norm(x, "token_embd_norm");
  is_outside_ = false;
  return x;
}

TensorId GraphBuilder::position_ids() {
  if (positions_ == kNoTensor) positions_ = graph_.input(kElementI32, {tokens() * model_.graph.position_axes, 1, 1, 1});
  return positions_;
}

TensorId GraphBuilder::position_scale() {
  if (position_scale_ == kNoTensor) position_scale_ = graph_.input(kElementF32, {1, 1, tokens(), 1});
  return position_scale_;
}

TensorId GraphBuilder::output_ids() {
  if (outputs_ == kNoTensor) outputs_ = graph_.input(kElementI32, {question_.outputs, 1, 1, 1});
  return outputs_;
}

TensorId GraphBuilder::norm(TensorId x, std::string_view name) {
  const bool has_bias = has(std::string(name) + ".bias");
  const bool subtracts_mean = has_bias || model_.graph.norms_subtract_mean;
  TensorId out = graph_.like(subtracts_mean ? Op::kOther : Op::kInPlace, x);
  // If everything is on GPUs, llama.cpp chooses the device. By default the operation would run where the previous layer
  // did.
  if (!is_outside_ && question_.placement.first_on_gpu == 0 && has(name))
    graph_.at(out).device = static_cast<std::int8_t>(device_of_layer());
  if (const TensorId scale = weight(name); scale != kNoTensor) out = graph_.mul(out, scale);
  if (has_bias) out = graph_.add(out, weight(std::string(name) + ".bias"));
  return out;
}

TensorId GraphBuilder::linear(std::string_view name, TensorId x) {
  TensorId out = graph_.matrix(weight(name), x);
  if (const TensorId scale = weight(std::string(name) + ".scale"); scale != kNoTensor) out = graph_.mul(out, scale);
  return out;
}

TensorId GraphBuilder::linear_with_bias(std::string_view name, TensorId x) {
  TensorId out = linear(name, x);
  if (const TensorId bias = weight(std::string(name) + ".bias"); bias != kNoTensor) out = graph_.add(out, bias);
  return out;
}

TensorId GraphBuilder::rope(TensorId x) {
  return graph_.like(Op::kRope, x, position_ids());
}

// The suffix "_shexp" means the shared expert.
TensorId GraphBuilder::mlp(TensorId x, std::string_view suffix) {
  const std::string up = "ffn_up" + std::string(suffix), gate = "ffn_gate" + std::string(suffix),
                    down = "ffn_down" + std::string(suffix);
  const TensorId wide = linear_with_bias(up, x);
  TensorId out = kNoTensor;
  if (has(gate)) {
    const TensorId gated = linear_with_bias(gate, x);
    if (model_.graph.clamps_gates) {
      const TensorId limited = graph_.unary(wide);
      out = graph_.mul(graph_.unary(graph_.unary(gated)), limited);
    } else {
      out = graph_.like(Op::kOther, gated, wide);
    }
  } else if (need(up).ne[1] == 2 * need(down).ne[0]) {
    // Gate and up in one matrix.
    Dims half = graph_.at(wide).ne;
    half[0] /= 2;
    out = graph_.make(Op::kOther, kElementF32, half, {wide});
  } else {
    out = graph_.unary(wide);
  }
  if (has("ffn.act.scales")) out = graph_.mul(out, weight("ffn.act.scales"));
  return linear_with_bias(down, out);
}

TensorId GraphBuilder::expert_matrix(std::string_view name, TensorId x, TensorId ids) {
  TensorId out = graph_.experts(weight(name), x, ids);
  if (const GraphWeight* scale = find(std::string(name) + ".scale"); scale != nullptr) {
    const std::uint64_t count = graph_.at(weight(name)).ne[2];
    TensorId spread = graph_.reshape(weight(std::string(name) + ".scale"), {1, count, 1, 1});
    spread = graph_.make(Op::kOther, kElementF32, {1, count, graph_.at(x).ne[2], 1}, {spread});
    out = graph_.mul(out, graph_.rows(spread, ids));
  }
  if (const TensorId bias = weight(std::string(name) + ".bias"); bias != kNoTensor)
    out = graph_.make(Op::kInPlace, kElementF32, graph_.at(out).ne, {out, bias, ids});
  return out;
}

TensorId GraphBuilder::experts(TensorId x) {
  const GraphFacts& facts = model_.graph;
  const std::uint64_t width = graph_.at(x).ne[0];
  const std::uint64_t count = need("ffn_gate_inp").ne[1];
  const std::uint64_t used = model_.experts.used;
  constexpr std::uint64_t kMostUsed = 1024;
  if (used == 0 || used > std::min(count, kMostUsed)) throw NotCovered();
  const std::uint64_t rows = graph_.at(x).ne[1];
  const bool weighs_first = question_.of_class.weighs_experts_first;
  const bool weighs_chosen = has("ffn_gate_inp.bias");  // softmax over the chosen experts only

  const TensorId logits = linear_with_bias("ffn_gate_inp", x);
  TensorId probs = weighs_chosen ? logits : graph_.unary(logits);
  TensorId choice = weighs_first ? logits : probs;
  for (const std::string_view bias : {"exp_probs_b.bias", "exp_probs_b"})
    if (has(bias)) choice = graph_.add(probs, weight(bias));
  if (facts.expert_groups > 1) {
    const std::uint64_t groups = facts.expert_groups, each = count / groups, chosen_groups = facts.expert_groups_used;
    const TensorId grouped = graph_.reshape(choice, {each, groups, rows, 1});
    TensorId scores = graph_.rows(graph_.reshape(grouped, {1, each, groups, rows}), graph_.first_of_sorted(grouped, 2));
    const Dims best = graph_.at(scores).ne;
    scores = graph_.sum_rows(graph_.reshape(scores, {best[1], best[2], best[3], 1}));
    const TensorId ids = graph_.first_of_sorted(graph_.reshape(scores, {groups, rows, 1, 1}), chosen_groups);
    const TensorId kept = graph_.rows(grouped, ids);
    choice = graph_.reshape(graph_.write_rows(graph_.unary(grouped), kept, ids), {count, rows, 1, 1});
  }
  const TensorId ids = graph_.first_of_sorted(choice, used);
  TensorId weights = graph_.rows(graph_.reshape(probs, {1, count, rows, 1}), ids);
  if (weighs_chosen) {
    weights = graph_.unary(graph_.reshape(weights, {used, rows, 1, 1}));
    weights = graph_.reshape(weights, {1, used, rows, 1});
  }
  if (facts.normalizes_experts && !weighs_chosen && !weighs_first) {
    weights = graph_.reshape(weights, {used, rows, 1, 1});
    const TensorId sum = graph_.unary(graph_.sum_rows(weights));
    weights = graph_.reshape(graph_.add(weights, sum), {1, used, rows, 1});
  }
  if (facts.scales_experts) weights = graph_.unary(weights);
  graph_.expand(weights);

  TensorId in = graph_.reshape(x, {width, 1, rows, 1});
  if (weighs_first) in = graph_.mul(graph_.make(Op::kOther, kElementF32, {width, used, rows, 1}, {in}), weights);
  TensorId out = kNoTensor;
  if (has("ffn_gate_up_exps")) {
    const TensorId both = expert_matrix("ffn_gate_up_exps", in, ids);
    Dims half = graph_.at(both).ne;
    half[0] /= 2;
    const Dims strides = graph_.at(both).nb;
    out = graph_.like(Op::kOther, graph_.view(both, half, strides), graph_.view(both, half, strides));
  } else {
    const TensorId up = expert_matrix("ffn_up_exps", in, ids);
    if (!has("ffn_gate_exps")) {
      out = graph_.unary(up);
    } else {
      const TensorId gate = expert_matrix("ffn_gate_exps", in, ids);
      out = facts.clamps_gates ? graph_.mul(graph_.unary(graph_.unary(gate)), graph_.unary(up))
                               : graph_.like(Op::kOther, gate, up);
    }
  }
  out = expert_matrix("ffn_down_exps", out, ids);
  if (!weighs_first) out = graph_.mul(out, weights);
  graph_.expand(out);
  // One view per expert of a token, then their sum.
  std::vector<TensorId> parts;
  const Dims strides = graph_.at(out).nb;
  for (std::uint64_t i = 0; i < used; ++i) {
    parts.push_back(
        graph_.view(out, {width, rows, 1, 1}, {strides[0], strides[2], strides[2] * rows, strides[2] * rows}));
    graph_.expand(parts.back());
  }
  TensorId sum = parts.front();
  for (std::size_t i = 1; i < parts.size(); ++i) {
    sum = graph_.add(sum, parts[i]);
    graph_.expand(sum);
  }
  return used == 1 ? graph_.cont(sum) : sum;
}

TensorId GraphBuilder::shared_expert(TensorId x) {
  if (!has("ffn_gate_inp_shexp")) return mlp(x, "_shexp");
  const TensorId out = mlp(x, "_shexp");
  return graph_.mul(out, graph_.unary(linear("ffn_gate_inp_shexp", x)));
}

TensorId GraphBuilder::head(TensorId x) {
  is_outside_ = true;
  const bool before_norm = question_.of_class.chooses_before_norm;
  if (chooses_late() && before_norm) x = chosen(x);
  TensorId normed = norm(x, has("output_norm") ? "output_norm" : "token_embd_norm");
  if (chooses_late() && !before_norm) normed = chosen(normed);
  TensorId out = linear("output", normed);
  if (const TensorId bias = weight("output.bias"); bias != kNoTensor) out = graph_.add(out, bias);
  is_outside_ = false;
  return out;
}

}  // namespace kvplan
