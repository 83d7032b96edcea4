// Mixers with states: Mamba, Mamba-2, gated delta nets.
//
// Source: src/models/mamba-base.cpp, delta-net-base.cpp, qwen35.cpp, qwen3next.cpp; src/llama-graph.cpp (build_rs);
//   ggml.c (ggml_ssm_scan, ggml_gated_delta_net) of v0.5.0.
#include "engines/llama_cpp/graph_builder.h"

namespace kvplan {

bool GraphBuilder::read_states() {
  states_.resize(model_.num_layers);
  for (const LayerCache& cache : input_.caches) {
    if (cache.layer >= states_.size()) continue;
    for (const Term& term : cache.compact) {
      if (term.role != Role::kState || term.growth != Growth::kSequence) continue;
      States& out = states_[cache.layer];
      const std::uint64_t elements = term.elements().count();
      if (term.shape.columns > 0 || term.storage == Storage::kModel) {  // past inputs
        out.conv_elements += elements;
      } else {
        out.elements += elements;
        out.heads = term.shape.units;
        out.vectors = term.shape.vectors;
        out.width = term.shape.width;
      }
    }
  }
  for (const States& states : states_) has_states_ = has_states_ || states.elements + states.conv_elements > 0;
  if (!has_states_) return true;
  const std::uint64_t seqs = question_.context.num_seqs;
  all_state_ids_ = graph_.input(kElementI32, {seqs, 1, 1, 1});
  const Dims strides = graph_.at(all_state_ids_).nb;
  state_ids_ = graph_.view(all_state_ids_, {seqs, 1, 1, 1}, strides);
  other_state_ids_ = graph_.view(all_state_ids_, {seqs - 1, 1, 1, 1}, strides);
  no_state_ids_ = graph_.view(all_state_ids_, {0, 1, 1, 1}, strides);
  const auto host = static_cast<int>(question_.placement.gpus);
  for (layer_ = 0; layer_ < states_.size(); ++layer_) {
    States& states = states_[layer_];
    const int device = input_.request.llama_cpp.no_kv_offload ? host : device_of_layer();
    if (states.conv_elements > 0) states.conv = graph_.cache(kElementF32, {states.conv_elements, seqs, 1, 1}, device);
    if (states.elements > 0) states.state = graph_.cache(kElementF32, {states.elements, seqs, 1, 1}, device);
  }
  layer_ = 0;
  return true;
}

// Copies a tensor into an existing one.
void GraphBuilder::copy_into(TensorId source, TensorId target) {
  GraphTensor out = graph_.at(target);
  if (!out.is_view()) out.view_of = target;
  out.place = kNowhere;
  out.is_weight = out.is_input = out.is_output = false;
  out.op = Op::kSetRows;
  out.src = {source, target};
  out.num_src = 2;
  graph_.expand(graph_.add_tensor(out));
}

// The states of the batch's sequences. `read` converts them to what the layer uses.
TensorId GraphBuilder::read_state(TensorId stored, const std::function<TensorId(TensorId)>& read) {
  const std::uint64_t width = graph_.at(stored).ne[0], count = graph_.at(stored).ne[1];
  const TensorId states = graph_.reshape(stored, {width, count, 1, 1});
  const TensorId cleared = graph_.view(states, {width, 1, 1, 1}, graph_.at(states).nb);
  GraphTensor zero = graph_.at(cleared);
  zero.op = Op::kInPlace;
  zero.src = {cleared};
  zero.num_src = 1;
  graph_.expand(graph_.add_tensor(zero));
  const Dims strides = graph_.at(stored).nb;
  const TensorId none = graph_.view(stored, {width, 0, 1, 1}, strides);
  if (!read && question_.rules.gathers_states) {
    const TensorId all = graph_.rows(states, all_state_ids_);
    const TensorId out = graph_.view(all, graph_.at(all).ne, graph_.at(all).nb);
    graph_.expand(out);
    copy_into(graph_.view(all, {width, 0, 1, 1}, graph_.at(all).nb), none);
    return out;
  }
  const TensorId out = read ? read(states) : graph_.rows(states, state_ids_);
  graph_.expand(out);
  if (question_.rules.gathers_states) {
    const TensorId others = graph_.rows(states, other_state_ids_);
    copy_into(graph_.view(others, {width, 0, 1, 1}, graph_.at(others).nb), none);
  } else {
    copy_into(graph_.rows(states, no_state_ids_), none);
  }
  return out;
}

// The convolution's input, {columns, channels, sequences}: the last columns of the previous batch, then this batch.
TensorId GraphBuilder::convolution_input(TensorId x) {
  const States& states = states_[layer_];
  const std::uint64_t channels = graph_.at(x).ne[0], seqs = question_.context.num_seqs;
  const std::uint64_t kept = states.conv_elements / channels;
  const TensorId before = graph_.reshape(read_state(states.conv), {kept, channels, seqs, 1});
  const TensorId out = graph_.concat(before, graph_.transpose(x), 0);
  const Dims strides = graph_.at(out).nb;
  copy_into(graph_.view(out, {kept, channels, seqs, 1}, strides),
            graph_.view(states.conv, {states.conv_elements, seqs, 1, 1}, graph_.at(states.conv).nb));
  return out;
}

TensorId GraphBuilder::convolve(TensorId x, std::string_view name) {
  const TensorId kernel = weight(name);
  const std::uint64_t columns = graph_.at(kernel).ne[0];
  const Dims ne = graph_.at(x).ne;
  return graph_.make(Op::kOther, kElementF32, {graph_.at(kernel).ne[1], ne[0] - columns + 1, ne[2], 1}, {x, kernel});
}

TensorId GraphBuilder::mamba(TensorId x) {
  const States& states = states_[layer_];
  const std::uint64_t seqs = question_.context.num_seqs, each = tokens() / seqs;
  const std::uint64_t inner = need("ssm_out").ne[0], width = states.width;
  x = graph_.reshape(x, {graph_.at(x).ne[0], each, seqs, 1});
  const TensorId before_input = read_state(states.conv);
  const std::uint64_t kept = states.conv_elements / inner;
  const TensorId before = graph_.reshape(before_input, {kept, inner, seqs, 1});
  const TensorId both = linear("ssm_in", x);
  const Dims wide = graph_.at(both).nb;
  const TensorId in = graph_.view(both, {inner, each, seqs, 1}, wide);
  const TensorId gate = graph_.view(both, {inner, each, seqs, 1}, wide);
  const TensorId conv_in = graph_.concat(before, graph_.transpose(in), 0);
  copy_into(graph_.view(conv_in, {kept, inner, seqs, 1}, graph_.at(conv_in).nb),
            graph_.view(states.conv, {states.conv_elements * seqs, 1, 1, 1}, graph_.at(states.conv).nb));
  TensorId conv = convolve(conv_in, "ssm_conv1d");
  conv = graph_.unary(graph_.add(conv, weight("ssm_conv1d.bias")));
  const TensorId packed = linear("ssm_x", conv);
  const std::uint64_t dt_rank = need("ssm_dt").ne[0];
  const Dims row = graph_.at(packed).nb;
  TensorId dt = graph_.view(packed, {dt_rank, each, seqs, 1}, row);
  TensorId b = graph_.view(packed, {width, 1, each, seqs}, {kFloat, width * kFloat, row[1], row[2]});
  TensorId c = graph_.view(packed, {width, 1, each, seqs}, {kFloat, width * kFloat, row[1], row[2]});
  if (weights_.any("ssm_dt_norm")) {
    dt = norm(dt, "ssm_dt_norm");
    b = norm(b, "ssm_b_norm");
    c = norm(c, "ssm_c_norm");
  } else {
    dt = graph_.cont(dt);
  }
  dt = graph_.add(graph_.matrix(weight("ssm_dt"), dt), weight("ssm_dt.bias"));
  const TensorId heads = graph_.reshape(conv, {1, inner, each, seqs});
  const TensorId scanned = read_state(states.state, [&](TensorId all) {
    const TensorId ssm = graph_.reshape(all, {width, 1, inner, graph_.at(all).ne[1]});
    return graph_.make(Op::kOther, kElementF32, {inner * tokens() + states.elements * seqs, 1, 1, 1},
                       {ssm, heads, dt, weight("ssm_a"), b, c, state_ids_});
  });
  copy_into(graph_.view(scanned, {states.elements * seqs, 1, 1, 1}, graph_.at(scanned).nb),
            graph_.view(states.state, {states.elements * seqs, 1, 1, 1}, graph_.at(states.state).nb));
  const std::uint64_t line = inner * kFloat;
  TensorId y = graph_.view(scanned, {inner, each, seqs, 1}, {kFloat, line, line * each, line * tokens()});
  y = graph_.add(y, graph_.mul(conv, weight("ssm_d")));
  y = graph_.like(Op::kOther, graph_.cont(gate), y);
  const TensorId out = linear("ssm_out", y);
  return graph_.reshape(out, {graph_.at(out).ne[0], tokens(), 1, 1});
}

TensorId GraphBuilder::mamba2(TensorId x) {
  const States& states = states_[layer_];
  const std::uint64_t seqs = question_.context.num_seqs, each = tokens() / seqs;
  const std::uint64_t inner = need("ssm_out").ne[0], heads = states.heads, width = states.width;
  const std::uint64_t channels = need("ssm_conv1d").ne[1];
  const std::uint64_t groups = (channels - inner) / (2 * width), head = inner / heads;
  const std::uint64_t kept = states.conv_elements / channels;
  const TensorId before = graph_.reshape(read_state(states.conv), {kept, channels, seqs, 1});
  TensorId packed = linear("ssm_in", x);
  packed = graph_.reshape(packed, {graph_.at(packed).ne[0], each, seqs, 1});
  const Dims row = graph_.at(packed).nb;
  const TensorId gate = graph_.view(packed, {head, heads, each, seqs}, {kFloat, head * kFloat, row[1], row[2]});
  const TensorId in = graph_.view(packed, {channels, each, seqs, 1}, row);
  TensorId dt = graph_.view(packed, {heads, each, seqs, 1}, row);
  const TensorId conv_in = graph_.concat(before, graph_.transpose(in), 0);
  copy_into(graph_.view(conv_in, {kept, channels, seqs, 1}, graph_.at(conv_in).nb),
            graph_.view(states.conv, {states.conv_elements, seqs, 1, 1}, graph_.at(states.conv).nb));
  TensorId conv = convolve(conv_in, "ssm_conv1d");
  conv = graph_.unary(graph_.add(conv, weight("ssm_conv1d.bias")));
  const Dims made = graph_.at(conv).nb;
  const TensorId v = graph_.view(conv, {head, heads, each, seqs}, {kFloat, head * kFloat, made[1], made[2]});
  const TensorId k = graph_.view(conv, {width, groups, each, seqs}, {kFloat, width * kFloat, made[1], made[2]});
  const TensorId q = graph_.view(conv, {width, groups, each, seqs}, {kFloat, width * kFloat, made[1], made[2]});
  dt = graph_.add(graph_.cont(dt), weight("ssm_dt.bias"));
  const TensorId scanned = read_state(states.state, [&](TensorId all) {
    const TensorId ssm = graph_.reshape(all, {width, head, heads, graph_.at(all).ne[1]});
    return graph_.make(Op::kOther, kElementF32, {inner * tokens() + states.elements * seqs, 1, 1, 1},
                       {ssm, v, dt, weight("ssm_a"), k, q, state_ids_});
  });
  copy_into(graph_.view(scanned, {states.elements, seqs, 1, 1}, contiguous(kElementF32, {states.elements, seqs, 1, 1})),
            graph_.view(states.state, {states.elements, seqs, 1, 1}, graph_.at(states.state).nb));
  TensorId y = graph_.view(scanned, {head, heads, each, seqs}, contiguous(kElementF32, {head, heads, each, seqs}));
  y = graph_.add(y, graph_.mul(v, weight("ssm_d")));
  y = graph_.like(Op::kOther, graph_.cont(gate), y);
  if (has("ssm_norm")) y = norm(graph_.reshape(y, {inner / groups, groups, each, seqs}), "ssm_norm");
  y = graph_.reshape(y, {inner, tokens(), 1, 1});
  return linear("ssm_out", y);
}

// As in LFM2.
TensorId GraphBuilder::short_convolution(TensorId x) {
  const States& states = states_[layer_];
  const std::uint64_t seqs = question_.context.num_seqs, each = tokens() / seqs;
  x = graph_.reshape(x, {graph_.at(x).ne[0], each, seqs, 1});
  const TensorId packed = linear("shortconv.in_proj", x);
  const std::uint64_t width = graph_.at(packed).ne[0] / 3, kept = states.conv_elements / width;
  const Dims strides = graph_.at(packed).nb;
  const auto part = [&] { return graph_.view(packed, {width, each, seqs, 1}, strides); };
  const TensorId b = part(), c = part();
  const TensorId gated = graph_.transpose(graph_.mul(b, part()));
  const TensorId before = graph_.reshape(read_state(states.conv), {kept, width, seqs, 1});
  const TensorId in = graph_.concat(before, gated, 0);
  copy_into(graph_.view(in, {kept, width, seqs, 1}, graph_.at(in).nb),
            graph_.view(states.conv, {states.conv_elements, seqs, 1, 1}, graph_.at(states.conv).nb));
  const TensorId out = linear("shortconv.out_proj", graph_.mul(c, convolve(in, "shortconv.conv")));
  return graph_.reshape(out, {graph_.at(out).ne[0], tokens(), 1, 1});
}

// The shapes of Qwen3-Next and Qwen3.5.
TensorId GraphBuilder::delta_net(TensorId x) {
  const States& states = states_[layer_];
  const std::uint64_t seqs = question_.context.num_seqs, each = tokens() / seqs;
  const std::uint64_t inner = need("ssm_out").ne[0], heads = states.heads, value = inner / heads;
  const std::uint64_t channels = need("ssm_conv1d").ne[1];
  const std::uint64_t key = states.elements / heads / value;
  const std::uint64_t key_heads = (channels - inner) / 2 / key;
  TensorId mixed = linear("attn_qkv", x);
  mixed = graph_.reshape(mixed, {channels, each, seqs, 1});
  const TensorId z = linear("attn_gate", x);
  TensorId beta = kNoTensor, alpha = kNoTensor;
  if (has("ssm_ba")) {
    const TensorId both = linear("ssm_ba", x);
    const std::uint64_t share = heads / key_heads;
    const TensorId shaped = graph_.reshape(both, {2 * share, key_heads, each, seqs});
    const Dims strides = graph_.at(shaped).nb;
    beta = graph_.cont(graph_.view(shaped, {share, key_heads, each, seqs}, strides), {1, heads, each, seqs});
    alpha = graph_.cont(graph_.view(shaped, {share, key_heads, each, seqs}, strides), {heads, each, seqs, 1});
    beta = graph_.unary(beta);
  } else {
    beta = graph_.unary(graph_.reshape(linear("ssm_beta", x), {1, heads, each, seqs}));
    alpha = graph_.reshape(linear("ssm_alpha", x), {heads, each, seqs, 1});
  }
  TensorId decay = graph_.unary(graph_.add(alpha, weight("ssm_dt.bias")));
  decay = graph_.reshape(graph_.mul(decay, weight("ssm_a")), {1, heads, each, seqs});
  const TensorId conv_in = convolution_input(mixed);
  const TensorId state = graph_.reshape(read_state(states.state), {value, value, heads, seqs});
  const TensorId conv = graph_.unary(convolve(conv_in, "ssm_conv1d"));
  const std::uint64_t row = graph_.at(conv).nb[1];
  const auto part = [&](std::uint64_t width, std::uint64_t count) {
    return graph_.view(conv, {width, count, each, seqs}, {kFloat, width * kFloat, row, row * each});
  };
  TensorId q = part(key, key_heads), k = part(key, key_heads);
  const TensorId v = part(value, heads);
  q = graph_.unary(graph_.unary(q));
  k = graph_.unary(graph_.unary(k));
  const TensorId mixed_out = graph_.make(Op::kOther, kElementF32, {value * heads, tokens() + value * seqs, 1, 1},
                                         {q, k, v, decay, beta, state});
  const TensorId output =
      graph_.view(mixed_out, {value, heads, each, seqs}, contiguous(kElementF32, {value, heads, each, seqs}));
  copy_into(graph_.view(mixed_out, {value, value, heads, seqs}, contiguous(kElementF32, {value, value, heads, seqs})),
            graph_.view(states.state, {states.elements, seqs, 1, 1}, graph_.at(states.state).nb));
  const TensorId gate = graph_.reshape(z, {value, heads, each, seqs});
  TensorId out = norm(output, "ssm_norm");
  out = graph_.mul(out, graph_.unary(gate));
  out = linear("ssm_out", graph_.reshape(out, {inner, each, seqs, 1}));
  return graph_.reshape(out, {graph_.at(out).ne[0], tokens(), 1, 1});
}

}  // namespace kvplan
