// RWKV-6 and RWKV-7: time mix and channel mix, each with the previous token.
//
// Source: src/models/rwkv6-base.cpp, rwkv7-base.cpp, rwkv6.cpp, rwkv7.cpp; ggml.c (ggml_rwkv_wkv6, ggml_rwkv_wkv7) of
//   v0.5.0.
#include "engines/llama_cpp/graph_builder.h"

namespace kvplan {

namespace {}  // namespace

// activation(second * activation(first * x))
TensorId GraphBuilder::low_rank(std::string_view first, std::string_view second, TensorId x, bool bends) {
  const TensorId inner = graph_.matrix(weight(first), x);
  return graph_.matrix(weight(second), bends ? graph_.unary(inner) : inner);
}

TensorId GraphBuilder::norm_of_heads(TensorId x, std::uint64_t head) {
  const std::uint64_t width = model_.hidden_size;
  x = graph_.like(Op::kOther, graph_.reshape(x, {head, width / head, tokens(), 1}));
  x = graph_.reshape(x, {width, tokens(), 1, 1});
  return graph_.add(graph_.mul(x, weight("time_mix_ln")), weight("time_mix_ln.bias"));
}

// The matrix of states: the output first, then the new states.
TensorId GraphBuilder::mixed_states(TensorId mixed) {
  const States& states = states_[layer_];
  const std::uint64_t seqs = question_.context.num_seqs, width = model_.hidden_size;
  copy_into(graph_.view(mixed, {states.elements * seqs, 1, 1, 1}, graph_.at(mixed).nb),
            graph_.view(states.state, {states.elements * seqs, 1, 1, 1}, graph_.at(states.state).nb));
  return graph_.view(mixed, {width * tokens(), 1, 1, 1}, graph_.at(mixed).nb);
}

TensorId GraphBuilder::time_mix6(TensorId x, TensorId before) {
  const States& states = states_[layer_];
  const std::uint64_t width = model_.hidden_size, head = states.vectors, heads = width / head;
  TensorId shift = graph_.reshape(graph_.add(before, x), {width, tokens(), 1, 1});
  x = graph_.reshape(x, {width, tokens(), 1, 1});
  TensorId five = graph_.add(graph_.mul(shift, weight("time_mix_lerp_x")), x);
  const std::uint64_t rank = need("time_mix_w1").ne[1] / 5;
  five = graph_.reshape(graph_.unary(graph_.matrix(weight("time_mix_w1"), five)), {rank, 1, 5, tokens()});
  five = graph_.cont(graph_.permute(five, {0, 1, 3, 2}));
  const TensorId second = weight("time_mix_w2");
  five = graph_.matrix(graph_.reshape(second, {graph_.at(second).ne[0], graph_.at(second).rows() / 5, 1, 5}), five);
  shift = graph_.reshape(shift, {width, 1, tokens(), 1});
  const TensorId here = graph_.reshape(x, {width, 1, tokens(), 1});
  five = graph_.add(graph_.mul(graph_.add(five, weight("time_mix_lerp_fused")), shift), here);
  const Dims strides = graph_.at(five).nb;
  const auto part = [&] { return graph_.view(five, {width, tokens(), 1, 1}, strides); };
  const auto of_heads = [&](TensorId of) { return graph_.reshape(of, {head, heads, tokens(), 1}); };
  const TensorId w_in = part(), k_in = part(), v_in = part(), r_in = part(), g_in = part();
  const TensorId r = of_heads(linear("time_mix_receptance", r_in));
  const TensorId k = of_heads(linear("time_mix_key", k_in));
  const TensorId v = of_heads(linear("time_mix_value", v_in));
  const TensorId gate = graph_.unary(linear("time_mix_gate", g_in));
  TensorId decay = low_rank("time_mix_decay_w1", "time_mix_decay_w2", w_in, true);
  decay = of_heads(graph_.unary(graph_.unary(graph_.unary(graph_.add(decay, weight("time_mix_decay"))))));
  const TensorId state = read_state(states.state);
  const TensorId mixed =
      graph_.make(Op::kOther, kElementF32, {width, tokens() + head * question_.context.num_seqs, 1, 1},
                  {k, v, r, weight("time_mix_first"), decay, state});
  return linear("time_mix_output", graph_.mul(norm_of_heads(mixed_states(mixed), head), gate));
}

TensorId GraphBuilder::time_mix7(TensorId x, TensorId before) {
  const States& states = states_[layer_];
  const std::uint64_t width = model_.hidden_size, head = states.vectors, heads = width / head;
  const std::uint64_t seqs = question_.context.num_seqs, each = tokens() / seqs;
  const bool has_gate = has("time_mix_g1");
  TensorId shift = graph_.add(before, x);
  shift = graph_.make(Op::kOther, kElementF32, {width, each, seqs, has_gate ? 6U : 5U}, {shift});
  const TensorId all = graph_.add(graph_.mul(shift, weight("time_mix_lerp_fused")), x);
  const Dims strides = graph_.at(all).nb;
  const auto part = [&] { return graph_.view(all, {width, tokens(), 1, 1}, strides); };
  const auto of_heads = [&](TensorId of) { return graph_.reshape(of, {head, heads, tokens(), 1}); };
  TensorId r = linear("time_mix_receptance", part());
  TensorId w = graph_.add(low_rank("time_mix_w1", "time_mix_w2", part(), true), weight("time_mix_w0"));
  w = graph_.unary(graph_.unary(graph_.unary(w)));
  TensorId k = linear("time_mix_key", part());
  const TensorId v_in = part();
  TensorId v = linear("time_mix_value", v_in);
  if (first_value_ == kNoTensor) {
    first_value_ = v;
  } else {
    const TensorId share =
        graph_.unary(graph_.add(low_rank("time_mix_v1", "time_mix_v2", v_in, false), weight("time_mix_v0")));
    v = graph_.add(v, graph_.mul(graph_.add(first_value_, v), share));
  }
  const TensorId gate = has_gate ? low_rank("time_mix_g1", "time_mix_g2", part(), true) : kNoTensor;
  TensorId a = graph_.unary(graph_.add(low_rank("time_mix_a1", "time_mix_a2", part(), false), weight("time_mix_a0")));
  const TensorId kk = graph_.like(Op::kOther, of_heads(graph_.mul(k, weight("time_mix_k_k"))));
  const TensorId ka = graph_.mul(k, weight("time_mix_k_a"));
  k = graph_.add(k, graph_.add(graph_.mul(a, ka), ka));
  r = of_heads(r);
  w = of_heads(w);
  k = of_heads(k);
  v = of_heads(v);
  a = of_heads(a);
  const TensorId state = read_state(states.state);
  const TensorId minus = graph_.unary(kk);
  const TensorId scaled = graph_.mul(kk, a);
  const TensorId mixed =
      graph_.make(Op::kOther, kElementF32, {width, tokens() + head * seqs, 1, 1}, {r, w, k, v, minus, scaled, state});
  TensorId out = norm_of_heads(mixed_states(mixed), head);
  const TensorId bonus =
      graph_.sum_rows(graph_.mul(graph_.mul(k, r), graph_.reshape(weight("time_mix_r_k"), {head, heads, 1, 1})));
  out = graph_.add(out, graph_.reshape(graph_.mul(v, bonus), {width, tokens(), 1, 1}));
  if (has_gate) out = graph_.mul(out, gate);
  return linear("time_mix_output", out);
}

TensorId GraphBuilder::channel_mix(TensorId x, TensorId before) {
  const TensorId shift = graph_.add(before, x);
  const TensorId k_in = graph_.add(graph_.mul(shift, weight("channel_mix_lerp_k")), x);
  if (!has("channel_mix_receptance"))
    return linear("channel_mix_value", graph_.unary(graph_.unary(linear("channel_mix_key", k_in))));
  const TensorId r_in = graph_.add(graph_.mul(shift, weight("channel_mix_lerp_r")), x);
  const TensorId r = graph_.unary(linear("channel_mix_receptance", r_in));
  const TensorId k = graph_.unary(graph_.unary(linear("channel_mix_key", k_in)));
  return graph_.mul(r, linear("channel_mix_value", k));
}

TensorId GraphBuilder::rwkv_layer(TensorId x) {
  const States& states = states_[layer_];
  const std::uint64_t width = model_.hidden_size, seqs = question_.context.num_seqs, each = tokens() / seqs;
  const Dims flat{width, tokens(), 1, 1}, cut{width, each, seqs, 1}, one{width, 1, seqs, 1};
  x = graph_.reshape(x, cut);
  const TensorId kept = graph_.reshape(read_state(states.conv), {width, 2, seqs, 1});
  const Dims shifts = graph_.at(kept).nb;
  // Each token's predecessor.
  const auto before = [&](TensorId of) {
    const Dims strides = graph_.at(of).nb;
    return graph_.concat(graph_.view(kept, one, shifts), graph_.view(of, {width, each - 1, seqs, 1}, strides), 1);
  };
  const TensorId normed = norm(x, "attn_norm");
  const TensorId mixed =
      has("time_mix_g1") || has("time_mix_a1") ? time_mix7(normed, before(normed)) : time_mix6(normed, before(normed));
  TensorId middle = graph_.add(graph_.reshape(mixed, cut), x);
  TensorId second = norm(middle, "attn_norm_2");
  TensorId previous = before(second);
  const TensorId last =
      graph_.concat(graph_.view(normed, one, graph_.at(normed).nb), graph_.view(second, one, graph_.at(second).nb), 1);
  const std::uint64_t elements = width * 2 * seqs;
  copy_into(
      graph_.view(last, {elements, 1, 1, 1}, {kFloat, elements * kFloat, elements * kFloat, elements * kFloat}),
      graph_.view(states.conv, {elements, 1, 1, 1}, {kFloat, elements * kFloat, elements * kFloat, elements * kFloat}));
  middle = graph_.reshape(middle, flat);
  second = graph_.reshape(second, flat);
  previous = graph_.reshape(previous, flat);
  if (last_) {
    middle = chosen(middle);
    second = chosen(second);
    previous = chosen(previous);
  }
  return graph_.add(channel_mix(second, previous), middle);
}

}  // namespace kvplan
